"""The parts of a row pattern that goes one way, one for each step of the pattern to be.

    RowPattern ──► items: a variable, how often, which rows are skipped ──to_pattern──► steps

`{- X* -} A` is one item, and so is `A {- X*? -} A {- X*? -} A`: three of A.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cep.expression import Expression
from cep.expression.tree import Literal
from cep.pattern.tree import Times
from cep.row_pattern.clause import (
    Alternation,
    Clause,
    Concatenation,
    Exclusion,
    PartitionEnd,
    PartitionStart,
    Permutation,
    Repetition,
    RowPattern,
    Variable,
    walk,
)
from cep.row_pattern.writing import pattern_text
from cep.translation.conditions import expression_of
from cep.translation.refusals import NotExact


@dataclass(frozen=True, slots=True)
class Passed:
    """Rows that are skipped: `{- X* -}`, or `{- X*? -}` if it `is_reluctant`.

    `condition` is that of X; `None` = any row.
    """

    variable: str
    condition: Expression | None
    is_reluctant: bool

    @property
    def is_any(self) -> bool:
        """Whether every row may be skipped."""
        return self.condition is None

    def is_like(self, other: "Passed | None") -> bool:
        """Whether the same rows are skipped in the same way."""
        if other is None or self.condition != other.condition:
            return False
        return not self.is_any or self.is_reluctant == other.is_reluctant


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One step to be: the variable, how often, and what is skipped.

    `gap` is skipped in front of its first row, `between` in front of every other one.
    """

    name: str
    condition: Expression | None
    times: Times | None = None
    gap: Passed | None = None
    between: Passed | None = None
    is_optional: bool = False
    is_reluctant: bool = True

    @property
    def count(self) -> int | None:
        """How many rows it has; `None` where that is not fixed."""
        if self.times is None:
            return None if self.is_optional else 1
        is_fixed = self.times.minimum == self.times.maximum and not self.is_optional
        return self.times.minimum if is_fixed else None

    @property
    def passes_any(self) -> bool:
        """Whether any rows may be skipped, in front of it or between its rows."""
        return any(passed is not None and passed.is_any for passed in (self.gap, self.between))


def items_of(clause: Clause, variables: tuple[str, ...]) -> list[Item]:
    """Return the parts of the pattern of a clause, in order; variables are folded primary ones.

    Raises:
        NotExact: there is something in it that no step can be.
    """
    return _Reader(clause, variables).items(_flat(clause.pattern))


def _flat(pattern: RowPattern) -> tuple[RowPattern, ...]:
    if isinstance(pattern, Concatenation):
        return tuple(part for each in pattern.parts for part in _flat(each))
    return (pattern,)


class _Reader:
    """Reads the parts of a concatenation."""

    def __init__(self, clause: Clause, variables: tuple[str, ...]) -> None:
        self._variables = variables
        self._definitions = {d.variable.folded: d.condition for d in clause.definitions}

    def items(self, parts: Sequence[RowPattern]) -> list[Item]:
        items: list[Item] = []
        gap: Passed | None = None
        for place, part in enumerate(parts):
            if place + 1 < len(parts) and (passed := self._passed(part)) is not None:
                if gap is not None or not items:
                    raise _refusal(part, "there is no step in front of the rows it leaves out")
                gap = passed
                continue
            if gap is None and (others := self._others_of(part, items)) is not None:
                items[-1] = others
                continue
            item = replace(self._item(part), gap=gap)
            gap = None
            if items and item.name == items[-1].name:
                items[-1] = _one_more(items[-1], item)
                continue
            if any(item.name == other.name for other in items):
                raise NotExact(f"{item.name} stands in the pattern twice; a step has one place")
            if item.gap is not None and item.gap.is_any:
                item = replace(item, is_reluctant=item.gap.is_reluctant)
            items.append(item)
        if gap is not None:
            raise NotExact(f"rows of {gap.variable} may end a match; a pattern ends with a step")
        if not items:
            raise NotExact("the pattern is empty: it matches no rows")
        return items

    def _condition(self, variable: str) -> Expression | None:
        """Return the condition of a variable; `None` if it is always true."""
        scalar = self._definitions.get(variable)
        if scalar is None:
            return None
        expression = expression_of(scalar, variable, self._variables)
        return None if expression.root == Literal(True) else expression  # noqa: FBT003

    def _passed(self, part: RowPattern) -> Passed | None:
        match part:
            case Exclusion(
                inner=Repetition(inner=Variable(name=name), minimum=0, maximum=None) as loop
            ):
                condition = self._condition(name.folded)
                return Passed(name.folded, condition, loop.is_reluctant)
            case _:
                return None

    def _others_of(self, part: RowPattern, items: list[Item]) -> Item | None:
        """Return the item in front with `({- X* -} A){n,m}` after it, which repeats it."""
        match part:
            case Repetition(
                inner=Concatenation(parts=(passed, Variable(name=name))),
                minimum=minimum,
                maximum=maximum,
                is_reluctant=is_reluctant,
            ) if items and items[-1].name == name.folded and items[-1].times is None:
                gap = self._passed(passed)
                if gap is None:
                    return None
                most = None if maximum is None else maximum + 1
                times = Times(minimum + 1, most)
                is_reluctant |= minimum == maximum
                return replace(items[-1], times=times, between=gap, is_reluctant=is_reluctant)
            case _:
                return None

    def _item(self, part: RowPattern) -> Item:
        match part:
            case Variable(name=name):
                return Item(name=name.folded, condition=self._condition(name.folded))
            case Repetition(inner=Variable(name=name), minimum=minimum, maximum=maximum):
                item = Item(
                    name=name.folded,
                    condition=self._condition(name.folded),
                    is_optional=minimum == 0,
                    is_reluctant=part.is_reluctant or minimum == maximum,
                )
                if maximum == 1:
                    return item
                return replace(item, times=Times(max(minimum, 1), maximum))
            case _:
                raise _refusal(part, _reason(part))


def _one_more(before: Item, item: Item) -> Item:
    """Return an item with the same variable once more after it."""
    count = before.count
    passes_alike = (
        count == 1
        or (item.gap is None and before.between is None)
        or (item.gap is not None and item.gap.is_like(before.between))
    )
    if count is None or item.count != 1 or not passes_alike:
        raise NotExact(f"{item.name} stands in the pattern twice; a step has one place")
    return replace(before, times=Times(count + 1, count + 1), between=item.gap)


def _reason(part: RowPattern) -> str:
    for found in walk(part):
        match found:
            case Alternation():
                return "a pattern has no alternatives"
            case Permutation():
                return "a pattern has no permutations"
            case PartitionStart() | PartitionEnd():
                return "a stream has no first or last row of a partition"
            case Exclusion():
                return "a match of a pattern has all events that were taken"
            case _:
                continue
    return "a group that repeats is not translated"


def _refusal(part: RowPattern, reason: str) -> NotExact:
    return NotExact(f"{pattern_text(part)} has no counterpart: {reason}")
