"""The immutable program a pattern compiles to: states, transitions and their guards.

    pattern tree ──compiler──► Program ──decision──► outcomes ──machine──► matches

A program is a *shape*: it numbers the steps and conditions of a pattern but does not hold them.
Patterns that differ in names or conditions only share one program and can be run together.

Source: Agrawal et al., "Efficient Pattern Matching over Event Streams" (SIGMOD 2008), as realised
by Flink CEP's `NFA`, `State` and `StateTransition`.
"""

from dataclasses import dataclass
from enum import Enum, auto

from cep.pattern.tree import SkipKind


class Action(Enum):
    """What a transition does with the event under test."""

    TAKE = auto()
    """Accept the event and move on."""
    IGNORE = auto()
    """Leave the event out and move on."""
    PROCEED = auto()
    """Move on without an event (an epsilon transition), then test the same event there."""


class StateKind(Enum):
    """What being in a state means for a partial match."""

    NORMAL = auto()
    PENDING = auto()
    """A match as soon as its window closes: a trailing `not_followed_by`."""
    STOP = auto()
    """A forbidden event came: the partial match is dropped."""
    FINAL = auto()


@dataclass(frozen=True, slots=True)
class Always:
    """The guard that is true for every event."""


@dataclass(frozen=True, slots=True)
class IsTrue:
    """The condition with this index is TRUE for the event."""

    condition: int


@dataclass(frozen=True, slots=True)
class Not:
    """The inner guard is not true; unknown counts as not true, so this then is."""

    inner: "Guard"


@dataclass(frozen=True, slots=True)
class Both:
    """Both guards are true."""

    left: "Guard"
    right: "Guard"


Guard = Always | IsTrue | Not | Both


@dataclass(frozen=True, slots=True)
class Transition:
    """One edge of the automaton; `target` is an index into `Program.states`."""

    action: Action
    target: int
    guard: Guard


@dataclass(frozen=True, slots=True)
class State:
    """One state; `step` is the index of the step whose events it takes.

    `previous_window_ms` limits the time since the event accepted last; `None` = no such window.
    Transitions are tested in their order.
    """

    step: int
    kind: StateKind
    transitions: tuple[Transition, ...]
    previous_window_ms: int | None = None


@dataclass(frozen=True, slots=True)
class SkipPlan:
    """An after-match skip strategy whose target step is known by index.

    `target_step` is `None` where the strategy has no target, or one that is never part of a match.
    """

    kind: SkipKind
    target_step: int | None
    throw_on_miss: bool


@dataclass(frozen=True, slots=True)
class Program:
    """An automaton ready to run. Equal programs run equal patterns.

    `window_ms` limits the time since the first event of a partial match; 0 = no window.
    """

    states: tuple[State, ...]
    start: int
    window_ms: int
    skip: SkipPlan
    condition_count: int

    def is_waiting(self, state: int) -> bool:
        """Return whether a partial match can be in this state between two events."""
        kinds = {StateKind.NORMAL, StateKind.PENDING}
        return state != self.start and self.states[state].kind in kinds

    @property
    def has_previous_windows(self) -> bool:
        """Whether any state limits the time since the previous event."""
        return any(state.previous_window_ms is not None for state in self.states)


def guard_truth(guard: Guard, truth: int) -> bool:
    """Return the truth of a guard, where bit `i` of `truth` is set if condition `i` is TRUE."""
    match guard:
        case Always():
            return True
        case IsTrue(condition):
            return bool(truth >> condition & 1)
        case Not(inner):
            return not guard_truth(inner, truth)
        case Both(left, right):
            return guard_truth(left, truth) and guard_truth(right, truth)


def conditions_of(guard: Guard) -> int:
    """Return the conditions a guard reads, as a bit set."""
    match guard:
        case Always():
            return 0
        case IsTrue(condition):
            return 1 << condition
        case Not(inner):
            return conditions_of(inner)
        case Both(left, right):
            return conditions_of(left) | conditions_of(right)
