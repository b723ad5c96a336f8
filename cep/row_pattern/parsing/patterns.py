"""The row pattern between the brackets of PATTERN.

    pattern     = sequence { "|" sequence }
    sequence    = quantified { quantified }
    quantified  = primary [ quantifier [ "?" ] ]
    primary     = variable | "(" [ pattern ] ")" | "{-" pattern "-}" | "^" | "$" | PERMUTE(...)

Source: ISO/IEC 19075-5, 4.14.
"""

from collections.abc import Mapping
from typing import Final

from cep.expression.tree import Span
from cep.row_pattern.clause import (
    Alternation,
    Concatenation,
    Exclusion,
    PartitionEnd,
    PartitionStart,
    Permutation,
    Repetition,
    RowPattern,
    Variable,
)
from cep.row_pattern.errors import Mistake, refusal
from cep.row_pattern.parsing.words import Kind, WordReader

_BOUNDS: Final[Mapping[str, tuple[int, int | None]]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_MAX_BOUND: Final = 2_147_483_647
_MAX_PARTS: Final = 2_000
_MAX_DEPTH: Final = 64


def read_pattern(reader: WordReader) -> RowPattern:
    """Take the pattern up to the bracket that closes PATTERN.

    Raises:
        ClauseError: it is not well formed, or too large.
    """
    return _PatternReader(reader).alternation()


class _PatternReader:
    def __init__(self, reader: WordReader) -> None:
        self._reader = reader
        self._parts = 0
        self._depth = 0

    def alternation(self) -> RowPattern:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise self._too_large(f"it is nested more than {_MAX_DEPTH} levels deep")
        alternatives = [self._sequence()]
        while self._reader.takes_symbol("|"):
            alternatives.append(self._sequence())
        self._depth -= 1
        return alternatives[0] if len(alternatives) == 1 else Alternation(tuple(alternatives))

    def _sequence(self) -> RowPattern:
        parts: list[RowPattern] = []
        while (part := self._quantified()) is not None:
            parts.append(part)
        if not parts:
            raise self._reader.unexpected("a pattern is expected", "the empty pattern is ()")
        return parts[0] if len(parts) == 1 else Concatenation(tuple(parts))

    def _quantified(self) -> RowPattern | None:
        start = self._reader.next.start
        primary = self._primary()
        if primary is None:
            return None
        self._parts += 1
        if self._parts > _MAX_PARTS:
            raise self._too_large(f"it has more than {_MAX_PARTS:,} parts")
        bounds = self._bounds()
        if bounds is None:
            return primary
        is_reluctant = self._reader.takes_symbol("?")
        span = (start, self._reader.next.start)
        return Repetition(primary, *bounds, is_reluctant=is_reluctant, span=span)

    def _primary(self) -> RowPattern | None:
        reader, word = self._reader, self._reader.next
        match word.text if word.kind is Kind.SYMBOL else "":
            case "(":
                reader.take()
                if reader.takes_symbol(")"):
                    return Concatenation(())
                return self._closed_by(")")
            case "{-":
                reader.take()
                return Exclusion(self._closed_by("-}"), word.span)
            case "^":
                reader.take()
                return PartitionStart()
            case "$":
                reader.take()
                return PartitionEnd(word.span)
            case _:
                return self._named()

    def _named(self) -> RowPattern | None:
        reader, word = self._reader, self._reader.next
        if word.keyword == "PERMUTE" and reader.ahead(1).is_symbol("("):
            return self._permutation()
        if word.kind in {Kind.NAME, Kind.QUOTED_NAME}:
            return Variable(reader.take().name())
        return None

    def _closed_by(self, symbol: str) -> RowPattern:
        inner = self.alternation()
        self._reader.expect_symbol(symbol)
        return inner

    def _permutation(self) -> Permutation:
        start = self._reader.take().start
        self._reader.take()
        parts = self._reader.listed(self.alternation)
        end = self._reader.expect_symbol(")").end
        return Permutation(parts, (start, end))

    def _bounds(self) -> tuple[int, int | None] | None:
        word = self._reader.next
        if word.is_symbol("{"):
            return self._braces()
        if word.kind is Kind.SYMBOL and word.text in _BOUNDS:
            return _BOUNDS[self._reader.take().text]
        return None

    def _braces(self) -> tuple[int, int | None]:
        reader = self._reader
        start = reader.take().start
        hint = "write {n}, {n,}, {n,m}, {,m} or {,}"
        minimum = self._number()
        if reader.next.is_symbol("}") and minimum is None:
            raise reader.unexpected("a number of repetitions is expected", hint)
        maximum = minimum
        if reader.takes_symbol(","):
            maximum = self._number()
        span = (start, reader.expect_symbol("}", hint).end)
        self._check_bounds(minimum or 0, maximum, span)
        return minimum or 0, maximum

    def _number(self) -> int | None:
        word = self._reader.next
        if word.kind is not Kind.NUMBER:
            return None
        if not word.text.isdecimal():
            raise self._reader.unexpected("a whole number of repetitions is expected")
        self._reader.take()
        if len(word.text) > len(str(_MAX_BOUND)) or int(word.text) > _MAX_BOUND:
            message = f"a quantifier goes up to {_MAX_BOUND:,}"
            raise refusal(self._reader.text, word.span, Mistake.QUANTIFIER, message)
        return int(word.text)

    def _check_bounds(self, minimum: int, maximum: int | None, span: Span) -> None:
        if maximum == 0:
            message = "a quantifier needs an upper bound of at least 1"
            raise refusal(self._reader.text, span, Mistake.QUANTIFIER, message)
        if maximum is not None and minimum > maximum:
            message = f"the lower bound {minimum:,} is above the upper bound {maximum:,}"
            raise refusal(self._reader.text, span, Mistake.QUANTIFIER, message)

    def _too_large(self, message: str) -> Exception:
        span = self._reader.next.span
        return refusal(self._reader.text, span, Mistake.TOO_LARGE, f"the pattern: {message}")
