"""Detects addresses to which a token or a body would be sent unencrypted.

address of a job file ──is_plain_http_elsewhere──► refused, unless explicitly allowed
"""

import ipaddress
from typing import Final

from pydantic import HttpUrl

PLAIN_HTTP: Final = (
    "url: what is sent would cross the network unencrypted. Use https, or write "
    "allow_plain_http: true if the network is your own"
)


def is_plain_http_elsewhere(url: HttpUrl) -> bool:
    """Return whether requests to this address leave the machine unencrypted."""
    if url.scheme == "https" or url.host == "localhost":
        return False
    try:
        return not ipaddress.ip_address((url.host or "").strip("[]")).is_loopback
    except ValueError:
        return True
