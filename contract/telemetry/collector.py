"""The way to the collector, which tells once when it does not work, and once when it does again.

exporter ──Connection──► collector
               └──► Told ──► one line of the log
"""

import logging
import threading
from typing import Any, Final

import requests

_log = logging.getLogger("percept.telemetry")
_FIRST_ERROR: Final = 400


class Told:
    """What the log knows of the way to the collector, for one kind of what is sent.

    Args:
        kind: `traces` or `metrics`.
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._lock = threading.Lock()
        self._is_failing = False

    def failed(self, reason: str) -> None:
        """Log that nothing arrives, unless that is known."""
        with self._lock:
            is_news, self._is_failing = not self._is_failing, True
        if is_news:
            _log.warning(
                "OpenTelemetry: %s do not reach the collector (%s); they are dropped, everything "
                "else goes on, and this is not told again until they arrive",
                self._kind,
                reason,
            )

    def arrived(self) -> None:
        """Log that it works again, if it did not."""
        with self._lock:
            is_news, self._is_failing = self._is_failing, False
        if is_news:
            _log.warning("OpenTelemetry: %s reach the collector again", self._kind)


class Connection(requests.Session):
    """The session of one exporter.

    Addresses, headers and bodies of answers are not logged: there may be secrets in them.
    """

    def __init__(self, told: Told) -> None:
        super().__init__()
        self._told = told

    def request(self, *args: Any, **options: Any) -> requests.Response:
        """Send, and note whether it arrived."""
        try:
            response = super().request(*args, **options)
        except Exception as error:
            self._told.failed(_reason(error))
            raise
        if response.status_code < _FIRST_ERROR:
            self._told.arrived()
        else:
            self._told.failed(f"it answers {response.status_code}")
        return response


def _reason(error: Exception) -> str:
    match error:
        case requests.exceptions.SSLError():
            return "its certificate is not accepted, or it speaks no TLS"
        case requests.exceptions.ProxyError():
            return "the proxy does not let through"
        case requests.exceptions.Timeout():
            return "no answer in time"
        case requests.exceptions.ConnectionError():
            return "no connection, or it broke off"
        case _:
            return type(error).__name__
