"""The two people of the demo: ana writes and proposes changes, bob approves them.

Act ──► Team ──► proposal, approval, publish; backtest ──► rule service
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Self

from contract.backtests import BacktestReport
from examples.demo.service import DemoService
from examples.demo.tried import Difference
from percept import Client, SigningKeys

_BACKTEST_SECONDS: Final = 120


@dataclass(frozen=True, slots=True)
class Team:
    """Clients of both; the stream asks that another person approves what is to run.

    `backtests` and `differences` are what ana has read of versions that were tried.
    """

    ana: Client
    bob: Client
    backtests: list[BacktestReport | None] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)

    @classmethod
    @contextmanager
    def of(cls, service: DemoService, keys: SigningKeys) -> Iterator[Self]:
        """Yield both, with tokens of their own."""
        with ExitStack() as stack:

            def client(name: str) -> Client:
                token = service.create_token(name, "publisher", person=name)
                return stack.enter_context(Client(service.url, token, signing_keys=keys))

            yield cls(client("ana"), client("bob"))

    def approved(self, document: Mapping[str, Any] | None = None, **change: Any) -> Iterator[str]:
        """Let ana propose a change, bob approve it, and ana publish it; yield what to tell."""
        proposed = self.ana.propose(document, **change)
        self.bob.approve(proposed.id)
        self.ana.publish_proposal(proposed.id)
        yield f"proposal {proposed.id} of ana, approved by bob"

    def backtested(self, document: Mapping[str, Any]) -> str:
        """Run a document over the events of the past, and tell how it compares with what runs."""
        asked = self.ana.backtests.request(document, against="published")
        ended = self.ana.backtests.wait(asked.number, timeout_seconds=_BACKTEST_SECONDS)
        self.backtests.append(ended.report)
        if ended.report is None:
            return f"backtest {ended.number} {ended.state}: {ended.error}"
        return (
            f"backtest over {ended.report.events:,} past events: {ended.matches} matches, "
            f"{ended.gained} gained and {ended.lost} lost against version {ended.against_version}"
        )
