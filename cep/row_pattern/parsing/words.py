"""The words of a clause: text to tokens with their places. Comments count as white space.

First step of parsing. Expressions are only cut out here; their own grammar is that of
`cep.expression`.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeVar

from cep.expression.tree import Span
from cep.row_pattern.clause import Name
from cep.row_pattern.errors import ClauseError, Mistake, refusal

Item = TypeVar("Item")

MAX_TEXT_LENGTH = 100_000
MAX_BRACKET_DEPTH = 64


class Kind(Enum):
    """The kinds of words."""

    NAME = auto()
    QUOTED_NAME = auto()
    NUMBER = auto()
    TEXT = auto()
    PARAMETER = auto()
    SYMBOL = auto()
    END = auto()


@dataclass(frozen=True, slots=True)
class Word:
    """One token: its kind, the text between `start` and `end`."""

    kind: Kind
    text: str
    start: int
    end: int

    @property
    def span(self) -> Span:
        """The place in the text."""
        return (self.start, self.end)

    @property
    def keyword(self) -> str:
        """The word in upper case if it can be a keyword, else an empty text."""
        return self.text.upper() if self.kind is Kind.NAME else ""

    @property
    def nesting(self) -> int:
        """How many levels of brackets it opens (or, below zero, closes)."""
        if self.kind is not Kind.SYMBOL:
            return 0
        return (self.text in {"(", "["}) - (self.text in {")", "]"})

    def is_symbol(self, symbol: str) -> bool:
        """Return whether it is this symbol."""
        return self.kind is Kind.SYMBOL and self.text == symbol

    @property
    def display_text(self) -> str:
        """The word as an error message names it."""
        return "the end of the text" if self.kind is Kind.END else self.text[:40]

    def name(self) -> Name:
        """Take an identifier of what `what` says; raises `ClauseError` if something else comes."""
        if self.kind is Kind.QUOTED_NAME:
            quote = self.text[0]
            text = self.text[1:-1].replace(quote * 2, quote)
            return Name(text, is_quoted=True, span=self.span)
        return Name(self.text, span=self.span)


_WORD = re.compile(
    r"""
      (?P<SPACE>\s+|--[^\n]*|/\*.*?\*/)
    | (?P<TEXT>'(?:''|[^'])*')
    | (?P<QUOTED_NAME>"(?:""|[^"])+"|`(?:``|[^`])+`)
    | (?P<NUMBER>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)
    | (?P<NAME>[^\W\d]\w*)
    | (?P<PARAMETER>(?<!:):[A-Za-z_][A-Za-z0-9_]*)
    | (?P<SYMBOL>\{-|-\}|<=>|<>|<=|>=|!=|==|\|\||[^\s\w'"`])
    """,
    re.VERBOSE | re.DOTALL,
)


def words_of(text: str) -> list[Word]:
    """Return the words of a text in order, and one of kind END after them.

    Raises:
        ClauseError: a quote or comment is never closed, or the text is too long or too deep.
    """
    if len(text) > MAX_TEXT_LENGTH:
        message = f"the clause has {len(text):,} characters, at most {MAX_TEXT_LENGTH:,} are taken"
        raise refusal(text[:80], (0, 1), Mistake.TOO_LARGE, message)
    words: list[Word] = []
    position = depth = 0
    while position < len(text):
        match = _WORD.match(text, position)
        if match is None or (text.startswith("/*", position) and match.lastgroup != "SPACE"):
            raise _unclosed(text, position)
        if match.lastgroup != "SPACE":
            words.append(Word(Kind[match.lastgroup or ""], match[0], position, match.end()))
            depth += words[-1].nesting
            if depth > MAX_BRACKET_DEPTH:
                message = f"more than {MAX_BRACKET_DEPTH} levels of brackets"
                raise refusal(text, (position, position + 1), Mistake.TOO_LARGE, message)
        position = match.end()
    return [*words, Word(Kind.END, "", len(text), len(text))]


def _unclosed(text: str, position: int) -> ClauseError:
    what = "comment" if text.startswith("/*", position) else "quote"
    return refusal(text, (position, position + 1), Mistake.SYNTAX, f"a {what} is never closed")


class WordReader:
    """The words of a text, read from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._words = words_of(text)
        self._position = 0

    @property
    def next(self) -> Word:
        """The word that has not been taken yet."""
        return self._words[self._position]

    def ahead(self, distance: int) -> Word:
        """Return the word that many places after the next one."""
        return self._words[min(self._position + distance, len(self._words) - 1)]

    def take(self) -> Word:
        """Take the next word."""
        word = self._words[self._position]
        self._position = min(self._position + 1, len(self._words) - 1)
        return word

    def takes(self, *keywords: str) -> bool:
        """Take these keywords if they come next, one after the other."""
        if all(self.ahead(place).keyword == word for place, word in enumerate(keywords)):
            for _ in keywords:
                self.take()
            return True
        return False

    def takes_symbol(self, symbol: str) -> bool:
        """Take this symbol if it comes next."""
        if self.next.is_symbol(symbol):
            self.take()
            return True
        return False

    def listed(self, read: Callable[[], Item]) -> tuple[Item, ...]:
        """Return what is read now, and again behind each comma."""
        items = [read()]
        while self.takes_symbol(","):
            items.append(read())
        return tuple(items)

    def expect(self, *keywords: str, hint: str = "") -> None:
        """Take these keywords; raises `ClauseError` if something else comes next."""
        for word in keywords:
            if not self.takes(word):
                raise self.unexpected(f"{word} is expected", hint)

    def expect_symbol(self, symbol: str, hint: str = "") -> Word:
        """Take this symbol and return it; raises `ClauseError` if something else comes next."""
        if not self.next.is_symbol(symbol):
            raise self.unexpected(f"{symbol} is expected", hint)
        return self.take()

    def name(self, what: str) -> Name:
        """Take an identifier.

        Raises:
            ClauseError: something else comes next; `what` says what the name would be of.
        """
        if self.next.kind not in {Kind.NAME, Kind.QUOTED_NAME}:
            raise self.unexpected(f"{what} is expected")
        return self.take().name()

    def unexpected(self, message: str, hint: str = "") -> ClauseError:
        """Return the error for the next word, which should be something else."""
        word = self.next
        span = word.span
        if word.kind is Kind.END:  # there is nothing to point at, so it is what comes last
            last = self.ahead(-1).end if self._position else 1
            span = (last - 1, last)
        return refusal(self.text, span, Mistake.SYNTAX, f"{message}, not {word.display_text}", hint)
