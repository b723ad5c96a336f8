"""`Pattern`: the immutable builder and public face of a pattern; the tree is what it makes.

Every call returns a new pattern. What Flink's builder refuses is refused in the call; the rest,
which only shows once the pattern is complete, by `Pattern.validate`.

Source: Flink CEP documentation, "The Pattern API"; names are Flink's in Python case.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from types import MappingProxyType
from typing import Any, Self

from cep.expression import Expression, ExpressionError
from cep.expression.parameters import constants_of
from cep.pattern import conditions
from cep.pattern.durations import duration_ms
from cep.pattern.forms import AnyPattern
from cep.pattern.parameters import declared
from cep.pattern.problems import PatternError, Problem
from cep.pattern.tree import (
    Condition,
    Contiguity,
    Group,
    InnerContiguity,
    PatternTree,
    SkipStrategy,
    Step,
    Subtype,
    Times,
    Window,
    WithinType,
)
from cep.pattern.validation.element_rules import element_problems

Duration = int | str | timedelta
ConditionSource = str | Expression | Callable[[Any, Any], bool]


@dataclass(frozen=True, slots=True, repr=False)
class Pattern(AnyPattern):
    """A pattern, begun with `Pattern.begin` and continued step by step; equal when the trees are.

    Calls that describe a step (`where`, `times`, `within` …) apply to the last one. Where a step's
    name is asked for, another pattern makes a group. A duration is milliseconds, a text such as
    "10 minutes" or "PT10M", or a timedelta. Made with `from_sql` it is a MATCH_RECOGNIZE clause, to
    which no steps can be added.
    """

    # --- sequence

    @classmethod
    def begin(
        cls,
        first: "str | Pattern",
        *,
        skip: SkipStrategy | None = None,
        parameters: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
    ) -> Self:
        """Return a pattern of one step, or of one group.

        Args:
            first: the name of the step, or the group; a group brings its own parameters.
            skip: what happens to other partial matches after a match.
            parameters: what conditions may name as `:name`, as documents have it:
                `{"limit": {"type": "DOUBLE", "value": 100, "min": 0}}`.

        Raises:
            PatternError: the group cannot be used as one, or a parameter is wrong.
        """
        tree = PatternTree(
            elements=(_element(first, None, "steps[0]"),), parameters=declared(parameters)
        )
        if isinstance(first, Pattern):
            tree = _with_parameters_of(tree, first, "steps[0]")
        pattern = cls(tree)
        return pattern if skip is None else pattern.after_match(skip)

    def next(self, step: "str | Pattern") -> Self:
        """Return the pattern continued by a step that takes the very next event.

        Raises:
            PatternError: the step cannot stand here.
        """
        return self._followed(step, Contiguity.NEXT)

    def followed_by(self, step: "str | Pattern") -> Self:
        """Return the pattern continued by a step that takes the next event it accepts.

        Raises:
            PatternError: the step cannot stand here.
        """
        return self._followed(step, Contiguity.FOLLOWED_BY)

    def followed_by_any(self, step: "str | Pattern") -> Self:
        """Return the pattern continued by a step that takes any later event it accepts.

        Raises:
            PatternError: the step cannot stand here.
        """
        return self._followed(step, Contiguity.FOLLOWED_BY_ANY)

    def not_next(self, name: str) -> Self:
        """Return the pattern continued by events that must not come right next.

        Raises:
            PatternError: the step in front may be absent.
        """
        return self._followed(name, Contiguity.NOT_NEXT)

    def not_followed_by(self, name: str) -> Self:
        """Return the pattern continued by events that must not come before the next step.

        Raises:
            PatternError: the step in front may be absent.
        """
        return self._followed(name, Contiguity.NOT_FOLLOWED_BY)

    # --- conditions

    def where(self, condition: ConditionSource) -> Self:
        """Return the pattern whose last step also needs this condition.

        Raises:
            PatternError: it is not SQL, or the last element is a group.
        """
        step = self._last_step("where")
        with self._locating("where"):
            both = conditions.both(step.where, self._condition(condition))
        return self._with_last(where=both)

    def or_where(self, condition: ConditionSource) -> Self:
        """Return the pattern whose last step takes events that meet this condition instead, too.

        Raises:
            PatternError: it is not SQL, or the last element is a group.
        """
        step = self._last_step("where")
        with self._locating("where"):
            either = conditions.either(step.where, self._condition(condition))
        return self._with_last(where=either)

    def until(self, condition: ConditionSource) -> Self:
        """Return the pattern whose last element stops looping at the first such event.

        Raises:
            PatternError: it is not SQL, the element does not loop or has an until.
        """
        if self._last.until is not None:
            raise self._error("until", "already given; only one applies.", "Join them with OR.")
        with self._locating("until"):
            until = self._condition(condition)
        return self._with_last(until=until)

    def subtype(self, subtype: str | type, *, field: str = "type") -> Self:
        """Return the pattern whose last step takes events of one type only.

        Args:
            subtype: the value of `field`, or a Python class of which the event is an instance.
            field: the field that names an event's type; not used with a class.

        Raises:
            PatternError: the last element is a group or has a subtype.
        """
        if self._last_step("subtype").subtype is not None:
            raise self._error("subtype", "already given; only one applies.", "Keep one.")
        if isinstance(subtype, type):
            return self._with_last(subtype=Subtype(subtype.__name__, python_type=subtype))
        return self._with_last(subtype=Subtype(subtype, field))

    # --- quantifiers

    def times(
        self, minimum: int, maximum: int | None = None, *, within: Duration | None = None
    ) -> Self:
        """Return the pattern whose last element comes `minimum` times, or up to `maximum` times.

        Args:
            minimum: how often, at least if `maximum` is given; 0 makes the element optional.
            maximum: how often at most.
            within: the longest time between two repetitions.

        Raises:
            PatternError: the numbers are out of order, or the element repeats already.
        """
        return self._repeated(Times(minimum, minimum if maximum is None else maximum), within)

    def times_or_more(self, minimum: int, *, within: Duration | None = None) -> Self:
        """Return the pattern whose last element comes `minimum` times or more.

        Raises:
            PatternError: the number is below 1, or the element repeats already.
        """
        return self._repeated(Times(minimum, None), within)

    def one_or_more(self, *, within: Duration | None = None) -> Self:
        """Return the pattern whose last element comes once or more.

        Raises:
            PatternError: the element repeats already.
        """
        return self._repeated(Times(1, None), within)

    def optional(self) -> Self:
        """Return the pattern whose last element may be absent.

        Raises:
            PatternError: it is so already, is a NOT step, or follows a greedy step.
        """
        if self._last.optional:
            raise self._error("optional", "already applied.", "Write it once.")
        return self._with_last(optional=True)

    def greedy(self) -> Self:
        """Return the pattern whose last step keeps every event it accepts from the step after it.

        Raises:
            PatternError: it does not repeat, is a group or allows combinations.
        """
        return self._with_last(greedy=True)

    def consecutive(self) -> Self:
        """Return the pattern whose last element repeats without other events in between.

        Raises:
            PatternError: it does not repeat, or its inner contiguity is given already.
        """
        return self._with_inner(InnerContiguity.CONSECUTIVE)

    def allow_combinations(self) -> Self:
        """Return the pattern whose last element may skip events it accepts between repetitions.

        Raises:
            PatternError: it does not repeat, or its inner contiguity is given already.
        """
        return self._with_inner(InnerContiguity.ALLOW_COMBINATIONS)

    # --- windows, skipping, quirks

    def within(
        self, duration: Duration, within_type: WithinType | str = WithinType.FIRST_AND_LAST
    ) -> Self:
        """Return the pattern with a window on its last element.

        A `first_and_last` window limits the whole match, the smallest one counts; a
        `previous_and_current` window limits the gap in front of the element. As in Flink, a second
        window of one type replaces the first.

        Raises:
            PatternError: it is no duration, or no such type.
        """
        if within_type not in set(WithinType):
            raise self._error(
                "within_type", f"'{within_type}' is not known.", f"Use {' or '.join(WithinType)}."
            )
        window = Window(self._duration("within", duration), WithinType(within_type))
        others = [each for each in self._last.within if each.type is not window.type]
        return self._with_last(within=tuple(sorted([*others, window], key=lambda each: each.type)))

    def after_match(self, skip: SkipStrategy) -> Self:
        """Return the pattern with this after-match skip strategy, see `AfterMatchSkip`."""
        if not isinstance(skip, SkipStrategy):
            raise TypeError(f"a skip strategy is made by AfterMatchSkip, not {skip!r}")
        return type(self)(replace(self.tree, after_match_skip=skip))

    def flink_quirks(self, *, accept: bool = True) -> Self:
        """Return the pattern that accepts what Flink takes and then ignores or mangles."""
        return type(self)(replace(self.tree, flink_quirks=accept))

    # --- how a call makes the next pattern

    @property
    def _last(self) -> Step | Group:
        return self.tree.elements[-1]

    @property
    def _path(self) -> str:
        return f"steps[{len(self.tree.elements) - 1}]"

    def _condition(self, condition: ConditionSource) -> Condition:
        return conditions.condition_of(condition, constants_of(self.parameters))

    def _last_step(self, key: str) -> Step:
        if isinstance(self._last, Step):
            return self._last
        raise self._error(key, f"a group has no {key}.", "Put it on a step in the group.")

    def _followed(self, following: "str | Pattern", contiguity: Contiguity) -> Self:
        elements = self.tree.elements
        path = f"steps[{len(elements)}]"
        element = _element(following, contiguity, path)
        _refuse(element_problems(element, self._last, path))
        tree = replace(self.tree, elements=(*elements, element))
        if isinstance(following, Pattern):
            tree = _with_parameters_of(tree, following, path)
        return type(self)(tree)

    def _repeated(self, times: Times, within: Duration | None) -> Self:
        if not all(isinstance(count, int | None) for count in (times.minimum, times.maximum)):
            raise TypeError(f"times are whole numbers, not {times.minimum!r} and {times.maximum!r}")
        if self._last.times is not None:
            raise self._error("times", "already applied.", "Say once how often it comes.")
        window_ms = None if within is None else self._duration("times_within", within)
        return self._with_last(times=times, times_within_ms=window_ms)

    def _with_inner(self, inner: InnerContiguity) -> Self:
        if self._last.inner is not InnerContiguity.RELAXED:
            raise self._error(
                "inner",
                f"'{self._last.inner}' is already applied.",
                "Keep one of consecutive and allow_combinations.",
            )
        return self._with_last(inner=inner)

    def _with_last(self, **changes: Any) -> Self:
        *before, last = self.tree.elements
        changed = replace(last, **changes)
        _refuse(element_problems(changed, before[-1] if before else None, self._path))
        return type(self)(replace(self.tree, elements=(*before, changed)))

    @contextmanager
    def _locating(self, key: str) -> Iterator[None]:
        """Turn an expression's error into one that also says where in the pattern it is."""
        try:
            yield
        except ExpressionError as error:
            path = f"{self._path}.{key}"
            raise PatternError([conditions.expression_problem(error, path)]) from None

    def _duration(self, key: str, duration: Duration) -> int:
        try:
            return duration_ms(duration)
        except ValueError as error:
            raise self._error(key, str(error), "") from None

    def _error(self, key: str, message: str, remedy: str) -> PatternError:
        return PatternError([Problem(f"{self._path}.{key}", message, remedy)])


def _element(made_of: str | Pattern, contiguity: Contiguity | None, path: str) -> Step | Group:
    if isinstance(made_of, str):
        return Step(contiguity=contiguity, name=made_of)
    if not isinstance(made_of, Pattern):
        raise TypeError(f"a step is a name or a Pattern, not {made_of!r}")
    if made_of.tree.after_match_skip != SkipStrategy():
        message = (
            "the pattern used as a group has an after-match skip strategy, which it would lose."
        )
        raise PatternError([Problem(f"{path}.group", message, "Set it on the whole pattern.")])
    return Group(contiguity=contiguity, elements=made_of.tree.elements)


def _with_parameters_of(tree: PatternTree, group: Pattern, path: str) -> PatternTree:
    """Return the tree with the parameters of a group added to its own."""
    known = {parameter.name: parameter for parameter in tree.parameters}
    for parameter in group.parameters:
        if known.setdefault(parameter.name, parameter) != parameter:
            message = f"its parameter {parameter.name} differs from that of the pattern around it."
            raise PatternError([Problem(f"{path}.group", message, "Declare both alike.")])
    return replace(tree, parameters=tuple(known.values()))


def _refuse(found: Iterable[Problem]) -> None:
    if told := tuple(found):
        raise PatternError(told)
