"""Expressions as tuples whose first item says what they are, and the words they are made of.

Only well-formed expressions are read; what is outside of the subset raises `NotCovered`.
"""

import re
from typing import Any

Tree = tuple[Any, ...]

AGGREGATES = ("COUNT", "SUM", "AVG", "MIN", "MAX", "ARRAY_AGG", "BOOL_OR", "BOOL_AND")
NAVIGATIONS = ("FIRST", "LAST", "PREV", "NEXT")
SCALARS = ("COALESCE", "LOWER", "UPPER", "LENGTH", "ABS")
_TOKEN = re.compile(
    r"""\s+ | (?P<number>\d+\.\d+|\d+) | (?P<text>'[^']*') | (?P<quoted>"[^"]+")
      | (?P<name>[A-Za-z_]\w*) | (?P<symbol>\{-|-\}|<>|<=|>=|!=|\|\||.)""",
    re.VERBOSE | re.DOTALL,
)


class NotCovered(Exception):
    """The clause is outside of what brute force covers."""


class ExpressionReader:
    """The words of a text, and the expressions among them."""

    def __init__(self, text: str) -> None:
        found = [match for match in _TOKEN.finditer(text) if match.lastgroup]
        self.kinds = [str(match.lastgroup) for match in found] + ["end"] * 4
        self.texts = [match[0] for match in found] + [""] * 4
        self.at = 0

    def word(self, ahead: int = 0) -> str:
        place = self.at + ahead
        return self.texts[place].upper() if self.kinds[place] in {"name", "symbol"} else ""

    def takes(self, *words: str) -> bool:
        if all(self.word(place) == word for place, word in enumerate(words)):
            self.at += len(words)
            return True
        return False

    def expect(self, *words: str) -> None:
        if not self.takes(*words):
            raise NotCovered(f"{words} is expected, not {self.texts[self.at : self.at + 3]}")

    def identifier(self) -> str:
        """Take a name: folded to upper case, or what is in the quotes."""
        kind, text = self.kinds[self.at], self.texts[self.at]
        if kind not in {"name", "quoted"}:
            raise NotCovered(f"a name is expected, not {text}")
        self.at += 1
        return text.upper() if kind == "name" else text[1:-1]

    def names(self) -> list[str]:
        names = [self.identifier()]
        while self.takes(","):
            names.append(self.identifier())
        return names

    # The weakest operator first

    def expression(self) -> Tree:
        left = self._both()
        while self.takes("OR"):
            left = ("OR", left, self._both())
        return left

    def _both(self) -> Tree:
        left = self._negation()
        while self.takes("AND"):
            left = ("AND", left, self._negation())
        return left

    def _negation(self) -> Tree:
        return ("NOT", self._negation()) if self.takes("NOT") else self._comparison()

    def _comparison(self) -> Tree:
        left = self._sum()
        if self.takes("IS", "NOT", "NULL"):
            return ("NOT", ("null?", left))
        if self.takes("IS", "NULL"):
            return ("null?", left)
        is_negated = self.word(1) in {"IN", "BETWEEN"} and self.takes("NOT")
        found: Tree
        if self.takes("IN", "("):
            found = ("in", left, self._arguments())
        elif self.takes("BETWEEN"):
            low = self._sum()
            self.expect("AND")
            found = ("AND", (">=", left, low), ("<=", left, self._sum()))
        elif self.word() in {"=", "<>", "!=", "<", "<=", ">", ">="}:
            operator = self.word()
            self.at += 1
            return (operator.replace("!=", "<>"), left, self._sum())
        else:
            return left
        return ("NOT", found) if is_negated else found

    def _sum(self) -> Tree:
        left = self._product()
        while self.word() in {"+", "-", "||"}:
            self.at += 1
            left = (self.texts[self.at - 1], left, self._product())
        return left

    def _product(self) -> Tree:
        left = self._factor()
        while self.word() in {"*", "/", "%"}:
            self.at += 1
            left = (self.texts[self.at - 1], left, self._factor())
        return left

    def _factor(self) -> Tree:
        if self.takes("-"):
            return ("-", ("value", 0), self._factor())
        kind, text = self.kinds[self.at], self.texts[self.at]
        if kind in {"number", "text"}:
            self.at += 1
            is_whole = "." not in text
            return ("value", text[1:-1] if kind == "text" else (int if is_whole else float)(text))
        for word, value in (("TRUE", True), ("FALSE", False), ("NULL", None)):
            if self.takes(word):
                return ("value", value)
        if self.takes("("):
            inner = self.expression()
            self.expect(")")
            return inner
        return self._case() if self.takes("CASE", "WHEN") else self._named()

    def _case(self) -> Tree:
        branches = []
        while True:
            condition = self.expression()
            self.expect("THEN")
            branches.append((condition, self.expression()))
            if not self.takes("WHEN"):
                break
        otherwise: Tree = self.expression() if self.takes("ELSE") else ("value", None)
        self.expect("END")
        return ("case", branches, otherwise)

    def _named(self) -> Tree:
        mode = "RUNNING"
        if self.word() in {"RUNNING", "FINAL"} and self.word(2) == "(":
            mode = self.identifier()
        if self.kinds[self.at] == "name" and self.word(1) == "(":
            return self._call(mode)
        name = self.identifier()
        return ("column", name, self.identifier()) if self.takes(".") else ("column", None, name)

    def _call(self, mode: str) -> Tree:  # noqa: PLR0911 - one line per kind of call
        name = self.identifier()
        self.expect("(")
        if name == "CLASSIFIER":
            union = None if self.word() == ")" else self.identifier()
            self.expect(")")
            return ("classifier", union)
        if name == "COUNT" and self.takes("*", ")"):
            return ("aggregate", "ROWS", mode, False, None)
        if name == "COUNT" and self.word(1) == "." and self.word(2) == "*":
            union = self.identifier()
            self.expect(".", "*", ")")
            return ("aggregate", "ROWS", mode, False, union)
        is_distinct = self.takes("DISTINCT")
        arguments = self._arguments()
        if name == "MATCH_NUMBER":
            return ("number",)
        if name in NAVIGATIONS:
            default = int(name in {"PREV", "NEXT"})
            offset = arguments[1][1] if len(arguments) > 1 else default
            return ("navigate", name, mode, arguments[0], offset)
        if name in AGGREGATES:
            return ("aggregate", name, mode, is_distinct, arguments[0])
        if name in SCALARS:
            return ("call", name, arguments)
        raise NotCovered(name)

    def _arguments(self) -> list[Tree]:
        """Take expressions up to the bracket that closes."""
        arguments: list[Tree] = []
        while not self.takes(")"):
            arguments.append(self.expression())
            self.takes(",")
        return arguments
