"""The rollout of one processor, from Python: begun, read, given a share, promoted, ended.

client.rollout("failed-logins").start(document) ──► …share(5) ──► …promote() · …end()
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from api.client.connection import Connection
from contract.service.processors import ProcessorView
from contract.service.rollouts import RolloutView


@dataclass(frozen=True, slots=True)
class RolloutClient:
    """What can be done with the rollout of one processor. Every call raises `ServiceError`.

    `if_match` is as in `Client`.
    """

    connection: Connection
    path: str

    def read(self) -> RolloutView:
        """Return the version that is tried, and how its finds compare.

        Raises:
            NotFound: nothing is tried.
        """
        return self.connection.read(RolloutView, "GET", self.path)

    def start(
        self,
        document: Mapping[str, Any],
        *,
        share_percent: float = 0,
        if_match: str = "*",
        comment: str = "",
    ) -> ProcessorView:
        """Try a document as a new version; it takes the place of the one that is tried now."""
        query = {"share_percent": f"{share_percent:g}"}
        return self._change("POST", "", dict(document), if_match, comment, query)

    def share(
        self, share_percent: float, *, if_match: str = "*", comment: str = ""
    ) -> ProcessorView:
        """Give the tried version another share of the keys; 0 = it only runs in shadow."""
        return self._change("PATCH", "", {"share_percent": share_percent}, if_match, comment)

    def promote(self, *, if_match: str = "*", comment: str = "") -> ProcessorView:
        """Publish the tried version for all keys, at once, with its partial matches."""
        return self._change("POST", "/promote", None, if_match, comment)

    def end(self, *, if_match: str = "*", comment: str = "") -> ProcessorView:
        """Take the tried version back; what is published has missed nothing."""
        return self._change("DELETE", "", None, if_match, comment)

    def _change(  # noqa: PLR0913, PLR0917 - a request has so many parts
        self,
        method: str,
        action: str,
        body: Any,
        if_match: str,
        comment: str,
        query: Mapping[str, str] | None = None,
    ) -> ProcessorView:
        return self.connection.read(
            ProcessorView,
            method,
            f"{self.path}{action}",
            body=body,
            query={"comment": comment, **(query or {})},
            if_match=if_match,
        )
