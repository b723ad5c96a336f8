"""Numbers the conditions of a pattern and builds the guards of its transitions from them.

Source: Flink CEP `NFACompiler.getTakeCondition`, `getIgnoreCondition`, `extendWithUntilCondition`.
"""

from collections.abc import Iterator
from typing import overload

from cep.expression import Expression
from cep.nfa.compiler.cursor import Cursor
from cep.nfa.program import Always, Both, Guard, IsTrue, Not
from cep.pattern.tree import (
    AllOf,
    Condition,
    Contiguity,
    Element,
    Group,
    PythonCondition,
    Step,
    Subtype,
)


class Guards:
    """The guards of one pattern. Conditions are numbered in reading order, so shapes compare."""

    def __init__(self, elements: tuple[Step | Group, ...]) -> None:
        self._conditions: list[Condition] = []
        self._where: dict[int, Guard] = {}
        self._until: dict[int, Guard] = {}
        for element in _all_elements(elements):
            if isinstance(element, Step) and (condition := _step_condition(element)) is not None:
                self._where[id(element)] = self._number(condition)
            if element.until is not None:
                self._until[id(element)] = self._number(element.until)

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The conditions by number."""
        return tuple(self._conditions)

    def _number(self, condition: Condition) -> Guard:
        self._conditions.append(condition)
        return IsTrue(len(self._conditions) - 1)

    def until(self, element: Element) -> Guard | None:
        """Return the until condition of an element."""
        return self._until.get(id(element))

    def take(self, cursor: Cursor, element: Element) -> Guard:
        """Return when `element` accepts an event; never once the group around it is over."""
        return unless(cursor.group_until, self._where.get(id(element), Always()))

    def ignore(self, cursor: Cursor, contiguity: Contiguity) -> Guard | None:
        """Return when the element at `cursor` may leave an event out; `None` = never."""
        match contiguity:
            case Contiguity.FOLLOWED_BY:
                refused = Not(self._where.get(id(cursor.element), Always()))
                return unless(cursor.group_until, refused)
            case Contiguity.FOLLOWED_BY_ANY:
                return unless(cursor.group_until, Always())
            case _:
                return None


@overload
def unless(until: Guard | None, guard: Guard) -> Guard: ...
@overload
def unless(until: Guard | None, guard: Guard | None) -> Guard | None: ...
def unless(until: Guard | None, guard: Guard | None) -> Guard | None:
    """Return a guard that also asks that the until condition, if any, does not hold."""
    return guard if until is None or guard is None else Both(Not(until), guard)


def always(cursor: Cursor) -> Guard:
    """Return the guard of a way past an element: open until the group around it is over."""
    return unless(cursor.group_until, Always())


def _all_elements(elements: tuple[Step | Group, ...]) -> Iterator[Step | Group]:
    for element in elements:
        yield element
        if isinstance(element, Group):
            yield from _all_elements(element.elements)


def _step_condition(step: Step) -> Condition | None:
    if step.subtype is None:
        return step.where
    of_type = _subtype_condition(step.subtype)
    return of_type if step.where is None else AllOf((of_type, step.where))


def _subtype_condition(subtype: Subtype) -> Condition:
    python_type = subtype.python_type
    if python_type is not None:
        return PythonCondition(lambda event, _context: isinstance(event, python_type))
    name = subtype.name.replace("'", "''")
    return Expression.parse(f"`{subtype.field}` = '{name}'")
