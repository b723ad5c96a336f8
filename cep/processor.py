"""What is done with matches: process functions, and the PatternProcessor that carries one.

    Match | TimedOutMatch ──► PatternProcessFunction ──► outputs, side outputs

Source: Flink CEP `PatternProcessFunction`, `TimedOutPartialMatchHandler`, `PatternStream.select`;
FLIP-200 `PatternProcessor`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from cep.expression import (
    Aggregate,
    AggregateFunction,
    CompiledAggregate,
    Expression,
    ExpressionError,
    Field,
    Node,
    aggregates_of,
    check,
    compile_aggregate,
    compile_scalar,
    mapping_reader,
    resolve,
)
from cep.expression.parameters import constants_of
from cep.pattern import Pattern
from cep.pattern.conditions import takes

Steps = Mapping[str, Sequence[Any]]
"""The events of a match by step name, in order of acceptance."""


@dataclass(frozen=True, slots=True)
class Output:
    """One value a process function gave out; `tag` names a side output, `None` is the main one."""

    value: Any
    tag: str | None = None

    def __post_init__(self) -> None:
        if self.tag is None:
            return
        if not isinstance(self.tag, str):
            raise TypeError(f"the tag of a side output is a text, not {type(self.tag).__name__}")
        self.tag.encode()  # refuses halves of surrogate pairs, which no output can write


@dataclass(slots=True)
class ProcessContext:
    """What a process function may ask, and where it sends side outputs.

    `event_time_ms` is the event time at which the match was found or timed out,
    `processing_time_ms` the wall clock, both in milliseconds since 1970-01-01 UTC.
    """

    event_time_ms: int
    processing_time_ms: int
    side_outputs: list[Output] = field(default_factory=list)

    def output(self, tag: str, value: Any) -> None:
        """Send a value to the side output of this name."""
        self.side_outputs.append(Output(value, tag))


class PatternProcessFunction(ABC):
    """Turns each match into any number of outputs.

    A class that takes timeouts says so by its base classes, else Python refuses it with TypeError:
    without that it would never see one.
    """

    def __init_subclass__(cls, **more: Any) -> None:
        """Check that what is written for timeouts is asked for."""
        super().__init_subclass__(**more)
        if hasattr(cls, "process_timed_out_match") and not issubclass(
            cls, TimedOutPartialMatchHandler
        ):
            raise TypeError(
                f"{cls.__name__} has process_timed_out_match and is no TimedOutPartialMatchHandler,"
                f" so no timeout would come to it; write class {cls.__name__}("
                "PatternProcessFunction, TimedOutPartialMatchHandler)"
            )

    @abstractmethod
    def process_match(self, match: Steps, context: ProcessContext) -> Iterable[Any] | None:
        """Return (or yield) the outputs of one match; `None` for none."""


class TimedOutPartialMatchHandler(ABC):
    """Mixin of a `PatternProcessFunction` that wants partial matches which ran out of time, too."""

    @abstractmethod
    def process_timed_out_match(self, match: Steps, context: ProcessContext) -> None:
        """Take one timed-out partial match; outputs go to side outputs only (`context.output`)."""


class MatchResult(Protocol):
    """What was found: a match or a timed-out partial match, of a list, a stream or a frame."""

    @property
    def steps(self) -> Steps:
        """The accepted events by step name."""

    @property
    def time_ms(self) -> int:
        """The event time at which it was found."""

    @property
    def is_timeout(self) -> bool:
        """Whether it is a partial match that ran out of time."""


def process(
    function: PatternProcessFunction, found: MatchResult, *, processing_time_ms: int
) -> Iterator[Output]:
    """Run a process function on a match or timed-out partial match; yield its outputs.

    Outputs come first, then side outputs. A timed-out partial match gives nothing if the function
    does not handle them.

    Raises:
        TypeError: it returned one value where it should return, or yield, any number of them.
    """
    context = ProcessContext(found.time_ms, processing_time_ms)
    if not found.is_timeout:
        returned = function.process_match(found.steps, context)
        for value in _outputs(returned, f"process_match of {type(function).__name__}"):
            yield Output(value)
    elif isinstance(function, TimedOutPartialMatchHandler):
        function.process_timed_out_match(found.steps, context)
    yield from context.side_outputs


def _outputs(returned: Iterable[Any] | None, function: str) -> Iterable[Any]:
    """Return the outputs a function returned; one text or mapping would be its letters or keys."""
    if returned is None:
        return ()
    if isinstance(returned, str | bytes | bytearray | Mapping) or not isinstance(
        returned, Iterable
    ):
        raise TypeError(
            f"{function} returned one {type(returned).__name__} instead of its outputs; "
            "write `yield value`, or return a list: [value]"
        )
    return returned


def _check_arguments(function: Callable[..., Any], *names: str) -> None:
    if not takes(function, len(names)):
        raise TypeError(
            f"{function!r} cannot be called with {len(names)} "
            f"{'argument' if len(names) == 1 else 'arguments'}: ({', '.join(names)})"
        )


@dataclass(frozen=True, slots=True)
class _Select(PatternProcessFunction):
    function: Callable[[Steps], Any]

    def process_match(self, match: Steps, context: ProcessContext) -> Iterable[Any]:
        del context
        return (self.function(match),)


@dataclass(frozen=True, slots=True)
class _FlatSelect(PatternProcessFunction):
    function: Callable[[Steps], Iterable[Any]]

    def process_match(self, match: Steps, context: ProcessContext) -> Iterable[Any]:
        del context
        return _outputs(self.function(match), "the function of flat_select")


@dataclass(frozen=True, slots=True)
class _WithTimeouts(PatternProcessFunction, TimedOutPartialMatchHandler):
    function: PatternProcessFunction
    tag: str
    on_timeout: Callable[[Steps, int], Iterable[Any]]

    def process_match(self, match: Steps, context: ProcessContext) -> Iterable[Any] | None:
        return self.function.process_match(match, context)

    def process_timed_out_match(self, match: Steps, context: ProcessContext) -> None:
        given = self.on_timeout(match, context.event_time_ms)
        for value in _outputs(given, "on_timeout of flat_select"):
            context.output(self.tag, value)


def select(
    function: Callable[[Steps], Any],
    *,
    timeout_tag: str | None = None,
    on_timeout: Callable[[Steps, int], Any] | None = None,
) -> PatternProcessFunction:
    """Return a process function with one output per match.

    Args:
        function: from the match to its output.
        timeout_tag: side output for timed-out partial matches.
        on_timeout: from a timed-out partial match and its time in milliseconds to that output.

    Raises:
        TypeError: a function cannot be called with these arguments.
        ValueError: one of `timeout_tag` and `on_timeout` is missing.
    """
    _check_arguments(function, "match")
    if on_timeout is None:
        return _with_timeouts(_Select(function), timeout_tag, None)
    single = on_timeout
    _check_arguments(single, "match", "time_ms")
    return _with_timeouts(
        _Select(function), timeout_tag, lambda match, time_ms: (single(match, time_ms),)
    )


def flat_select(
    function: Callable[[Steps], Iterable[Any]],
    *,
    timeout_tag: str | None = None,
    on_timeout: Callable[[Steps, int], Iterable[Any]] | None = None,
) -> PatternProcessFunction:
    """Return a process function with any number of outputs per match; else as `select`."""
    _check_arguments(function, "match")
    if on_timeout is not None:
        _check_arguments(on_timeout, "match", "time_ms")
    return _with_timeouts(_FlatSelect(function), timeout_tag, on_timeout)


def _with_timeouts(
    function: PatternProcessFunction,
    tag: str | None,
    on_timeout: Callable[[Steps, int], Iterable[Any]] | None,
) -> PatternProcessFunction:
    if (tag is None) != (on_timeout is None):
        raise ValueError("timeout_tag and on_timeout belong together; give both or none")
    if tag is None or on_timeout is None:
        return function
    return _WithTimeouts(function, tag, on_timeout)


@dataclass(frozen=True, slots=True)
class SelectedField:
    """An output that is a column of one event: of the first or the last of a step."""

    name: str
    step: str
    column: str
    is_first: bool


class SelectExpressions(PatternProcessFunction):
    """Declarative output: named SQL expressions over the match, like MEASURES of MATCH_RECOGNIZE.

    `fail.user` is the field of the last event of step `fail`; `FIRST`, `LAST`, `SUM`, `AVG`, `MIN`,
    `MAX` and `COUNT` range over all events of a step. Each match gives one mapping.

    Args:
        columns: expression text by output name, in order.
        pattern: the pattern whose steps the expressions name.

    Raises:
        ExpressionError: a column is not a valid expression, or names no step that accepts events.

    `written` is the same text for all that give the same rows; empty of one that an older version
    has pickled. `fields` are all outputs, if each is a column of one event; else `None`.

    Source: ISO 9075-2, MATCH_RECOGNIZE, the MEASURES clause.
    """

    written: str = ""
    fields: tuple[SelectedField, ...] | None = None

    def __init__(self, columns: Mapping[str, str], pattern: Pattern) -> None:
        steps = pattern.step_names
        if pattern.query is None:
            steps = tuple(step.name for step in pattern.tree.steps() if not step.is_negative)
        constants = constants_of(pattern.parameters)
        expressions = {name: Expression.parse(text, constants) for name, text in columns.items()}
        for expression in expressions.values():
            for problem in check(expression, schema=None, steps=steps, allow_columns=False):
                raise ExpressionError(problem)
        nodes = {name: resolve(expression, steps) for name, expression in expressions.items()}
        # By their text: numbers of different types may be equal.
        self.written = repr(nodes)
        self.fields = _fields(nodes)
        self._aggregates: list[Callable[[Steps], Any]] = []
        self._columns = {}
        slots: dict[Node, int] = {}
        for name, node in nodes.items():
            for aggregate in aggregates_of(node):
                if aggregate not in slots:
                    slots[aggregate] = len(self._aggregates)
                    self._aggregates.append(_over_match(aggregate))
            self._columns[name] = compile_scalar(node, mapping_reader, slots.__getitem__)

    def process_match(self, match: Steps, context: ProcessContext) -> Iterable[dict[str, Any]]:
        """Return the one output row of a match."""
        del context
        return (self.row(match),)

    def row(self, match: Steps) -> dict[str, Any]:
        """Return the output row of a match."""
        values = [value(match) for value in self._aggregates]
        return {name: column({}, values) for name, column in self._columns.items()}


def _fields(nodes: Mapping[str, Node]) -> tuple[SelectedField, ...] | None:
    """Return outputs that are columns of one event each; `None` if others are among them."""
    found = []
    for name, node in nodes.items():
        match node:
            case Aggregate(AggregateFunction.FIRST, step, Field((column,))):
                found.append(SelectedField(name, step, column, is_first=True))
            case Aggregate(AggregateFunction.LAST, step, Field((column,))):
                found.append(SelectedField(name, step, column, is_first=False))
            case _:
                return None
    return tuple(found)


def _over_match(aggregate: Aggregate) -> Callable[[Steps], Any]:
    """Return what works out an aggregate over the events of a match."""
    match aggregate:
        case Aggregate(AggregateFunction.FIRST, step, Field(path)):
            return _at(0, step, mapping_reader(path))
        case Aggregate(AggregateFunction.LAST, step, Field(path)):
            return _at(-1, step, mapping_reader(path))
        case _:
            return _folded(compile_aggregate(aggregate, mapping_reader))


def _at(place: int, step: str, read: Callable[[Any], Any]) -> Callable[[Steps], Any]:
    """Return what reads a field of one event of a step, the usual case; without any it is NULL."""

    def value(match: Steps) -> Any:
        events = match.get(step)
        return read(events[place]) if events else None

    return value


def _folded(aggregate: CompiledAggregate) -> Callable[[Steps], Any]:
    def value(match: Steps) -> Any:
        state = aggregate.initial
        for event in match.get(aggregate.step, ()):
            state = aggregate.fold(state, event)
        return aggregate.result(state)

    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternProcessor:
    """A pattern with all that is needed to run it on a stream.

    `key_by` holds columns or expressions, `None` means one global key. `effective_from_ms` is the
    event time from which it applies, `None` = immediately.

    Source: FLIP-200, interface PatternProcessor.
    """

    id: str
    version: int
    pattern: Pattern
    function: PatternProcessFunction
    key_by: tuple[str, ...] | None = None
    effective_from_ms: int | None = None
