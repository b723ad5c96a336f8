"""Where messages may go: to addresses of the public internet, unless the operator allows others.

url ──checked_url──► stored · host ──checked_addresses──► what a message is sent to

A name is resolved once for each attempt and every address it has is looked at; the connection then
goes to one of these, so that a name cannot mean something else a moment later.
"""

import ipaddress
import socket
from typing import Final
from urllib.parse import SplitResult, urlsplit

_TRANSLATED: Final = tuple(
    ipaddress.ip_network(network) for network in ("64:ff9b::/96", "64:ff9b:1::/48", "::/96")
)
"""IPv6 addresses that stand for one of IPv4, which would have to be looked at."""
_NOT_FOR_ANYBODY: Final = tuple(
    ipaddress.ip_network(network)
    for network in (
        "168.63.129.16/32",  # Azure's host
        "192.0.0.192/32",  # Oracle's metadata
        "100.100.100.200/32",  # Alibaba's metadata
        "161.26.0.0/16",  # IBM Cloud's services
        "166.8.0.0/14",
        "192.88.99.0/24",  # relays of 6to4
        "3fff::/20",  # for documentation
        "5f00::/16",  # segments of a network's own
    )
)
"""Networks that reach a provider's own machines or nothing, whatever Python's registry says."""
_PORTS: Final = {"https": 443, "http": 80}


class AddressRefused(ValueError):
    """Nothing is sent there; says why."""


def checked_url(url: str, *, allows_private: bool) -> SplitResult:
    """Return the parts of a URL that messages may go to, as far as its text tells.

    Raises:
        AddressRefused: it is no such URL.
    """
    if not url.isascii() or any(letter.isspace() or not letter.isprintable() for letter in url):
        raise AddressRefused("It is no URL: it has characters that must be escaped.")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise AddressRefused("It is no URL.") from None
    if parts.scheme not in _PORTS or not parts.hostname or port == 0:
        raise AddressRefused("It must be https://, a host, and a path.")
    if parts.scheme == "http" and not allows_private:
        raise AddressRefused("It must be https: anybody on the way could read it.")
    if parts.username is not None or parts.password is not None:
        raise AddressRefused("It must not have a name or password; messages are signed instead.")
    if parts.fragment:
        raise AddressRefused("It must not have a fragment (#…), which is not sent.")
    return parts


def port_of(parts: SplitResult) -> int:
    """Return the port of a URL."""
    return parts.port or _PORTS[parts.scheme]


def checked_addresses(host: str, port: int, *, allows_private: bool) -> list[str]:
    """Return the addresses of a host, in the order of the resolver.

    Raises:
        AddressRefused: it has none, or one that is not public.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise AddressRefused("its name cannot be resolved") from None
    addresses = list(dict.fromkeys(str(address[4][0]) for address in found))
    if not allows_private and not all(map(is_public, addresses)):
        raise AddressRefused(
            "it has an address that is not public; PERCEPT_WEBHOOK_PRIVATE_ADDRESSES allows those"
        )
    if not addresses:
        raise AddressRefused("its name cannot be resolved")
    return addresses


def is_public(text: str) -> bool:
    """Whether an address is one of the public internet."""
    address = ipaddress.ip_address(text.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return is_public(str(address.ipv4_mapped))
        if address.sixtofour is not None or address.teredo is not None or address.is_site_local:
            return False
        if any(address in network for network in _TRANSLATED):
            return False
    if any(address in network for network in _NOT_FOR_ANYBODY):
        return False
    return address.is_global and not address.is_multicast and not address.is_reserved
