"""The rollout of one processor, from Python: begun, read, given a share, promoted, ended.

client.rollout("failed-logins").start(document) ──► …share(5) ──► …promote() · …end()
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from api.client.connection import Connection
from api.client.views import Processor, View
from cep.instants import Instant
from contract.reports import RunningState


class RolloutInJob(View):
    """How the tried version does in one job, beside what is published.

    `events` is what the job has read since the trial began. `finds` is what it has found in all,
    and `counted` how much of that counted. Compared are the matches that reached the service: found
    by `both`, `gained` by the tried version alone, `lost` to it.
    """

    job: str
    state: RunningState
    events: int
    finds: int
    counted: int
    partial_matches: int
    error: str
    both: int
    gained: int
    lost: int
    is_complete: bool


class Rollout(View):
    """A version that is tried beside what is published."""

    processor_id: str
    stream: str
    version: int
    published_versions: list[int]
    share_percent: float = Field(description="0 = it only runs in shadow.")
    created_at: Instant
    created_by: str
    jobs: list[RolloutInJob]


@dataclass(frozen=True, slots=True)
class RolloutClient:
    """What can be done with the rollout of one processor. Every call raises `ServiceError`.

    `if_match` is as in `Client`.
    """

    connection: Connection
    path: str

    def read(self) -> Rollout:
        """Return the version that is tried, and how its finds compare.

        Raises:
            NotFound: nothing is tried.
        """
        return self.connection.read(Rollout, "GET", self.path)

    def start(
        self,
        document: Mapping[str, Any],
        *,
        share_percent: float = 0,
        if_match: str = "*",
        comment: str = "",
    ) -> Processor:
        """Try a document as a new version; it takes the place of the one that is tried now."""
        query = {"share_percent": f"{share_percent:g}"}
        return self._change("POST", "", dict(document), if_match, comment, query)

    def share(self, share_percent: float, *, if_match: str = "*", comment: str = "") -> Processor:
        """Give the tried version another share of the keys; 0 = it only runs in shadow."""
        return self._change("PATCH", "", {"share_percent": share_percent}, if_match, comment)

    def promote(self, *, if_match: str = "*", comment: str = "") -> Processor:
        """Publish the tried version for all keys, at once, with its partial matches."""
        return self._change("POST", "/promote", None, if_match, comment)

    def end(self, *, if_match: str = "*", comment: str = "") -> Processor:
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
    ) -> Processor:
        return self.connection.read(
            Processor,
            method,
            f"{self.path}{action}",
            body=body,
            query={"comment": comment, **(query or {})},
            if_match=if_match,
        )
