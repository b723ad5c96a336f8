"""What the matcher asks of a machine and of the state of a key, whichever language a rule is in.

KeyedMatcher ──KeyMachine──► cep.nfa.machine.Machine · cep.row_search.machine.RowPatternMachine
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from cep.nfa.limits import Limits
from cep.nfa.machine import TimedOut
from cep.nfa.runs import Scheduled


class KeyState(Protocol):
    """What a machine holds for one key. `rules` are those it may hold something for, as bits."""

    rules: int
    scheduled: Scheduled | None

    @property
    def is_idle(self) -> bool:
        """Whether the key need not be kept."""

    def keep_only(self, kept: int) -> None:
        """Give up what belongs to other rules than those in the set `kept`."""

    def renumber(self, bits: Mapping[int, int]) -> None:
        """Replace the rules, bit by bit; what is of rules not in `bits` is dropped."""

    def partial_match_count(self) -> int:
        """Return the number of open partial matches, over all rules."""

    def held_back_count(self) -> int:
        """Return the number of finished matches held back, over all rules."""

    def held_back_rules(self) -> int:
        """Return the rules with finished matches held back, as bits."""

    def open_steps(self) -> Sequence[tuple[int, int]]:
        """Return the rules of each open partial match, as bits, and the step of its last event."""


class KeyTransitions(Protocol):
    """What one kind of event does to the keys of a machine."""

    @property
    def start(self) -> Any:
        """How it begins a partial match; `None` if it begins none."""

    @property
    def can_concern(self) -> bool:
        """Whether it can start a partial match or change any."""

    @property
    def concerned(self) -> int:
        """The rules for which it can, as bits."""


class KeyMachine(Protocol):
    """Runs the rules of one shape; see `cep.nfa.machine.Machine` for its methods."""

    all_rules: int
    stopped: int
    limits: Limits

    @property
    def deadlines_can_come_nearer(self) -> bool:
        """Whether an event can bring a nearer deadline than the one that is waited for."""

    @property
    def can_hold_back(self) -> bool:
        """Whether a finished match may have to wait for a partial match."""

    def new_key(self) -> Any:
        """Return the state of a key that holds nothing."""

    def transitions(
        self, true_tests: Iterable[int], starting: int | None = None, going_on: int | None = None
    ) -> Any:
        """Return what an event does, given the tests that hold for it."""

    def rules_with(self, test: int) -> int:
        """Return the rules with a condition that a test on the event alone is part of."""

    def process(
        self, key: Any, transitions: Any, event: Any, time_ms: int
    ) -> Sequence[tuple[int, Any]] | None:
        """Move a key by one event; return the matches that come out, `None` for no change."""

    def next_deadline_ms(self, key: Any) -> int | None:
        """Return when the next window of a key closes."""

    def absences_until(self, key: Any, time_ms: int) -> Mapping[int, int]:
        """Return when partial matches that windows complete up to a time do so, by `id` of cell."""

    def advance(
        self, key: Any, time_ms: int
    ) -> tuple[Sequence[tuple[int, Any]], Sequence[TimedOut]]:
        """Close the windows of a key up to a time; return the matches this brings, and timeouts."""

    def release(self, key: Any, rules: int) -> Sequence[tuple[int, Any]]:
        """Give up the partial matches of some rules; return the matches that they held back."""

    def payload(self, key: Any) -> list[Any]:
        """Return the state of a key as plain values."""

    def of_payload(self, payload: list[Any], translate: Callable[[Any], Any] | None = None) -> Any:
        """Return the state of a key that `payload` described."""
