"""Which parts of a step's condition an event did not meet, after what a partial match has taken.

condition ──AND──► parts ──event, events taken──► those that were not true, and what they read

Of a part in Python, or one of several of which some are, its name is reported, and no values.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from cep.expression import (
    EvaluationError,
    Expression,
    ExpressionError,
    Node,
    aggregates_of,
    columns_of,
    compile_aggregate,
    compile_predicate,
    conjuncts,
    resolve,
    short_sql,
    to_sql,
)
from cep.expression.parameters import display_text
from cep.pattern.tree import AllOf, AnyOf, Condition, PythonCondition, Step
from cep.row_pattern.bound import BoundClause, BoundExpression
from cep.trials.events import TimedEvent, code_view, column_reader
from cep.trials.plain_values import plain
from cep.trials.reports import UnmetPart
from cep.trials.rule import Rule
from cep.windows.columns import WindowColumns

_MOST_BRACKETS: Final = 4

Taken = Mapping[str, Sequence[TimedEvent]]
"""The events that a partial match has taken, by step."""


class ConditionPart:
    """One of what must all hold for a step to take an event.

    `node` is its tree, names resolved; it may read other rows, in a way not distinguished here.
    """

    def __init__(self, text: str, node: Node, *, reads_rows: bool = False) -> None:
        self.text = text
        self.reads_rows = reads_rows
        self.columns = sorted(columns_of(node))
        slots = {each: number for number, each in enumerate(aggregates_of(node))}
        self._aggregates = []
        if not reads_rows:
            self._aggregates = [(to_sql(e), compile_aggregate(e, column_reader)) for e in slots]
            self._holds = compile_predicate(node, column_reader, lambda each: slots[each])

    def unmet(self, event: TimedEvent, taken: Taken) -> UnmetPart | None:
        """Return what an event gives to it, `None` if it holds."""
        values = []
        for _, aggregate in self._aggregates:
            state = aggregate.initial
            for each in taken.get(aggregate.step, ()):
                state = aggregate.fold(state, each)
            values.append(aggregate.result(state))
        try:
            if not self.reads_rows and self._holds(event, values):
                return None
        except EvaluationError:  # values of two kinds: it holds for none of them
            pass
        found = event.columns | event.windows
        read = {name: plain(found.get(name)) for name in self.columns}
        names = (name for name, _ in self._aggregates)
        return UnmetPart(
            text=self.text, values=read | dict(zip(names, map(plain, values), strict=True))
        )


@dataclass(frozen=True, slots=True)
class _TakenContext:
    """What a Python condition may ask about a partial match; see `ConditionContext`."""

    taken: Taken
    step_names: tuple[str, ...]
    time_ms: int
    view: Callable[[TimedEvent], Any]

    def events(self, step: str) -> list[Any]:
        if step not in self.step_names:
            raise KeyError(step)
        return [self.view(event) for event in self.taken.get(step, ())]


class CodePart:
    """One of what must all hold that is in Python, or is so in part.

    `holds` says whether it does for an event, after what has been taken.
    """

    reads_rows = False
    columns: tuple[str, ...] = ()

    def __init__(self, text: str, holds: Callable[[TimedEvent, Taken], bool]) -> None:
        self.text = text
        self._holds = holds

    def unmet(self, event: TimedEvent, taken: Taken) -> UnmetPart | None:
        """Return its name if an event does not meet it; what raises does not hold."""
        with suppress(Exception):
            if self._holds(event, taken):
                return None
        return UnmetPart(text=self.text, values={})


@dataclass(frozen=True, slots=True)
class StepCondition:
    """The condition of a step: its whole text, empty if it takes every event, and its parts."""

    text: str
    parts: tuple[ConditionPart | CodePart, ...]

    @property
    def columns(self) -> set[str]:
        """The columns that it reads of the event."""
        return {name for part in self.parts for name in part.columns}

    def unmet(self, event: TimedEvent, taken: Taken) -> list[UnmetPart]:
        """Return the parts that an event does not meet; those that read other rows come last.

        What reads other rows is reported only if all else holds: it may then be what failed.
        """
        found = [part.unmet(event, taken) for part in self.parts if not part.reads_rows]
        if not any(found):
            found = [part.unmet(event, taken) for part in self.parts if part.reads_rows]
        return [each for each in found if each is not None]


def step_conditions(rule: Rule) -> dict[str, StepCondition]:
    """Return the conditions of the steps of a pattern, by the name that matches give a step."""
    names = rule.pattern.step_names
    found: dict[str, StepCondition] = {}
    for step in rule.pattern.tree.steps():
        parts = tuple(_parts_of_step(step, names, rule))
        text = " AND ".join(part.text for part in parts)
        found.setdefault(step.name.partition(":")[0], StepCondition(text, parts))
    return found


def row_conditions(clause: BoundClause) -> dict[str, StepCondition]:
    """Return the conditions of the variables of a clause."""
    return {
        name: StepCondition("", ())
        if condition is None
        else StepCondition(condition.text, tuple(_parts_of_row(condition)))
        for name, condition in zip(clause.variables, clause.conditions, strict=True)
    }


def _parts_of_step(
    step: Step, names: Sequence[str], rule: Rule
) -> Iterator[ConditionPart | CodePart]:
    if step.subtype is not None:
        name = step.subtype.name.replace("'", "''")
        expression = Expression.parse(f"`{step.subtype.field}` = '{name}'")
        yield ConditionPart(f"{step.subtype.field} = '{name}'", expression.root)
    yield from _parts_of(step.where, names, rule)


def _parts_of(
    condition: Condition | None, names: Sequence[str], rule: Rule
) -> Iterator[ConditionPart | CodePart]:
    match condition:
        case Expression():
            written = list(conjuncts(condition.root))
            read = list(conjuncts(resolve(condition, names, rule.schema)))
            for spelled, node in zip(written, read, strict=True):
                part = WindowColumns.of([node]).replaced(node)
                yield ConditionPart(_text(condition, spelled), part)
        case AllOf(conditions=conditions):
            for each in conditions:
                yield from _parts_of(each, names, rule)
        case AnyOf(conditions=conditions):
            choices = [list(_parts_of(each, names, rule)) for each in conditions]
            text = " OR ".join(f"({' AND '.join(p.text for p in parts)})" for parts in choices)
            yield CodePart(text, partial(_holds_for_one, choices))
        case PythonCondition(function):
            view = code_view(rule.schema)
            holds = partial(_code_holds, function, tuple(names), view)
            yield CodePart(f"{condition} (Python)", holds)
        case _:
            return


def _holds_for_one(
    choices: Sequence[Sequence[ConditionPart | CodePart]], event: TimedEvent, taken: Taken
) -> bool:
    return any(not any(part.unmet(event, taken) for part in parts) for parts in choices)


def _code_holds(
    function: Callable[[Any, Any], bool],
    names: tuple[str, ...],
    view: Callable[[TimedEvent], Any],
    event: TimedEvent,
    taken: Taken,
) -> bool:
    return bool(function(view(event), _TakenContext(taken, names, event.time_ms, view)))


def _parts_of_row(condition: BoundExpression) -> Iterator[ConditionPart]:
    for node in conjuncts(condition.node):
        reads_rows = bool(aggregates_of(node))
        # Its references to other rows have no text of their own.
        text = condition.text if reads_rows else short_sql(node)
        yield ConditionPart(" ".join(text.split()), node, reads_rows=reads_rows)


def _text(whole: Expression, node: Node) -> str:
    """Return a part of a condition as it was written; spans may end before a closing bracket.

    The values of parameters stand after it.
    """
    begin, end = node.span
    constants = dict(whole.parameters)
    for text in (whole.text[begin : end + more] for more in range(_MOST_BRACKETS)):
        with suppress(ExpressionError):
            part = Expression.parse(text, constants)
            if end > begin and part.root == node:
                return " ".join(text.split()) + _values(part)
    return short_sql(node)


def _values(part: Expression) -> str:
    """Return the values of the parameters that a part of a condition names."""
    values = ", ".join(f":{name} = {display_text(value)}" for name, value in part.parameters)
    return f" ({values})" if values else ""
