"""Expressions of MEASURES and DEFINE: what reads the rows of a match is taken out first.

    PREV(price) < LAST(A.price, 2) ──► `#0` < `#1`, [PREV(price), LAST(A.price, 2)]

The calls that only row patterns have are read here, with their modes and offsets; what is left is
an expression like any other and goes through the parser of `cep.expression`. A placeholder is as
long as what it replaces, so that all places stay true.
"""

from dataclasses import replace
from itertools import pairwise
from typing import Final, NoReturn

from cep.expression.errors import ExpressionError, problem_at
from cep.expression.parsing.parser import NO_CONSTANTS, Constants, parse
from cep.expression.rewrite import rebuilt
from cep.expression.tree import NOWHERE, Field, Node, Span
from cep.row_pattern.clause import (
    Aggregation,
    ArrayOf,
    Classifier,
    Column,
    Direction,
    MatchNumber,
    Mode,
    Name,
    Navigation,
    Reference,
    Scalar,
    placeholder,
)
from cep.row_pattern.errors import ClauseError, Mistake, refusal
from cep.row_pattern.parsing.words import Kind, Word

AGGREGATES: Final = frozenset(
    {"COUNT", "SUM", "AVG", "MIN", "MAX", "ARRAY_AGG", "BOOL_OR", "BOOL_AND"}
)
_CALLS: Final = frozenset({*Direction, *AGGREGATES, "CLASSIFIER", "MATCH_NUMBER", "ARRAY"})
_SHIFTS: Final = {Direction.PREV, Direction.NEXT}
_MAX_OFFSET: Final = 10_000


def read_scalar(text: str, words: list[Word], constants: Constants = NO_CONSTANTS) -> Scalar:
    """Return the expression that consists of these words of the clause, at least one, in order.

    Raises:
        ClauseError: it is no expression.
    """
    return _ExpressionReader(text, words, constants).scalar()


class _ExpressionReader:
    def __init__(self, text: str, words: list[Word], constants: Constants) -> None:
        self._text = text
        self._words = words
        self._constants = constants
        self._position = 0
        self._start, self._end = words[0].start, words[-1].end
        self._left = [" "] * (self._end - self._start)
        self._calls: dict[int, Reference] = {}
        self._columns: dict[int, Column] = {}

    def scalar(self) -> Scalar:
        while self._position < len(self._words):
            if (mode := self._mode()) is not None or self._is_call():
                self._take_out(mode)
            else:
                self._keep(self._words[self._position])
        root = self._parsed("".join(self._left))
        references: dict[Reference, int] = {}
        root = self._with_placeholders(root, references)
        span = (self._start, self._end)
        return Scalar(self._text[slice(*span)], root, tuple(references), span)

    @property
    def _next(self) -> Word:
        return self._ahead(0)

    def _ahead(self, distance: int) -> Word:
        place = self._position + distance
        if place < len(self._words):
            return self._words[place]
        return Word(Kind.END, "", self._end, self._end)

    def _is_call(self) -> bool:
        word = self._next
        opening = "[" if word.keyword == "ARRAY" else "("
        return word.keyword in _CALLS and self._ahead(1).is_symbol(opening)

    # What stays: copied to its place, with names noted by where they begin

    def _keep(self, word: Word) -> None:
        self._position += 1
        written = word.text
        if word.kind is Kind.QUOTED_NAME:
            if len(word.text) - 2 != len(word.name().text) or "`" in word.name().text:
                self._refuse(word.span, Mistake.SYNTAX, "a name with quotes in it cannot be read")
            written = f"`{word.text[1:-1]}`"
        self._left[word.start - self._start : word.end - self._start] = written
        if word.kind in {Kind.NAME, Kind.QUOTED_NAME}:
            self._note_column(word)

    def _note_column(self, first: Word) -> None:
        path = [first.name()]
        place = 0
        names = {Kind.NAME, Kind.QUOTED_NAME}
        while self._ahead(place).is_symbol(".") and self._ahead(place + 1).kind in names:
            path.append(self._ahead(place + 1).name())
            place += 2
        self._columns[first.start] = Column(tuple(path), (first.start, path[-1].span[1]))

    # What is taken out

    def _mode(self) -> Mode | None:
        word, behind = self._next, self._ahead(1)
        if word.keyword not in set(Mode) or behind.kind is not Kind.NAME:
            return None
        if not self._ahead(2).is_symbol("("):
            hint = f"write {word.keyword} before FIRST, LAST or an aggregate"
            self._refuse(word.span, Mistake.SYNTAX, f"{word.keyword} cannot stand here", hint)
        if behind.keyword not in AGGREGATES | {"FIRST", "LAST"}:
            message = f"{word.keyword} cannot stand before {behind.keyword}"
            hint = "it can stand before FIRST, LAST and aggregates"
            self._refuse((word.start, behind.end), Mistake.PROCESSING_MODE, message, hint)
        self._position += 1
        return Mode(word.keyword)

    def _take_out(self, mode: Mode | None) -> None:
        name = self._words[self._position]
        start = name.start if mode is None else self._words[self._position - 1].start
        arguments = self._arguments()
        end = self._words[self._position - 1].end
        if self._next.keyword in {"OVER", "FILTER", "WITHIN"}:
            message = f"{self._next.keyword} cannot follow {name.keyword} here"
            self._refuse(self._next.span, Mistake.AGGREGATE_CLAUSE, message)
        reference = self._call(name, arguments, mode, (start, end))
        self._calls[start] = reference
        # Names of the references by place are made unique by their number; the width is kept.
        mark = f"`#{len(self._calls) - 1}".ljust(end - start - 1, "_") + "`"
        if len(mark) != end - start:
            self._refuse((start, end), Mistake.TOO_LARGE, "the expression has too many calls")
        self._left[start - self._start : end - self._start] = mark

    def _arguments(self) -> list[list[Word]]:
        """Take the words between the brackets of a call, split at the commas."""
        opening = self._words[self._position + 1]
        self._position += 2
        arguments: list[list[Word]] = [[]]
        depth = 1
        while True:
            word = self._next
            if word.kind is Kind.END:
                self._refuse(opening.span, Mistake.SYNTAX, "a bracket is never closed")
            self._position += 1
            depth += word.nesting
            if not depth:
                return arguments if arguments != [[]] else []
            if depth == 1 and word.is_symbol(","):
                arguments.append([])
            else:
                arguments[-1].append(word)

    def _call(
        self, name: Word, arguments: list[list[Word]], mode: Mode | None, span: Span
    ) -> Reference:
        for argument in arguments:
            if not argument:
                self._refuse(span, Mistake.SYNTAX, f"an argument of {name.keyword} is missing")
            self._check_clauses(name, argument)
        match name.keyword:
            case "CLASSIFIER":
                return self._classifier(arguments, span)
            case "MATCH_NUMBER":
                if arguments:
                    self._refuse(span, Mistake.ARGUMENTS, "MATCH_NUMBER takes no arguments")
                return MatchNumber(span)
            case "ARRAY":
                return ArrayOf(tuple(self._inner(argument) for argument in arguments), span)
            case "FIRST" | "LAST" | "PREV" | "NEXT":
                return self._navigation(name, arguments, mode, span)
            case _:
                return self._aggregation(name, arguments, mode, span)

    def _check_clauses(self, name: Word, argument: list[Word]) -> None:
        depth = 0
        for word, behind in zip(argument, [*argument[1:], argument[-1]], strict=True):
            depth += word.nesting
            if not depth and word.keyword == "ORDER" and behind.keyword == "BY":
                message = f"ORDER BY cannot stand in {name.keyword}"
                self._refuse(word.span, Mistake.AGGREGATE_CLAUSE, message)

    def _classifier(self, arguments: list[list[Word]], span: Span) -> Classifier:
        if not arguments:
            return Classifier(None, span)
        first = arguments[0]
        if first[0].keyword == "DISTINCT" or len(arguments) > 1:
            self._refuse(span, Mistake.ARGUMENTS, "CLASSIFIER takes at most one variable")
        if len(first) != 1 or first[0].kind not in {Kind.NAME, Kind.QUOTED_NAME}:
            message = "the argument of CLASSIFIER must be a variable"
            self._refuse(span, Mistake.CLASSIFIER_ARGUMENT, message)
        return Classifier(first[0].name(), span)

    def _navigation(
        self, name: Word, arguments: list[list[Word]], mode: Mode | None, span: Span
    ) -> Navigation:
        if not 1 <= len(arguments) <= 2:  # noqa: PLR2004 - the value, and how far
            message = f"{name.keyword} takes one or two arguments, not {len(arguments)}"
            self._refuse(span, Mistake.ARGUMENTS, message)
        if arguments[0][0].keyword == "DISTINCT":
            self._refuse(span, Mistake.ARGUMENTS, f"{name.keyword} takes no DISTINCT")
        direction = Direction(name.keyword)
        offset = 1 if direction in _SHIFTS else 0
        if len(arguments) > 1:
            offset = self._offset(name, arguments[1])
        return Navigation(direction, self._inner(arguments[0]), offset, mode, span)

    def _offset(self, name: Word, argument: list[Word]) -> int:
        span = (argument[0].start, argument[-1].end)
        word = argument[0]
        if len(argument) != 1 or word.kind is not Kind.NUMBER or not word.text.isdecimal():
            message = f"the second argument of {name.keyword} must be a whole number, 0 or more"
            self._refuse(span, Mistake.OFFSET, message)
        if len(word.text) > len(str(_MAX_OFFSET)) or int(word.text) > _MAX_OFFSET:
            message = f"the second argument of {name.keyword} goes up to {_MAX_OFFSET:,}"
            self._refuse(span, Mistake.OFFSET, message)
        return int(word.text)

    def _aggregation(
        self, name: Word, arguments: list[list[Word]], mode: Mode | None, span: Span
    ) -> Aggregation:
        function = name.keyword
        if len(arguments) != 1:
            message = f"{function} takes one argument, not {len(arguments)}"
            self._refuse(span, Mistake.ARGUMENTS, message, f"write {function}(A.column)")
        (argument,) = arguments
        is_distinct = argument[0].keyword == "DISTINCT"
        is_all = argument[0].keyword == "ALL" and not (argument[1:] and argument[1].is_symbol("."))
        if is_distinct or is_all:
            argument = argument[1:]
        if not argument:
            self._refuse(span, Mistake.SYNTAX, f"an argument of {function} is missing")
        if argument[-1].is_symbol("*") and len(argument) in {1, 3}:
            if function != "COUNT" or is_distinct:
                message = "* stands only in COUNT(*) and COUNT(V.*)"
                self._refuse(span, Mistake.STAR, message)
            rows_of = argument[0].name() if argument[1:] else None
            return Aggregation(function, None, rows_of, is_distinct=False, mode=mode, span=span)
        return Aggregation(function, self._inner(argument), None, is_distinct, mode, span)

    def _inner(self, words: list[Word]) -> Scalar:
        return read_scalar(self._text, words, self._constants)

    # The rest

    def _parsed(self, left: str) -> Node:
        for before, word in pairwise(self._words):
            if before.is_symbol(".") and word.is_symbol("*"):
                self._check_star(word)
        try:
            return parse(left, self._constants)
        except ExpressionError as error:
            raise self._relocated(error.problem.line, error.problem.column, error) from None

    def _check_star(self, word: Word) -> None:
        """Refuse `V.*` where it was not taken out with a COUNT."""
        if self._left[word.start - self._start] == "*":
            message = "* stands only in COUNT(*) and COUNT(V.*)"
            self._refuse(word.span, Mistake.STAR, message)

    def _relocated(self, line: int, column: int, error: ExpressionError) -> ClauseError:
        """Return an error of the expression as one of the clause."""
        lines = "".join(self._left).split("\n")
        offset = sum(len(above) + 1 for above in lines[: line - 1]) + column - 1
        start = min(self._start + offset, len(self._text) - 1)
        width = max(1, error.problem.snippet.count("^"))
        end = min(start + width, self._end)
        problem = problem_at(self._text, (start, max(end, start + 1)), error.message, error.hint)
        return ClauseError(Mistake.SYNTAX, problem)

    def _with_placeholders(self, node: Node, references: dict[Reference, int]) -> Node:
        if isinstance(node, Field):
            reference = self._reference(node)
            number = references.setdefault(reference, len(references))
            return Field((placeholder(number),), self._placed(node.span))
        node = rebuilt(node, lambda child: self._with_placeholders(child, references))
        return node if node.span == NOWHERE else replace(node, span=self._placed(node.span))

    def _placed(self, span: Span) -> Span:
        """Return the place in the clause of a place in the expression."""
        return (span[0] + self._start, span[1] + self._start)

    def _reference(self, field: Field) -> Reference:
        for start in (field.span[0], field.span[0] - 1):  # a quoted name may begin at its quote
            place = start + self._start
            if place in self._calls and field.path[0].startswith("#"):
                return self._calls[place]
            if place in self._columns:
                return self._columns[place]
        names = tuple(Name(name) for name in field.path)
        return Column(names, (field.span[0] + self._start, field.span[1] + self._start))

    def _refuse(self, span: Span, mistake: Mistake, message: str, hint: str = "") -> NoReturn:
        raise refusal(self._text, span, mistake, message, hint)
