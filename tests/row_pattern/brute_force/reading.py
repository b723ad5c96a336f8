"""From the text of a clause to a tree; row patterns are tuples like expressions."""

from dataclasses import dataclass, field
from typing import Any

from tests.row_pattern.brute_force.expressions import ExpressionReader, Tree

_UNITS = {"MILLISECOND": 1, "SECOND": 1_000, "MINUTE": 60_000, "HOUR": 3_600_000, "DAY": 86_400_000}


@dataclass
class Clause:
    """A clause; `skip` is `PAST`, `NEXT`, or `(FIRST | LAST, variable)`.

    `order_by` has with each column whether it is descending.
    """

    partition_by: list[str] = field(default_factory=list)
    order_by: list[tuple[str, bool]] = field(default_factory=list)
    measures: list[tuple[Tree, str]] = field(default_factory=list)
    rows: str = "ONE"
    skip: Any = "PAST"
    pattern: Tree = ()
    within_ms: int | None = None
    unions: dict[str, set[str]] = field(default_factory=dict)
    conditions: dict[str, Tree] = field(default_factory=dict)


def read(text: str) -> Clause:
    return _Reader(text).clause()


class _Reader(ExpressionReader):
    def clause(self) -> Clause:
        self.expect("MATCH_RECOGNIZE", "(")
        clause = Clause()
        if self.takes("PARTITION", "BY"):
            clause.partition_by = self.names()
        if self.takes("ORDER", "BY"):
            clause.order_by = self._orderings()
        if self.takes("MEASURES"):
            clause.measures = self._measures()
        clause.rows = self._rows()
        clause.skip = self._skip()
        self.expect("PATTERN", "(")
        clause.pattern = self._alternation()
        self.expect(")")
        if self.takes("WITHIN", "INTERVAL"):
            amount = int(self.texts[self.at][1:-1])
            self.at += 1
            clause.within_ms = amount * _UNITS[self.identifier().removesuffix("S")]
        if self.takes("SUBSET"):
            clause.unions = self._unions()
        self.expect("DEFINE")
        while True:
            name = self.identifier()
            self.expect("AS")
            clause.conditions[name] = self.expression()
            if not self.takes(","):
                break
        self.expect(")")
        return clause

    def _orderings(self) -> list[tuple[str, bool]]:
        names = []
        while True:
            names.append((self.identifier(), self.takes("DESC")))
            self.takes("ASC")
            if not self.takes(","):
                return names

    def _measures(self) -> list[tuple[Tree, str]]:
        measures = []
        while True:
            tree = self.expression()
            self.expect("AS")
            measures.append((tree, self.identifier()))
            if not self.takes(","):
                return measures

    def _rows(self) -> str:
        if self.takes("ONE", "ROW", "PER", "MATCH") or not self.takes("ALL"):
            return "ONE"
        self.expect("ROWS", "PER", "MATCH")
        if self.takes("OMIT", "EMPTY", "MATCHES"):
            return "OMIT"
        if self.takes("WITH", "UNMATCHED", "ROWS"):
            return "UNMATCHED"
        self.takes("SHOW", "EMPTY", "MATCHES")
        return "SHOW"

    def _skip(self) -> Any:
        if not self.takes("AFTER", "MATCH", "SKIP") or self.takes("PAST", "LAST", "ROW"):
            return "PAST"
        self.expect("TO")
        if self.takes("NEXT", "ROW"):
            return "NEXT"
        side = "LAST"
        if self.word() in {"FIRST", "LAST"} and self.word(1) not in {"PATTERN", "INITIAL"}:
            side = self.identifier()
        return side, self.identifier()

    def _unions(self) -> dict[str, set[str]]:
        unions: dict[str, set[str]] = {}
        while True:
            name = self.identifier()
            self.expect("=", "(")
            unions[name] = set(self.names())
            self.expect(")")
            if not self.takes(","):
                return unions

    # The pattern

    def _alternation(self) -> Tree:
        alternatives = [self._sequence()]
        while self.takes("|"):
            alternatives.append(self._sequence())
        return ("or", *alternatives) if len(alternatives) > 1 else alternatives[0]

    def _sequence(self) -> Tree:
        parts = []
        while self.word() not in {"|", ")", "-}", ","}:
            parts.append(self._quantified())
        return ("then", *parts)

    def _quantified(self) -> Tree:
        primary = self._primary()
        if self.takes("*"):
            low, high = 0, None
        elif self.takes("+"):
            low, high = 1, None
        elif self.takes("?"):
            low, high = 0, 1
        elif self.takes("{"):
            low, high = self._bounds()
        else:
            return primary
        return ("repeat", primary, low, high, self.takes("?"))

    def _bounds(self) -> tuple[int, int | None]:
        low = self._number()
        high = low
        if self.takes(","):
            high = self._number()
        self.expect("}")
        return low or 0, high

    def _number(self) -> int | None:
        if self.kinds[self.at] != "number":
            return None
        self.at += 1
        return int(self.texts[self.at - 1])

    def _primary(self) -> Tree:
        if self.takes("(", ")"):
            return ("then",)
        if self.takes("("):
            inner = self._alternation()
            self.expect(")")
            return inner
        if self.takes("{-"):
            inner = self._alternation()
            self.expect("-}")
            return ("exclude", inner)
        if self.takes("PERMUTE", "("):
            parts = [self._alternation()]
            while self.takes(","):
                parts.append(self._alternation())
            self.expect(")")
            return ("permute", *parts)
        if self.takes("^") or self.takes("$"):
            return ("start",) if self.texts[self.at - 1] == "^" else ("end",)
        return ("variable", self.identifier())
