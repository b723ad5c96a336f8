"""The frozen pattern tree: what a pattern is, however it was written.

The Python builder, the document and the printed form all make this tree; `validation` checks it and
`cep.nfa.compiler` turns it into a program. Words and meaning are those of Flink's `Pattern`,
`GroupPattern` and `Quantifier` classes.

Source: Flink CEP documentation, "The Pattern API".
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from cep.expression import Expression
from cep.expression.parameters import Parameter
from cep.signing.code import SignedCode


class Contiguity(StrEnum):
    """How a step follows the step in front of it."""

    NEXT = "next"
    FOLLOWED_BY = "followed_by"
    FOLLOWED_BY_ANY = "followed_by_any"
    NOT_NEXT = "not_next"
    NOT_FOLLOWED_BY = "not_followed_by"

    @property
    def is_negative(self) -> bool:
        """Whether the step names events that must not come."""
        return self in {Contiguity.NOT_NEXT, Contiguity.NOT_FOLLOWED_BY}


class InnerContiguity(StrEnum):
    """How the repetitions of one step follow each other."""

    RELAXED = "relaxed"
    CONSECUTIVE = "consecutive"
    ALLOW_COMBINATIONS = "allow_combinations"


class WithinType(StrEnum):
    """Which two events a window spans."""

    FIRST_AND_LAST = "first_and_last"
    PREVIOUS_AND_CURRENT = "previous_and_current"


class SkipKind(StrEnum):
    """The five after-match skip strategies."""

    NO_SKIP = "no_skip"
    SKIP_TO_NEXT = "skip_to_next"
    SKIP_PAST_LAST_EVENT = "skip_past_last_event"
    SKIP_TO_FIRST = "skip_to_first"
    SKIP_TO_LAST = "skip_to_last"


@dataclass(frozen=True, slots=True)
class SkipStrategy:
    """What happens to other partial matches once a match is found.

    `step` is set for `SKIP_TO_FIRST` and `SKIP_TO_LAST` only. `throw_on_miss` makes it an error
    when the match has no event for that step.
    """

    kind: SkipKind = SkipKind.NO_SKIP
    step: str | None = None
    throw_on_miss: bool = False


class AfterMatchSkip:
    """Makes the strategy that `Pattern.after_match` takes, one constructor each.

    Source: Flink CEP documentation, "After Match Skip Strategy".
    """

    @staticmethod
    def no_skip() -> SkipStrategy:
        """Return the default strategy: every possible match is emitted."""
        return SkipStrategy(SkipKind.NO_SKIP)

    @staticmethod
    def to_next() -> SkipStrategy:
        """Return the strategy that drops partial matches begun with the match's first event."""
        return SkipStrategy(SkipKind.SKIP_TO_NEXT)

    @staticmethod
    def past_last_event() -> SkipStrategy:
        """Return the strategy that drops partial matches begun before the match ended."""
        return SkipStrategy(SkipKind.SKIP_PAST_LAST_EVENT)

    @staticmethod
    def to_first(step: str, *, throw_on_miss: bool = False) -> SkipStrategy:
        """Return the strategy that drops partial matches begun before the first event of `step`."""
        return SkipStrategy(SkipKind.SKIP_TO_FIRST, step, throw_on_miss)

    @staticmethod
    def to_last(step: str, *, throw_on_miss: bool = False) -> SkipStrategy:
        """Return the strategy that drops partial matches begun before the last event of `step`."""
        return SkipStrategy(SkipKind.SKIP_TO_LAST, step, throw_on_miss)


@dataclass(frozen=True, slots=True)
class PythonCondition:
    """A Python callable `(event, context) -> bool` used as a condition.

    A document can hold it once it is signed, see `SignedCondition`.
    """

    function: Callable[[Any, Any], bool]

    def __str__(self) -> str:
        # Patterns are distinguished by their text, in every process: it must not hold an address.
        return str(getattr(self.function, "__qualname__", type(self.function).__qualname__))


@dataclass(frozen=True, slots=True)
class SignedCondition:
    """A Python condition as documents hold it: data, a `PythonCondition` once verified."""

    code: SignedCode

    def __str__(self) -> str:
        return self.code.name


@dataclass(frozen=True, slots=True)
class AllOf:
    """Every condition holds: repeated `where` once a Python callable is among them."""

    conditions: tuple["Condition", ...]

    def __str__(self) -> str:
        return " AND ".join(f"({condition})" for condition in self.conditions)


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one condition holds: `or_where` once a Python callable is among them."""

    conditions: tuple["Condition", ...]

    def __str__(self) -> str:
        return " OR ".join(f"({condition})" for condition in self.conditions)


Condition = Expression | PythonCondition | SignedCondition | AllOf | AnyOf


@dataclass(frozen=True, slots=True)
class Subtype:
    """Only events of one type count for a step: `field = name`, or instances of `python_type`."""

    name: str
    field: str = "type"
    python_type: type | None = None


@dataclass(frozen=True, slots=True)
class Times:
    """How often a step repeats: `minimum` to `maximum` times, `None` = without end.

    A minimum of 0 with a maximum makes the step optional, as in Flink.
    """

    minimum: int
    maximum: int | None


@dataclass(frozen=True, slots=True)
class Window:
    """The longest time, in milliseconds, between two events; 0 = no window, as in Flink."""

    duration_ms: int
    type: WithinType = WithinType.FIRST_AND_LAST


@dataclass(frozen=True, slots=True, kw_only=True)
class Element:
    """What a step and a group share: position, quantifier and windows.

    `contiguity` is `None` on the first element of a sequence. `times` is `None` for exactly one
    event. `times_within_ms` is the window between two repetitions. `within` holds at most one
    window of each type; the window of a whole pattern stands on its last element, as in Flink.
    """

    contiguity: Contiguity | None = None
    times: Times | None = None
    times_within_ms: int | None = None
    inner: InnerContiguity = InnerContiguity.RELAXED
    greedy: bool = False
    optional: bool = False
    until: Condition | None = None
    within: tuple[Window, ...] = ()

    @property
    def is_negative(self) -> bool:
        """Whether this is a `not_next` or `not_followed_by` step."""
        return self.contiguity is not None and self.contiguity.is_negative

    @property
    def is_looping(self) -> bool:
        """Whether it repeats without end."""
        return self.times is not None and self.times.maximum is None

    @property
    def is_optional(self) -> bool:
        """Whether it may be absent, by `optional` or by `times` from 0."""
        return self.optional or (self.times is not None and self.times.minimum == 0)

    def window_ms(self, within_type: WithinType) -> int | None:
        """Return the window of this type in milliseconds, if it has one."""
        return next((w.duration_ms for w in self.within if w.type is within_type), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step(Element):
    """One named step; `where` is `None` if it takes every event."""

    name: str
    where: Condition | None = None
    subtype: Subtype | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Group(Element):
    """A sequence used as one element, so that it can repeat or be optional as a whole."""

    elements: tuple["Step | Group", ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternTree:
    """A whole pattern: its sequence, and what happens after a match.

    `flink_quirks` accepts the few patterns that Flink takes and then mangles. `parameters` are
    declared for its conditions and for what is output of its matches.
    """

    elements: tuple[Step | Group, ...]
    after_match_skip: SkipStrategy = SkipStrategy()
    flink_quirks: bool = False
    parameters: tuple[Parameter, ...] = ()

    def steps(self) -> Iterator[Step]:
        """Yield every step, groups opened, in the order of the pattern."""
        return steps_of(self.elements)


def steps_of(elements: tuple[Step | Group, ...]) -> Iterator[Step]:
    """Yield every step of a sequence, groups opened, in order."""
    for element in elements:
        if isinstance(element, Group):
            yield from steps_of(element.elements)
        else:
            yield element
