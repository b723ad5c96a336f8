"""`Pattern`: the immutable builder and public face of a pattern; the tree is what it makes.

Every call returns a new pattern. What Flink's builder refuses at once is refused at once; the rest,
which only shows once the pattern is complete, by `Pattern.validate`.

Source: Flink CEP documentation, "The Pattern API"; names are Flink's in Python case.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from types import ModuleType
from typing import Any, Self

from cep.expression import Expression, ExpressionError, Schema
from cep.pattern import (
    code,
    conditions,
    row_patterns,
)
from cep.pattern.document import reading, writing
from cep.pattern.durations import duration_ms
from cep.pattern.printed import reading as printed_reading
from cep.pattern.printed import writing as printed_writing
from cep.pattern.problems import PatternError, Problem
from cep.pattern.tree import (
    AfterMatchSkip,
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
from cep.pattern.validation.validate import problems, warnings
from cep.row_pattern.clause import Query
from cep.row_pattern.writing import written
from cep.signing.code import CodePlace
from cep.signing.keys import SigningKeys

Duration = int | str | timedelta
ConditionSource = str | Expression | Callable[[Any, Any], bool]


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern, begun with `Pattern.begin` and continued step by step; equal when the trees are.

    Calls that describe a step (`where`, `times`, `within` …) apply to the last one. Where a step's
    name is asked for, another pattern makes a group. A duration is milliseconds, a text such as
    "10 minutes" or "PT10M", or a timedelta. Made with `from_sql` it is a MATCH_RECOGNIZE clause, to
    which no steps can be added.
    """

    form: PatternTree | Query

    @property
    def tree(self) -> PatternTree:
        """The tree of a pattern of steps.

        Raises:
            PatternError: it is a MATCH_RECOGNIZE clause, which has no steps.
        """
        if isinstance(self.form, Query):
            message = "this is a MATCH_RECOGNIZE clause, which is not made of steps."
            raise PatternError([Problem("", message, "Change the text of the clause.")])
        return self.form

    @property
    def query(self) -> Query | None:
        """The MATCH_RECOGNIZE clause; `None` for a pattern of steps."""
        return self.form if isinstance(self.form, Query) else None

    @property
    def partition_by(self) -> tuple[str, ...]:
        """The columns of PARTITION BY of a clause; a pattern of steps has none."""
        return () if self.query is None else row_patterns.partition_columns(self.query)

    @property
    def step_names(self) -> tuple[str, ...]:
        """The names that the events of a match go by: of steps, or of variables."""
        if self.query is not None:
            return row_patterns.variables(self.query)
        return tuple(step.name for step in self.tree.steps())

    @classmethod
    def from_sql(cls, text: str, *, schema: Schema | None = None) -> Self:
        """Return the pattern that a MATCH_RECOGNIZE clause describes, validated.

        Args:
            text: the clause, or `SELECT * FROM stream MATCH_RECOGNIZE (...)`.
            schema: the columns of an event, which the clause must fit; `None` if unknown.

        Raises:
            PatternError: with every problem of the clause, each with line and column.
        """
        return cls(row_patterns.read_row_pattern(text)).validate(schema)

    # --- sequence

    @classmethod
    def begin(cls, first: "str | Pattern", *, skip: SkipStrategy | None = None) -> Self:
        """Return a pattern of one step, or of one group.

        Raises:
            PatternError: the group cannot be used as one.
        """
        pattern = cls(PatternTree(elements=(_element(first, None, "steps[0]"),)))
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
            both = conditions.both(step.where, conditions.condition_of(condition))
        return self._with_last(where=both)

    def or_where(self, condition: ConditionSource) -> Self:
        """Return the pattern whose last step takes events that meet this condition instead, too.

        Raises:
            PatternError: it is not SQL, or the last element is a group.
        """
        step = self._last_step("where")
        with self._locating("where"):
            either = conditions.either(step.where, conditions.condition_of(condition))
        return self._with_last(where=either)

    def until(self, condition: ConditionSource) -> Self:
        """Return the pattern whose last element stops looping at the first such event.

        Raises:
            PatternError: it is not SQL, the element does not loop or has an until.
        """
        if self._last.until is not None:
            raise self._error("until", "already given; only one applies.", "Join them with OR.")
        with self._locating("until"):
            until = conditions.condition_of(condition)
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

    # --- checking

    def validate(self, schema: Schema | None = None) -> Self:
        """Return the pattern itself once nothing is wrong with it.

        Args:
            schema: the columns of an event; with it conditions are checked to fit them.

        Raises:
            PatternError: a condition makes no sense, or Flink would refuse the pattern or,
                without `flink_quirks`, mangle it.
        """
        if self.query is not None:
            found = row_patterns.row_pattern_problems(self.query, schema)
        else:
            found = problems(self.tree, schema)
        if found:
            raise PatternError(found)
        return self

    def warnings(self) -> tuple[Problem, ...]:
        """Return what is allowed but rarely meant, such as a state that may grow for ever."""
        if self.query is not None:
            return row_patterns.row_pattern_warnings(self.query)
        return warnings(self.tree)

    # --- Python code

    def sign_code(
        self, keys: SigningKeys, modules: Sequence[ModuleType] = (), place: CodePlace | None = None
    ) -> Self:
        """Return the pattern with its Python callables signed, so that it can be a document.

        Args:
            keys: the newest signs.
            modules: modules the callables use that their readers do not have; they travel, too.
            place: the rule the pattern is of, which alone will accept it; `None` = any.

        Raises:
            PatternError: a callable cannot be pickled, is too large, or the key wants a place.
        """
        if self.query is not None:
            return self
        return type(self)(code.signed(self.tree, keys, modules, place))

    def load_code(self, keys: SigningKeys | None, place: CodePlace | None = None) -> Self:
        """Return the pattern with its signed code verified and loaded, so that it can run.

        Args:
            keys: one of them must have signed it.
            place: the rule the pattern is of; code for one rule is loaded for that only.

        Raises:
            PatternError: code is refused: signed with no key of these or for another rule, changed,
                of another Python.
        """
        if self.query is not None:
            return self
        return type(self)(code.loaded(self.tree, keys, place))

    # --- other forms

    @classmethod
    def from_document(
        cls,
        document: Mapping[str, Any],
        *,
        schema: Schema | None = None,
        flink_quirks: bool | None = None,
    ) -> Self:
        """Return the pattern a document describes, validated.

        Args:
            document: a parsed JSON or YAML document.
            schema: the columns of an event, which conditions must fit; `None` if unknown.
            flink_quirks: overrides the key of that name in the document.

        Raises:
            PatternError: with every problem of the document.
        """
        return cls(reading.read_document(document, schema=schema, flink_quirks=flink_quirks))

    @classmethod
    def from_yaml(cls, text: str, *, flink_quirks: bool | None = None) -> Self:
        """Return the pattern a YAML document describes, validated.

        Raises:
            PatternError: with every problem of the document, each with line and column.
        """
        return cls(reading.read_yaml(text, flink_quirks=flink_quirks))

    @classmethod
    def from_json(cls, text: str, *, flink_quirks: bool | None = None) -> Self:
        """Return the pattern a JSON document describes, validated.

        Raises:
            PatternError: with every problem of the document, each with line and column.
        """
        return cls(reading.read_json(text, flink_quirks=flink_quirks))

    def to_document(self) -> dict[str, Any]:
        """Return the document of this pattern; `from_document` makes an equal pattern of it.

        Raises:
            PatternError: the pattern holds Python code that is not signed.
        """
        return writing.document_of(self.form)

    def to_yaml(self) -> str:
        """Return the document of this pattern as YAML.

        Raises:
            PatternError: the pattern holds Python code that is not signed.
        """
        return writing.yaml_of(self.form)

    def to_json(self) -> str:
        """Return the document of this pattern as indented JSON.

        Raises:
            PatternError: the pattern holds Python code that is not signed.
        """
        return writing.json_of(self.form)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the pattern that `str(pattern)` printed.

        Nothing is evaluated: the text is read as a clause, or as a chain of known calls with
        literal arguments.

        Raises:
            PatternError: it is no such chain, or a call refuses; with line and column.
        """
        if text.lstrip()[:6].upper() in {"MATCH_", "SELECT"}:
            return cls.from_sql(text)
        chain = printed_reading.read_chain(text)
        pattern: Self = printed_reading.built(
            chain, {"Pattern": cls, "AfterMatchSkip": AfterMatchSkip}
        )
        return pattern

    def __str__(self) -> str:
        if self.query is not None:
            return written(self.query)
        return printed_writing.printed(self.tree)

    __repr__ = __str__

    # --- how a call makes the next pattern

    @property
    def _last(self) -> Step | Group:
        return self.tree.elements[-1]

    @property
    def _path(self) -> str:
        return f"steps[{len(self.tree.elements) - 1}]"

    def _last_step(self, key: str) -> Step:
        if isinstance(self._last, Step):
            return self._last
        raise self._error(key, f"a group has no {key}.", "Put it on a step in the group.")

    def _followed(self, following: "str | Pattern", contiguity: Contiguity) -> Self:
        elements = self.tree.elements
        path = f"steps[{len(elements)}]"
        element = _element(following, contiguity, path)
        _refuse(element_problems(element, self._last, path))
        return type(self)(replace(self.tree, elements=(*elements, element)))

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


def _refuse(found: Iterable[Problem]) -> None:
    if told := tuple(found):
        raise PatternError(told)
