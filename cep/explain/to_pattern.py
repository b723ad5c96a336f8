"""A clause of MATCH_RECOGNIZE → the pattern that finds the same, where there is one.

    Clause ──► steps ──one_way──► PatternTree

Of the clause only what finds rows is translated: PATTERN, DEFINE, WITHIN, AFTER MATCH SKIP. What it
outputs becomes `select` of a rule, PARTITION BY its key, ORDER BY the event time of its stream.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from cep.explain.conditions import expression_of
from cep.explain.one_way import sequence_of
from cep.explain.refusals import NotExact
from cep.expression import Aggregate, Expression, Field
from cep.expression.tree import IsTruth, Literal, Not
from cep.expression.tree import walk as walk_expression
from cep.pattern.tree import (
    Contiguity,
    InnerContiguity,
    PatternTree,
    SkipKind,
    SkipStrategy,
    Step,
    Times,
    Window,
)
from cep.row_pattern.analysis.analyse import analyse
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
    SkipTo,
    Variable,
    walk,
)
from cep.row_pattern.writing import pattern_text

_SKIPS: Final = {
    SkipTo.NEXT_ROW: SkipKind.NO_SKIP,
    SkipTo.PAST_LAST_ROW: SkipKind.SKIP_PAST_LAST_EVENT,
    SkipTo.FIRST: SkipKind.SKIP_TO_FIRST,
    SkipTo.LAST: SkipKind.SKIP_TO_LAST,
}


def pattern_of(clause: Clause) -> PatternTree:
    """Return the pattern that finds the rows of a clause, each under its variable.

    Raises:
        NotExact: there is no such pattern, and why.
        ClauseError: the clause breaks a rule of its own language.
    """
    bound = analyse(clause, None)
    if any(is_descending for _, is_descending in bound.order_by):
        raise NotExact("ORDER BY is descending; events are in order of time")
    reader = _Items(clause, bound.variables)
    items = reader.items(_flat(clause.pattern))
    steps = _Steps(reader, bound.variables).steps(items)
    tree = PatternTree(elements=steps, after_match_skip=_skip(clause, bound.variables))
    if clause.within_ms is not None:
        last = replace(tree.elements[-1], within=(Window(clause.within_ms),))
        tree = replace(tree, elements=(*tree.elements[:-1], last))
    return _preferred(tree, items, clause)


def _skip(clause: Clause, variables: tuple[str, ...]) -> SkipStrategy:
    name = clause.skip.variable
    if name is not None and name.folded not in variables:
        raise NotExact(f"{name.folded} to skip to is a SUBSET; a pattern has none")
    return SkipStrategy(_SKIPS[clause.skip.to], None if name is None else name.folded)


def _preferred(tree: PatternTree, items: "Sequence[_Item]", clause: Clause) -> PatternTree:
    """Return the pattern once it is sure that it finds the preferred match and no other.

    Raises:
        NotExact: it would find others.
    """
    to_next = replace(tree, after_match_skip=SkipStrategy(SkipKind.SKIP_TO_NEXT))
    is_to_next = clause.skip.to is SkipTo.NEXT_ROW
    sequence = sequence_of(to_next if is_to_next else tree)
    if sequence.open_part is None:
        return tree
    item = items[sequence.open_part]
    if not item.is_reluctant:
        raise NotExact(
            f"{item.name} is greedy, and a row of it can be one of what is behind it as well: SQL "
            "prefers the longest match, a pattern finds the one that ends first",
            f"Write it reluctant ({item.name}+?), or make the conditions exclude each other.",
        )
    return to_next if is_to_next else tree


# Row pattern → steps


@dataclass(frozen=True, slots=True, kw_only=True)
class _Item:
    """One step to be: the variable, how often, and what is passed over in front of it.

    `gap` and `between` are variables of rows that are passed over.
    """

    name: str
    condition: Expression | None
    times: Times | None = None
    gap: str | None = None
    between: str | None = None
    is_optional: bool = False
    is_reluctant: bool = True


def _flat(pattern: RowPattern) -> tuple[RowPattern, ...]:
    if isinstance(pattern, Concatenation):
        return tuple(part for each in pattern.parts for part in _flat(each))
    return (pattern,)


class _Items:
    """Reads the parts of a concatenation."""

    def __init__(self, clause: Clause, variables: tuple[str, ...]) -> None:
        self._variables = variables
        self._clause = clause
        self._definitions = {d.variable.folded: d.condition for d in clause.definitions}

    def items(self, parts: tuple[RowPattern, ...]) -> list[_Item]:
        items: list[_Item] = []
        gap: tuple[str, bool] | None = None
        for place, part in enumerate(parts):
            if (passed := self._passed(part, place, parts)) is not None:
                if gap is not None or not items:
                    raise _refusal(part, "there is no step in front of the rows it leaves out")
                gap = passed
                continue
            if (others := self._others_of(part, items)) is not None:
                items[-1] = others
                continue
            item = self._item(part)
            if any(item.name == other.name for other in items):
                raise NotExact(f"{item.name} stands in the pattern twice; a step has one place")
            if gap is not None:
                item = replace(item, gap=gap[0])
                if self._is_any(gap[0]):
                    item = replace(item, is_reluctant=gap[1])
                gap = None
            items.append(item)
        if gap is not None:
            raise NotExact(f"rows of {gap[0]} may end a match; a pattern ends with a step")
        if not items:
            raise NotExact("the pattern is empty: it matches no rows")
        return items

    def _is_any(self, variable: str) -> bool:
        return variable not in self._definitions

    def condition(self, variable: str) -> Expression | None:
        """Return the condition of a variable; `None` if it is always true."""
        scalar = self._definitions.get(variable)
        if scalar is None:
            return None
        expression = expression_of(scalar, variable, self._variables)
        return None if expression.root == Literal(True) else expression  # noqa: FBT003

    def _passed(
        self, part: RowPattern, place: int, parts: tuple[RowPattern, ...]
    ) -> tuple[str, bool] | None:
        """Return the variable of `{- X* -}` in front of a step, and whether it is reluctant."""
        match part:
            case Exclusion(
                inner=Repetition(inner=Variable(name=name), minimum=0, maximum=None) as loop
            ) if place + 1 < len(parts):
                return name.folded, loop.is_reluctant
            case _:
                return None

    def _others_of(self, part: RowPattern, items: list[_Item]) -> _Item | None:
        """Return the item in front with `({- X* -} A){n,m}` behind it, which repeats it."""
        match part:
            case Repetition(
                inner=Concatenation(parts=(passed, Variable(name=name))),
                minimum=minimum,
                maximum=maximum,
                is_reluctant=is_reluctant,
            ) if items and items[-1].name == name.folded and items[-1].times is None:
                gap = self._passed(passed, 0, (passed, part))
                if gap is None:
                    return None
                if self._is_any(gap[0]):
                    raise NotExact(f"rows of any kind between those of {name.folded} are left out")
                most = None if maximum is None else maximum + 1
                times = Times(minimum + 1, most)
                is_reluctant |= minimum == maximum
                return replace(items[-1], times=times, between=gap[0], is_reluctant=is_reluctant)
            case _:
                return None

    def _item(self, part: RowPattern) -> _Item:
        match part:
            case Variable(name=name):
                return _Item(name=name.folded, condition=self.condition(name.folded))
            case Repetition(inner=Variable(name=name), minimum=minimum, maximum=maximum):
                item = _Item(
                    name=name.folded,
                    condition=self.condition(name.folded),
                    is_optional=minimum == 0,
                    is_reluctant=part.is_reluctant or minimum == maximum,
                )
                if maximum == 1:
                    return item
                return replace(item, times=Times(max(minimum, 1), maximum))
            case _:
                raise _refusal(part, _reason(part))


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


# What is passed over


class _Steps:
    """Makes the steps, once it is sure what the variables between them stand for."""

    def __init__(self, items: "_Items", variables: tuple[str, ...]) -> None:
        self._items = items
        self._variables = variables

    def steps(self, items: Sequence[_Item]) -> tuple[Step, ...]:
        names = {item.name for item in items}
        for item in items:
            self._check_reads(item, names)
        return tuple(self._step(item, is_first=not place) for place, item in enumerate(items))

    def _step(self, item: _Item, *, is_first: bool) -> Step:
        contiguity = None if is_first else Contiguity.NEXT
        if item.gap is not None:
            contiguity = Contiguity.FOLLOWED_BY_ANY
            if self._items.condition(item.gap) is not None:
                self._check_passed(item.gap, item)
                contiguity = Contiguity.FOLLOWED_BY
        inner = InnerContiguity.RELAXED
        if item.between is not None:
            self._check_passed(item.between, item)
        elif item.times is not None:
            inner = InnerContiguity.CONSECUTIVE
        return Step(
            name=item.name,
            where=item.condition,
            contiguity=contiguity,
            times=item.times,
            inner=inner,
            optional=item.is_optional,
        )

    def _check_passed(self, gap: str, item: _Item) -> None:
        passed = self._items.condition(gap)
        denied = None if item.condition is None else Not(IsTruth(item.condition.root, value=True))
        if passed is None or passed.root != denied:
            condition = item.condition.text if item.condition else "TRUE"
            raise NotExact(
                f"the rows of {gap} that are left out are not exactly those that are no "
                f"{item.name}; a pattern passes over nothing else",
                f"Define {gap} AS ({condition}) IS NOT TRUE.",
            )

    def _check_reads(self, item: _Item, names: set[str]) -> None:
        if item.condition is None:
            return
        for node in walk_expression(item.condition.root):
            read = None
            if isinstance(node, Aggregate):
                read = node.step
            elif isinstance(node, Field) and len(node.path) > 1:
                read = node.path[0]
            if read in self._variables and read not in names:
                raise NotExact(f"{item.name} looks at rows of {read}, which are in no match")
