"""A clause of MATCH_RECOGNIZE → the pattern that finds the same, where there is one.

    Clause ──► items ──► steps ──one_way──► PatternTree

Of the clause only what finds rows is translated: PATTERN, DEFINE, WITHIN, AFTER MATCH SKIP. What it
outputs becomes `select` of a rule, PARTITION BY its key, ORDER BY the event time of its stream.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final

from cep.expression import Aggregate, Expression, Field
from cep.expression.tree import IsTruth, Not
from cep.expression.tree import walk as walk_expression
from cep.pattern.tree import (
    Contiguity,
    InnerContiguity,
    PatternTree,
    SkipKind,
    SkipStrategy,
    Step,
    Window,
)
from cep.row_pattern.analysis.analyse import analyse
from cep.row_pattern.clause import Clause, SkipTo
from cep.translation.clause_items import Item, Passed, items_of
from cep.translation.one_way import sequence_of
from cep.translation.refusals import NotExact

_SKIPS: Final = {
    SkipTo.NEXT_ROW: SkipKind.NO_SKIP,
    SkipTo.PAST_LAST_ROW: SkipKind.SKIP_PAST_LAST_EVENT,
    SkipTo.FIRST: SkipKind.SKIP_TO_FIRST,
    SkipTo.LAST: SkipKind.SKIP_TO_LAST,
}


def pattern_of(clause: Clause) -> PatternTree:
    """Return the pattern that finds the rows of a clause, each under its variable.

    Rows that are left out of the output (`{- -}`) are no events of its matches.

    Raises:
        NotExact: there is no such pattern, and why.
        ClauseError: the clause breaks a rule of its own language.
    """
    bound = analyse(clause, None)
    if any(is_descending for _, is_descending in bound.order_by):
        raise NotExact("ORDER BY is descending; events are in order of time")
    items = items_of(clause, bound.variables)
    steps = _steps(items, bound.variables)
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


def _preferred(tree: PatternTree, items: Sequence[Item], clause: Clause) -> PatternTree:
    """Return the pattern once it is sure that it finds the preferred match and no other."""
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


# What is skipped


def _steps(items: Sequence[Item], variables: Collection[str]) -> tuple[Step, ...]:
    """Return the steps, once it is sure what the variables between them stand for."""
    names = {item.name for item in items}
    for item in items:
        _check_reads(item, variables, names)
    take_first = _take_first_rows(items)
    return tuple(
        _step(item, is_first=not place, takes_first=take_first) for place, item in enumerate(items)
    )


def _take_first_rows(items: Sequence[Item]) -> bool:
    """Return whether each step after rows of any kind takes the first row that fits.

    SQL prefers it if as few rows as possible are skipped, and it never has to try another one
    if no row has to follow directly: what can still follow a later row can follow the first one,
    within the same time. Conditions must not ask which row it was.
    """
    first = next((place for place, item in enumerate(items) if item.passes_any), len(items))
    chain = items[first:]
    names = {item.name for item in chain}
    return all(
        item.count is not None
        and (item.count == 1 or item.between is not None)
        and (item.gap is not None or place == 0)
        and all(
            passed is None or not passed.is_any or passed.is_reluctant
            for passed in (item.gap, item.between)
        )
        and not _read_by(item) & names
        for place, item in enumerate(chain)
    )


def _step(item: Item, *, is_first: bool, takes_first: bool) -> Step:
    contiguity = None if is_first else Contiguity.NEXT
    if item.gap is not None:
        contiguity = Contiguity.FOLLOWED_BY
        if not item.gap.is_any:
            _check_passed(item.gap, item)
        elif not takes_first:
            contiguity = Contiguity.FOLLOWED_BY_ANY
    inner = InnerContiguity.RELAXED
    if item.between is not None:
        if not item.between.is_any:
            _check_passed(item.between, item)
        elif not takes_first:
            raise NotExact(f"rows of any kind between those of {item.name} are left out")
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


def _check_passed(passed: Passed, item: Item) -> None:
    denied = None if item.condition is None else Not(IsTruth(item.condition.root, value=True))
    if passed.condition is None or passed.condition.root != denied:
        condition = item.condition.text if item.condition else "TRUE"
        raise NotExact(
            f"the rows of {passed.variable} that are left out are not exactly those that are no "
            f"{item.name}; a pattern passes over nothing else",
            f"Define {passed.variable} AS ({condition}) IS NOT TRUE.",
        )


def _check_reads(item: Item, variables: Collection[str], names: Collection[str]) -> None:
    for read in _read_by(item):
        if read in variables and read not in names:
            raise NotExact(f"{item.name} looks at rows of {read}, which are in no match")


def _read_by(item: Item) -> set[str]:
    """Return the variables that a condition looks at, and perhaps names of columns."""
    return set() if item.condition is None else set(_variables_in(item.condition))


def _variables_in(condition: Expression) -> list[str]:
    read = []
    for node in walk_expression(condition.root):
        if isinstance(node, Aggregate):
            read.append(node.step)
        elif isinstance(node, Field) and len(node.path) > 1:
            read.append(node.path[0])
    return read
