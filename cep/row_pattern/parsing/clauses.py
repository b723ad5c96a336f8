"""The clause around row pattern and expressions, and the query around the clause.

Source: ISO/IEC 19075-5, 4.2; `WITHIN` as in Flink SQL.
"""

import re
from decimal import Decimal
from typing import Final

from cep.expression.parsing.parser import NO_CONSTANTS, Constants
from cep.expression.tree import Span
from cep.row_pattern.clause import (
    Clause,
    Definition,
    Measure,
    Name,
    Ordering,
    Query,
    RowsPerMatch,
    Scalar,
    Skip,
    SkipTo,
    Subset,
)
from cep.row_pattern.errors import Mistake, refusal
from cep.row_pattern.parsing.expressions import read_scalar
from cep.row_pattern.parsing.patterns import read_pattern
from cep.row_pattern.parsing.words import Kind, WordReader

_BEGIN: Final = re.compile(
    r"(?:\s|--[^\n]*\n|/\*.*?\*/)*(?:SELECT|MATCH_RECOGNIZE)\b(?!\s*:)", re.IGNORECASE | re.DOTALL
)
_ORDER: Final = (
    "PARTITION BY, ORDER BY, MEASURES, ONE ROW or ALL ROWS PER MATCH, AFTER MATCH SKIP, "
    "PATTERN, WITHIN, SUBSET, DEFINE"
)
_SECTIONS: Final = frozenset(
    {"PARTITION", "ORDER", "MEASURES", "ONE", "ALL", "AFTER", "INITIAL", "SEEK", "PATTERN"}
    | {"WITHIN", "SUBSET", "DEFINE"}
)
UNITS_MS: Final = {
    "MILLISECOND": 1,
    "SECOND": 1_000,
    "MINUTE": 60_000,
    "HOUR": 3_600_000,
    "DAY": 86_400_000,
    "WEEK": 604_800_000,
}
_AFTER_ALIAS: Final = frozenset(
    {"MATCH_RECOGNIZE", "WHERE", "GROUP", "ORDER", "LIMIT", "JOIN", "UNION"}
)
_AMOUNT: Final = re.compile(r"[0-9]{1,20}(\.[0-9]{1,9})?")
_MAX_WITHIN_MS: Final = 2**53


def begins_query(text: str) -> bool:
    """Return whether a text begins as a query or its clause does, and no document or path."""
    return _BEGIN.match(text) is not None


def read_query(text: str, constants: Constants = NO_CONSTANTS) -> Query:
    """Return the tree of a `MATCH_RECOGNIZE (...)` clause, or of a query with one.

    Raises:
        ClauseError: it is not well formed; with line, column and a hint.
    """
    try:
        return _ClauseReader(text, constants).query()
    except RecursionError:
        message = "the clause is nested too deeply"
        raise refusal(text[:80], (0, 1), Mistake.TOO_LARGE, message) from None


class _ClauseReader:
    def __init__(self, text: str, constants: Constants) -> None:
        self._text = text
        self._constants = constants
        self._reader = WordReader(text)

    def query(self) -> Query:
        reader = self._reader
        columns: tuple[tuple[Name, Name], ...] | None = None
        source: Name | None = None
        if reader.takes("SELECT"):
            columns = self._output_columns()
            reader.expect("FROM")
            source = self._source()
            self._pass_alias()
        reader.expect("MATCH_RECOGNIZE", hint="write MATCH_RECOGNIZE ( ... )")
        reader.expect_symbol("(")
        clause = self._clause()
        reader.expect_symbol(")", f"the parts come in this order: {_ORDER}")
        if source is not None:
            self._pass_alias()
        reader.takes_symbol(";")
        if reader.next.kind is not Kind.END:
            hint = "only SELECT columns FROM name MATCH_RECOGNIZE ( ... ) is read"
            raise reader.unexpected("the end of the text is expected", hint)
        return Query(columns, source, clause)

    def _pass_alias(self) -> None:
        """Take an alias, of the input or of the result, if there is one; nothing names either."""
        has_as = self._reader.takes("AS")
        word = self._reader.next
        if word.kind in {Kind.NAME, Kind.QUOTED_NAME} and word.keyword not in _AFTER_ALIAS:
            self._reader.take()
        elif has_as:
            raise self._reader.unexpected("an alias is expected")

    def _source(self) -> Name:
        """Take the name after FROM, which may be qualified: `catalog.schema.table`."""
        what = "the name of a stream or table"
        source = self._reader.name(what)
        while self._reader.takes_symbol("."):
            part = self._reader.name(what)
            span = (source.span[0], part.span[1])
            quoted = source.is_quoted or part.is_quoted
            source = Name(f"{source.text}.{part.text}", quoted, span)
        return source

    def _output_columns(self) -> tuple[tuple[Name, Name], ...] | None:
        reader = self._reader
        return None if reader.takes_symbol("*") else reader.listed(self._output_column)

    def _output_column(self) -> tuple[Name, Name]:
        reader = self._reader
        column = reader.name("* or the name of a column")
        if reader.takes_symbol("."):
            column = reader.name("the name of a column")
        return column, reader.name("a name for the column") if reader.takes("AS") else column

    def _clause(self) -> Clause:
        partition_by = self._partition_by()
        order_by = self._order_by()
        measures = self._measures()
        rows_per_match = self._rows_per_match()
        skip = self._skip()
        if self._reader.next.keyword in {"INITIAL", "SEEK"}:
            word = self._reader.next
            message = f"{word.keyword} is not allowed here"
            raise refusal(self._text, word.span, Mistake.SEARCH_MODE_NOT_ALLOWED, message)
        hint = f"the parts come in this order: {_ORDER}"
        self._reader.expect("PATTERN", hint=hint)
        self._reader.expect_symbol("(")
        pattern = read_pattern(self._reader)
        self._reader.expect_symbol(")")
        return Clause(
            text=self._text,
            partition_by=partition_by,
            order_by=order_by,
            measures=measures,
            rows_per_match=rows_per_match,
            skip=skip,
            pattern=pattern,
            within_ms=self._within(order_by),
            subsets=self._subsets(),
            definitions=self._definitions(),
        )

    def _column(self) -> Name:
        """Take the name of a column; PARTITION BY and ORDER BY take nothing else."""
        word = self._reader.next
        is_name = word.kind in {Kind.NAME, Kind.QUOTED_NAME}
        behind = self._reader.ahead(1)
        may_follow = behind.kind in {Kind.NAME, Kind.QUOTED_NAME} or behind.text in {",", ")"}
        if not is_name or not may_follow:
            message = "PARTITION BY and ORDER BY take names of columns only"
            hint = "compute the value before, as a column of the input"
            raise refusal(self._text, word.span, Mistake.COLUMN_EXPECTED, message, hint)
        return self._reader.take().name()

    def _partition_by(self) -> tuple[Name, ...]:
        if not self._reader.takes("PARTITION", "BY"):
            return ()
        return self._reader.listed(self._column)

    def _order_by(self) -> tuple[Ordering, ...]:
        if not self._reader.takes("ORDER", "BY"):
            return ()
        return self._reader.listed(self._ordering)

    def _ordering(self) -> Ordering:
        column = self._column()
        is_descending = self._reader.takes("DESC")
        if not is_descending:
            self._reader.takes("ASC")
        if not self._reader.takes("NULLS", "LAST") and self._reader.next.keyword == "NULLS":
            message = "NULLs come last, ascending and descending"
            hint = "write NULLS LAST, or give the column another value before"
            span = (self._reader.next.start, self._reader.ahead(1).end)
            raise refusal(self._text, span, Mistake.SYNTAX, message, hint)
        return Ordering(column, is_descending)

    def _measures(self) -> tuple[Measure, ...]:
        if not self._reader.takes("MEASURES"):
            return ()
        return self._reader.listed(self._measure)

    def _measure(self) -> Measure:
        expression = self._scalar("AS")
        self._reader.expect("AS", hint="a measure is written: expression AS name")
        return Measure(expression, self._reader.name("the name of a measure"))

    def _scalar(self, *ends: str) -> Scalar:
        """Take an expression, up to one of these keywords, a comma or the bracket that closes."""
        words = []
        depth = 0
        while self._reader.next.kind is not Kind.END:
            word = self._reader.next
            if not depth and (word.keyword in ends or word.text in {",", ")"}):
                break
            depth += word.nesting
            words.append(self._reader.take())
        if not words:
            raise self._reader.unexpected("an expression is expected")
        return read_scalar(self._text, words, self._constants)

    def _rows_per_match(self) -> RowsPerMatch:
        reader = self._reader
        if reader.takes("ONE"):
            reader.expect("ROW", "PER", "MATCH")
            return RowsPerMatch.ONE_ROW
        if not reader.takes("ALL"):
            return RowsPerMatch.ONE_ROW
        reader.expect("ROWS", "PER", "MATCH")
        if reader.takes("OMIT"):
            reader.expect("EMPTY", "MATCHES")
            return RowsPerMatch.OMIT_EMPTY
        if reader.takes("WITH"):
            reader.expect("UNMATCHED", "ROWS")
            return RowsPerMatch.WITH_UNMATCHED
        if reader.takes("SHOW"):
            reader.expect("EMPTY", "MATCHES")
        return RowsPerMatch.SHOW_EMPTY

    def _skip(self) -> Skip:
        reader = self._reader
        if not reader.takes("AFTER"):
            return Skip()
        reader.expect("MATCH", "SKIP")
        if reader.takes("PAST", "LAST", "ROW"):
            return Skip(SkipTo.PAST_LAST_ROW)
        reader.expect("TO", hint="write PAST LAST ROW, TO NEXT ROW, TO FIRST A, or TO LAST A")
        if reader.takes("NEXT", "ROW"):
            return Skip(SkipTo.NEXT_ROW)
        to = SkipTo.LAST
        is_side = reader.next.keyword in {"FIRST", "LAST"}
        if is_side and reader.ahead(1).kind in {Kind.NAME, Kind.QUOTED_NAME}:
            is_section = reader.ahead(1).keyword in _SECTIONS and reader.ahead(2).is_symbol("(")
            if not is_section:
                to = SkipTo.FIRST if reader.take().keyword == "FIRST" else SkipTo.LAST
        return Skip(to, reader.name("a variable of the pattern"))

    def _within(self, order_by: tuple[Ordering, ...]) -> int | None:
        reader = self._reader
        start = reader.next.start
        if not reader.takes("WITHIN"):
            return None
        hint = f"write WITHIN INTERVAL '10' MINUTE; units are {', '.join(UNITS_MS)}"
        reader.expect("INTERVAL", hint=hint)
        amount = reader.next
        if amount.kind is not Kind.TEXT or not _AMOUNT.fullmatch(amount.text[1:-1].strip()):
            raise reader.unexpected("a number in single quotes is expected", hint)
        reader.take()
        unit = reader.next.keyword.removesuffix("S") if reader.next.keyword else ""
        if unit not in UNITS_MS:
            raise reader.unexpected("a unit of time is expected", hint)
        span: Span = (start, reader.take().end)
        exact_ms = Decimal(amount.text[1:-1].strip()) * UNITS_MS[unit]
        if exact_ms % 1:
            message = "the interval of WITHIN must be whole milliseconds"
            raise refusal(self._text, span, Mistake.WITHIN, message)
        within_ms = int(exact_ms)
        if not 0 < within_ms <= _MAX_WITHIN_MS:
            message = "the interval of WITHIN must be positive, and below 285,000 years"
            raise refusal(self._text, span, Mistake.WITHIN, message)
        if not order_by:
            message = "WITHIN needs ORDER BY, with a column of time first"
            raise refusal(self._text, span, Mistake.WITHIN, message)
        return within_ms

    def _subsets(self) -> tuple[Subset, ...]:
        if not self._reader.takes("SUBSET"):
            return ()
        return self._reader.listed(self._subset)

    def _subset(self) -> Subset:
        name = self._reader.name("the name of a union variable")
        self._reader.expect_symbol("=")
        self._reader.expect_symbol("(")
        members = self._reader.listed(lambda: self._reader.name("a variable"))
        self._reader.expect_symbol(")")
        return Subset(name, members)

    def _definitions(self) -> tuple[Definition, ...]:
        self._reader.expect("DEFINE", hint="DEFINE is mandatory: DEFINE A AS condition")
        return self._reader.listed(self._definition)

    def _definition(self) -> Definition:
        variable = self._reader.name("a variable")
        self._reader.expect("AS")
        return Definition(variable, self._scalar())
