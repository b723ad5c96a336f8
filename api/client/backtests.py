"""Backtests, from Python: asked for, waited for, read, cancelled.

client.backtests.request("failed-logins") ──► Backtest ──wait──► its report
"""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import Field

from api.client.connection import Connection
from api.client.errors import ServiceError
from api.client.views import View
from cep.instants import Instant
from contract.backtests import BacktestReport

_PATH: Final = "/v1/backtests"
_POLL_SECONDS: Final = 1.0


NO_WORKER: Final = "no worker has the events of this stream: start one with `percept work`"


class NotEnded(ServiceError):
    """A backtest has not ended within the time that was given."""


class BacktestLine(View):
    """One backtest in a list; times are milliseconds.

    `state` is queued, running, done, failed or cancelled.
    """

    number: int
    stream: str
    processor_id: str
    version: int | None = Field(description="None = a document that is no version.")
    content_hash: str
    against_version: int | None
    since: Instant | None
    until: Instant | None
    state: str
    created_at: Instant
    created_by: str
    started_at: Instant | None
    ended_at: Instant | None
    worker: str
    events_done: int
    events_total: int
    matches: int | None
    gained: int | None
    lost: int | None
    error: str

    @property
    def has_ended(self) -> bool:
        """Whether nothing of it changes any more."""
        return self.state not in {"queued", "running"}


class Backtest(BacktestLine):
    """One backtest with what it ran, and what it has found."""

    document: dict[str, Any]
    against: dict[str, Any] | None
    report: BacktestReport | None


class _Worker(View):
    name: str


class _Workers(View):
    workers: list[_Worker]


@dataclass(frozen=True, slots=True)
class BacktestClient:
    """What can be done with backtests. Every call raises `ServiceError`."""

    connection: Connection

    def request(  # noqa: PLR0913 - keyword options with defaults
        self,
        rule: str | Mapping[str, Any],
        *,
        version: int | None = None,
        against: Literal["published"] | int | None = None,
        since: str | int | None = None,
        until: str | int | None = None,
        closes_windows: bool = True,
        takes_labels: bool = True,
        comment: str = "",
    ) -> BacktestLine:
        """Ask for a backtest; a worker that has the events runs it.

        Args:
            rule: the id of a rule, or a processor document that need not be published.
            version: which version of the rule; by default the current one.
            against: the version to compare with: a number, or what is published.
            since: only events from this time on: ISO 8601 or milliseconds.
            until: only events before this time.
            closes_windows: whether windows that are open after the last event are closed.
            takes_labels: whether matches are scored by what people decided about matches.
            comment: why; kept in the log.
        """
        tried = {"processor_id": rule} if isinstance(rule, str) else {"document": dict(rule)}
        body = tried | {
            "version": version,
            "against": against,
            "since": since,
            "until": until,
            "closes_windows": closes_windows,
            "takes_labels": takes_labels,
        }
        query = {"comment": comment}
        return self.connection.read(BacktestLine, "POST", _PATH, body=body, query=query)

    def list(
        self, *, stream: str | None = None, rule: str | None = None, state: str | None = None
    ) -> Iterator[BacktestLine]:
        """Yield the backtests that are kept, newest first."""
        query = {"stream": stream, "processor": rule, "state": state}
        return self.connection.pages(BacktestLine, _PATH, query)

    def read(self, number: int) -> Backtest:
        """Return a backtest with its report."""
        return self.connection.read(Backtest, "GET", f"{_PATH}/{number}")

    def wait(self, number: int, *, timeout_seconds: float = 900) -> Backtest:
        """Return a backtest when it has ended, however.

        Raises:
            NotEnded: it has not within this time.
        """
        ends_at = time.monotonic() + timeout_seconds
        while not (found := self.read(number)).has_ended:
            if time.monotonic() >= ends_at:
                told = "" if self.workers(found.stream) else f"; {NO_WORKER}"
                raise NotEnded(
                    f"backtest {number} is {found.state} after {timeout_seconds:g} s{told}"
                )
            time.sleep(_POLL_SECONDS)
        return found

    def cancel(self, number: int, *, comment: str = "") -> BacktestLine:
        """Cancel a backtest; one that has ended stays as it is."""
        query = {"comment": comment}
        path = f"{_PATH}/{number}/cancel"
        return self.connection.read(BacktestLine, "POST", path, query=query)

    def workers(self, stream: str) -> tuple[str, ...]:
        """Return the names of the workers that have the events of a stream."""
        query = {"stream": stream}
        answer = self.connection.read(_Workers, "GET", f"{_PATH}/workers", query=query)
        return tuple(each.name for each in answer.workers)
