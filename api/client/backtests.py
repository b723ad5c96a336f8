"""Backtests, from Python: asked for, waited for, read, cancelled.

client.backtests.request("failed-logins") ──► Backtest ──wait──► its report
"""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from api.client.connection import Connection
from api.client.errors import ServiceError
from contract.service.backtests import BacktestSummary, BacktestView, Workers

_PATH: Final = "/v1/backtests"
_POLL_SECONDS: Final = 1.0


NO_WORKER: Final = "no worker has the events of this stream: start one with `percept work`"


class NotEnded(ServiceError):
    """A backtest has not ended within the time that was given."""


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
    ) -> BacktestSummary:
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
        return self.connection.read(BacktestSummary, "POST", _PATH, body=body, query=query)

    def list(
        self, *, stream: str | None = None, rule: str | None = None, state: str | None = None
    ) -> Iterator[BacktestSummary]:
        """Yield the backtests that are kept, newest first."""
        query = {"stream": stream, "processor": rule, "state": state}
        return self.connection.pages(BacktestSummary, _PATH, query)

    def read(self, number: int) -> BacktestView:
        """Return a backtest with its report."""
        return self.connection.read(BacktestView, "GET", f"{_PATH}/{number}")

    def wait(self, number: int, *, timeout_seconds: float = 900) -> BacktestView:
        """Return a backtest when it has ended, however.

        Raises:
            NotEnded: it has not within this time.
        """
        ends_at = time.monotonic() + timeout_seconds
        while not (found := self.read(number)).has_ended:
            if time.monotonic() >= ends_at:
                hint = "" if self.workers(found.stream) else f"; {NO_WORKER}"
                raise NotEnded(
                    f"backtest {number} is {found.state} after {timeout_seconds:g} s{hint}"
                )
            time.sleep(_POLL_SECONDS)
        return found

    def cancel(self, number: int, *, comment: str = "") -> BacktestSummary:
        """Cancel a backtest; one that has ended stays as it is."""
        query = {"comment": comment}
        path = f"{_PATH}/{number}/cancel"
        return self.connection.read(BacktestSummary, "POST", path, query=query)

    def workers(self, stream: str) -> tuple[str, ...]:
        """Return the names of the workers that have the events of a stream."""
        query = {"stream": stream}
        answer = self.connection.read(Workers, "GET", f"{_PATH}/workers", query=query)
        return tuple(each.name for each in answer.workers)
