"""A pattern → the clause of MATCH_RECOGNIZE that finds the same, where there is one.

    PatternTree ──one_way──► Sequence ──► Clause

Events that a step skips become rows of a variable of their own, which is left out of the
output: `followed_by login` is `{- gap* -} login`, where gap is what is not a login. The clause
outputs all rows of each match with the step that took them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from cep.expression import Expression, ExpressionError
from cep.expression.sql import quoted_name
from cep.pattern.tree import PatternTree, SkipKind, SkipStrategy
from cep.row_pattern.clause import (
    Clause,
    Concatenation,
    Definition,
    Exclusion,
    Measure,
    Name,
    Ordering,
    Query,
    Repetition,
    RowPattern,
    RowsPerMatch,
    Scalar,
    Skip,
    SkipTo,
    Variable,
)
from cep.row_pattern.parsing.clauses import read_query
from cep.row_pattern.parsing.expressions import read_scalar
from cep.row_pattern.parsing.words import words_of
from cep.row_pattern.writing import write_query
from cep.translation.conditions import scalar_of
from cep.translation.one_way import Gap, Part, sequence_of
from cep.translation.refusals import NotExact

_MEASURES: Final = (("MATCH_NUMBER()", "match_number"), ("CLASSIFIER()", "step"))
_SKIPS: Final = {
    SkipKind.NO_SKIP: SkipTo.NEXT_ROW,
    SkipKind.SKIP_TO_NEXT: SkipTo.NEXT_ROW,
    SkipKind.SKIP_PAST_LAST_EVENT: SkipTo.PAST_LAST_ROW,
    SkipKind.SKIP_TO_FIRST: SkipTo.FIRST,
    SkipKind.SKIP_TO_LAST: SkipTo.LAST,
}


def clause_of(tree: PatternTree, *, key_by: Sequence[str] = (), time_column: str = "ts") -> Query:
    """Return the clause that finds the matches of a valid pattern on a stream.

    Raises:
        NotExact: there is no such clause, and why.
    """
    sequence = sequence_of(tree)
    names = _Variables([part.name for part in sequence.parts])
    parts: list[RowPattern] = []
    for place, part in enumerate(sequence.parts):
        parts += _patterns(part, names, is_reluctant=place == sequence.open_part)
    clause = Clause(
        text="",
        partition_by=tuple(map(_name, key_by)),
        order_by=(Ordering(_name(time_column)),),
        measures=tuple(Measure(_scalar(text), Name(name)) for text, name in _MEASURES),
        rows_per_match=RowsPerMatch.SHOW_EMPTY,
        skip=_skip(sequence.skip),
        pattern=parts[0] if len(parts) == 1 else Concatenation(tuple(parts)),
        within_ms=sequence.window_ms,
        subsets=(),
        definitions=tuple(_definitions(sequence.parts, names)),
    )
    return _checked(Query(None, None, clause))


@dataclass(slots=True)
class _Variables:
    """The variables of the steps, and those of the gaps by their conditions."""

    steps: list[str]
    gaps: dict[str | None, Name] = field(default_factory=dict)

    def __post_init__(self) -> None:
        folded = [name.folded for name in map(_name, self.steps)]
        if len(set(folded)) < len(folded):
            raise NotExact("names of steps differ in case only, which SQL does not tell apart")

    @property
    def folded(self) -> dict[str, str]:
        """The folded name of the variable of each step."""
        return {step: _name(step).folded for step in self.steps}

    def of_gap(self, gap: Gap) -> Name:
        """Return the variable of the rows that are skipped."""
        text = None if gap.condition is None else gap.condition.text
        if text not in self.gaps:
            taken = {*self.folded.values(), *(name.folded for name in self.gaps.values())}
            candidates = ["gap", *(f"gap_{n}" for n in range(2, len(taken) + 3))]
            self.gaps[text] = Name(next(c for c in candidates if c.upper() not in taken))
        return self.gaps[text]


def _patterns(part: Part, names: _Variables, *, is_reluctant: bool) -> Iterator[RowPattern]:
    """Yield the row pattern of a part: perhaps its gap, then its rows."""
    if part.gap is not None:
        yield _passed(part.gap, names)
    variable = Variable(_name(part.name))
    rows: tuple[RowPattern, ...]
    if part.between is None or part.maximum == 1:
        optional = part.is_optional and part.minimum == 1
        rows = (_repeated(variable, 0 if optional else part.minimum, part.maximum, is_reluctant),)
    else:
        optional = False
        others = Concatenation((_passed(part.between, names), variable))
        maximum = None if part.maximum is None else part.maximum - 1
        rows = (variable, _repeated(others, part.minimum - 1, maximum, is_reluctant))
    if part.is_optional and not optional:
        whole = rows[0] if len(rows) == 1 else Concatenation(rows)
        rows = (_repeated(whole, 0, 1, is_reluctant),)
    yield from rows


def _passed(gap: Gap, names: _Variables) -> RowPattern:
    repeated = Repetition(Variable(names.of_gap(gap)), 0, None, is_reluctant=gap.takes_any)
    return Exclusion(repeated)


def _repeated(
    pattern: RowPattern,
    minimum: int,
    maximum: int | None,
    is_reluctant: bool,  # noqa: FBT001 - how the numbers before it are read
) -> RowPattern:
    if minimum == maximum == 1:
        return pattern
    return Repetition(pattern, minimum, maximum, is_reluctant and minimum != maximum)


def _definitions(parts: tuple[Part, ...], names: _Variables) -> Iterator[Definition]:
    defined = False
    for part in parts:
        for gap in (part.gap, part.between):
            # A gap is defined once, in front of the first step that passes it over.
            if gap is not None and gap.condition is not None and _is_first(gap, part, parts):
                scalar = _condition(gap.condition, names)
                yield Definition(names.of_gap(gap), scalar)
        if part.condition is not None:
            defined = True
            yield Definition(_name(part.name), _condition(part.condition, names))
    if not defined and all(part.gap is None and part.between is None for part in parts):
        yield Definition(_name(parts[0].name), _scalar("TRUE"))


def _is_first(gap: Gap, part: Part, parts: tuple[Part, ...]) -> bool:
    text = None if gap.condition is None else gap.condition.text
    for other in parts:
        for found in (other.gap, other.between):
            if found is not None and found.condition is not None and found.condition.text == text:
                return found is gap and other is part
    return False


def _condition(condition: Expression, names: _Variables) -> Scalar:
    return scalar_of(condition, names.folded)


def _scalar(text: str) -> Scalar:
    return read_scalar(text, words_of(text)[:-1])


def _skip(skip: SkipStrategy) -> Skip:
    return Skip(_SKIPS[skip.kind], None if skip.step is None else _name(skip.step))


def _name(text: str) -> Name:
    return Name(text, is_quoted=quoted_name(text) != text)


def _checked(query: Query) -> Query:
    """Return a query as it is read from its text."""
    try:
        read = read_query(write_query(query))
    except ExpressionError as error:
        raise NotExact(f"SQL cannot read a name or a condition of it: {error.message}") from None
    if read != query:
        raise NotExact("SQL reads a name in it as a word of its own")
    return read
