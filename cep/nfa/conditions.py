"""Binds the conditions of patterns to a machine: tests on the event alone, and the rest.

Condition ──split──► event test (shared, evaluated once per event, columnar or scalar)
              └────► residual   (per partial match; reads aggregates kept on the cells)
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, assert_never

from cep.expression import (
    CompiledAggregate,
    Expression,
    FieldReader,
    Node,
    Schema,
    compile_aggregate,
    compile_predicate,
    resolve,
    split,
)
from cep.expression.rewrite import with_rule
from cep.nfa.compiler.compile import CompiledPattern
from cep.nfa.errors import CodeNotLoaded, ConditionFailed
from cep.nfa.runs import CELL_AGGREGATES, CELL_PREVIOUS, UNFOLDED, Cell, events_of_step
from cep.nfa.transition_table import Residual, ResidualSource, RuleCondition
from cep.pattern.tree import AllOf, AnyOf, Condition, PythonCondition, SignedCondition


class EventTests:
    """The distinct tests on the event alone, over all rules; a test's number is its index."""

    def __init__(self) -> None:
        self._numbers: dict[Node, int] = {}

    def number(self, node: Node) -> int:
        """Return the number of a test, a new one if it is not known yet."""
        return self._numbers.setdefault(node, len(self._numbers))

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All tests in the order of their numbers."""
        return tuple(self._numbers)


class Aggregates:
    """The distinct aggregates of one machine. Their running states live on the cells.

    An aggregate over n accepted events costs one fold per event, however many partial matches share
    them.
    """

    def __init__(self, field_reader: FieldReader) -> None:
        self._field_reader = field_reader
        self._slots: dict[tuple[int, Node], int] = {}
        self.compiled: list[tuple[int, CompiledAggregate]] = []

    def slot(self, step: int, aggregate: Node) -> int:
        """Return the slot of an aggregate over the events of one step."""
        key = (step, aggregate)
        if key not in self._slots:
            self._slots[key] = len(self.compiled)
            self.compiled.append((step, compile_aggregate(aggregate, self._field_reader)))
        return self._slots[key]

    def __len__(self) -> int:
        return len(self.compiled)

    def state(self, slot: int, cell: Cell | None) -> Any:
        """Return the running state of an aggregate up to a cell, folding what is not folded yet."""
        step, aggregate = self.compiled[slot]
        missing: list[Cell] = []
        state: Any = aggregate.initial
        while cell is not None:
            states = cell[CELL_AGGREGATES]
            if states is not None and states[slot] is not UNFOLDED:
                state = states[slot]
                break
            missing.append(cell)
            cell = cell[CELL_PREVIOUS]
        for _, taken_for, _, event, states in reversed(missing):
            if taken_for == step:
                state = aggregate.fold(state, event)
            if states is not None:
                states[slot] = state
        return state


class _AggregateValues:
    """The aggregates of one partial match, computed when read."""

    __slots__ = ("_aggregates", "_cell")

    def __init__(self, aggregates: Aggregates, cell: Cell | None) -> None:
        self._aggregates = aggregates
        self._cell = cell

    def __getitem__(self, slot: int) -> Any:
        _, aggregate = self._aggregates.compiled[slot]
        return aggregate.result(self._aggregates.state(slot, self._cell))


@dataclass(frozen=True, slots=True)
class ConditionContext:
    """What a Python condition may ask about the partial match it is tested for.

    `time_ms` is the event time of the event under test.
    """

    cell: Cell | None
    step_names: tuple[str, ...]
    time_ms: int
    event_view: Callable[[Any], Any]

    def events(self, step: str) -> list[Any]:
        """Return the events accepted so far for a step, in order; the event under test is not in.

        Raises:
            KeyError: the pattern has no such step.
        """
        if step not in self.step_names:
            known = ", ".join(self.step_names)
            raise KeyError(f"no step named {step!r}; the pattern has {known}")
        taken = events_of_step(self.cell, self.step_names.index(step))
        return [self.event_view(event) for event in taken]


CodeGuard = Callable[[str, str, Residual], Residual]
"""Wraps a test that runs Python code, given the rule and the text of the condition."""


class ConditionBinder:
    """Binds the conditions of one pattern after the other, sharing tests and aggregates.

    Args:
        tests: where tests on the event alone are numbered.
        aggregates: the aggregates of the machine the patterns will run in.
        field_reader: how to read a field of an event.
        schema: the columns of an event; `None` where only each event knows.
        event_view: what a Python condition is given for an event.
        guard: what tests that run Python code are wrapped in; `None` = nothing.
    """

    def __init__(  # noqa: PLR0913 - what all patterns share
        self,
        tests: EventTests,
        aggregates: Aggregates,
        field_reader: FieldReader,
        schema: Schema | None,
        event_view: Callable[[Any], Any],
        *,
        guard: CodeGuard | None = None,
    ) -> None:
        self._tests = tests
        self._aggregates = aggregates
        self._field_reader = field_reader
        self._schema = schema
        self._event_view = event_view
        self._guard = guard

    def bind(self, pattern: CompiledPattern, rule: str) -> list[RuleCondition]:
        """Return the conditions of one rule, in the order of the program."""
        return [self._bind(condition, pattern, rule) for condition in pattern.conditions]

    def bind_tests(self, tests: Sequence[Node]) -> list[RuleCondition]:
        """Return the conditions of one rule that look at the event alone, and are resolved."""
        return [RuleCondition(self._tests.number(test), None) for test in tests]

    def _bind(self, condition: Condition, pattern: CompiledPattern, rule: str) -> RuleCondition:
        source = None
        if isinstance(condition, Expression):
            root = with_rule(resolve(condition, pattern.step_names, self._schema), rule)
            parts = split(root)
            test = None if parts.event is None else self._tests.number(parts.event)
            residual = None
            if parts.residual is not None:
                residual = self._residual(parts.residual, pattern)
                source = ResidualSource(parts.residual, tuple(pattern.step_names), self._schema)
        else:
            test, residual = None, self._full(condition, pattern)
        if residual is not None:
            residual = _naming_failure(residual, rule, str(condition))
            if self._guard is not None and _runs_code(condition):
                residual = self._guard(rule, str(condition), residual)
        return RuleCondition(test, residual, source)

    def _full(self, condition: Condition, pattern: CompiledPattern) -> Residual:
        """The whole of a condition as a test for one partial match."""
        match condition:
            case Expression():
                node = resolve(condition, pattern.step_names, self._schema)
                return self._residual(node, pattern)
            case PythonCondition(function):
                return _python_condition(function, pattern.step_names, self._event_view)
            case SignedCondition(code):
                raise CodeNotLoaded(code.name)
            case AllOf(conditions) | AnyOf(conditions):
                tests = [self._full(inner, pattern) for inner in conditions]
                joined = all if isinstance(condition, AllOf) else any
                return lambda event, cell, time_ms: joined(
                    test(event, cell, time_ms) for test in tests
                )
        assert_never(condition)

    def _residual(self, node: Node, pattern: CompiledPattern) -> Residual:
        aggregates = self._aggregates
        predicate = compile_predicate(
            node,
            self._field_reader,
            lambda aggregate: aggregates.slot(pattern.step_names.index(aggregate.step), aggregate),
        )
        return lambda event, cell, _time_ms: predicate(event, _AggregateValues(aggregates, cell))


def _python_condition(
    function: Callable[[Any, Any], bool],
    step_names: Sequence[str],
    event_view: Callable[[Any], Any],
) -> Residual:
    names = tuple(step_names)

    def holds(event: Any, cell: Cell | None, time_ms: int) -> bool:
        answer: Any = function(
            event_view(event), ConditionContext(cell, names, time_ms, event_view)
        )
        return answer if answer is True or answer is False else _truth(answer)

    return holds


def _runs_code(condition: Condition) -> bool:
    match condition:
        case AllOf(conditions) | AnyOf(conditions):
            return any(map(_runs_code, conditions))
        case _:
            return isinstance(condition, PythonCondition)


def _truth(answer: Any) -> bool:
    """Return the truth value of numpy as one of Python; what is none is a mistake."""
    kind = type(answer)
    if kind.__module__ == "numpy" and kind.__name__ in {"bool", "bool_"}:
        return bool(answer)
    shown = f"{answer!r:.50}"
    raise TypeError(f"it returned {shown}; it must return True or False")


def _naming_failure(residual: Residual, rule: str, text: str) -> Residual:
    def test(event: Any, cell: Cell | None, time_ms: int) -> bool:
        try:
            return residual(event, cell, time_ms)
        except Exception as error:
            raise ConditionFailed(rule, text, error) from error

    return test
