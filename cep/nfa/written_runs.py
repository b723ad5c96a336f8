"""The partial matches of a key as they are written, until somebody wants them as objects.

    bytes ──unpack──► payload ──WrittenRuns──► runs and cells, at the first look at one of them

Compiled code goes from written keys to written keys, and most keys are only carried from batch to
batch, so that the objects are rarely made.
"""

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import or_
from typing import Any, Final

from cep.nfa.codec import NUMBERS_PER_CELL, parts_of, rules_of, runs_of_payload
from cep.nfa.runs import CELL_STEP, RUN_CELL, RUN_RULES, RUN_START_MS, KeyRuns, Run

PAYLOAD_SEQUENCE: Final = 0
PAYLOAD_ARE_TUPLES: Final = 1
PAYLOAD_EVENTS: Final = 2
PAYLOAD_CELLS: Final = 3
PAYLOAD_RUNS: Final = 4
PAYLOAD_WAITING: Final = 5
"""What `cep.nfa.codec.runs_payload` returns, by place."""
NUMBERS_PER_RUN: Final = 6


class WrittenRuns(KeyRuns):
    """The state of one key behind a payload.

    `payload` is `None` once the state has been opened, as it may have changed since.

    Args:
        payload: what `runs_payload` returned; it is not changed.
        aggregate_count: how many aggregate states a cell has room for (see `Machine`).

    Raises:
        ValueError: it has not as many parts. Other mistakes show when it is opened.
    """

    __slots__ = ("_aggregate_count", "payload")

    def __init__(self, payload: list[Any], aggregate_count: int = 0) -> None:
        # Slots that are not set here are asked of `__getattr__`, once.
        self.sequence, _, events, _, _, _ = payload
        self.payload: list[Any] | None = payload
        self._aggregate_count = aggregate_count
        self.scheduled = None
        self.events_bound = len(events)
        self.events_checked = 0
        self.held_checked = 0

    def __getattr__(self, name: str) -> Any:
        """Open the payload, if partial matches are asked for."""
        if name == "rules" and self.payload is not None:
            self.rules = reduce(or_, self._open_rules(self.payload), 0)
        elif name in {"runs", "waiting"}:
            opened = runs_of_payload(self.payload or [], aggregate_count=self._aggregate_count)
            self.payload = None
            self.runs, self.waiting, self.rules = opened.runs, opened.waiting, opened.rules
        else:
            raise AttributeError(name)
        return getattr(self, name)

    def open_runs(self) -> Sequence[Run]:
        """Return the partial matches, of whose rules and last cells nothing is wanted."""
        if self.payload is None:
            return self.runs
        return list(parts_of(self.payload[PAYLOAD_RUNS], NUMBERS_PER_RUN))

    def run_count(self) -> int:
        """Return the number of partial matches that rules have in common."""
        if self.payload is None:
            return len(self.runs)
        return len(self.payload[PAYLOAD_RUNS]) // NUMBERS_PER_RUN

    @staticmethod
    def _open_rules(payload: list[Any]) -> Iterator[int]:
        return map(rules_of, payload[PAYLOAD_RUNS][RUN_RULES::NUMBERS_PER_RUN])

    def open_steps(self) -> Sequence[tuple[int, int]]:
        """Return the set of rules of each open partial match, and the step of its last event."""
        if self.payload is None:
            return super().open_steps()
        steps = self.payload[PAYLOAD_CELLS][CELL_STEP::NUMBERS_PER_CELL]
        tips = self.payload[PAYLOAD_RUNS][RUN_CELL::NUMBERS_PER_RUN]
        return list(zip(self._open_rules(self.payload), map(steps.__getitem__, tips), strict=True))

    @property
    def first_start_ms(self) -> int | None:
        """The time of the first event of all open partial matches; `None` without any."""
        if self.payload is None:
            return super().first_start_ms
        runs = self.payload[PAYLOAD_RUNS]
        return runs[RUN_START_MS] if runs else None

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way, so that the key need not be kept."""
        if self.payload is None:
            return not self.runs and not self.waiting
        return not self.payload[PAYLOAD_RUNS] and not self.payload[PAYLOAD_WAITING]

    def held_back_rules(self) -> int:
        """Return the rules with finished matches held back."""
        if self.payload is None:
            return super().held_back_rules()
        held_back = 0
        for rules, _ in self.payload[PAYLOAD_WAITING]:
            held_back |= rules_of(rules)
        return held_back
