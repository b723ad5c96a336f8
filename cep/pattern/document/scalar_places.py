"""A text in YAML → where its characters stand in the source: `text` keeps it with every key.

A condition or a clause may be written plainly, in quotes with escapes, or as a block of lines.
What is wrong at a line and column of its value is shown at a line and column of the document.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import yaml

_SPACES: Final = re.compile(r"[ \t\r\n\x85\u2028\u2029]+")
_ONE_BREAK: Final = r"\r\n|[\r\n\x85\u2028\u2029]"
_BREAK: Final = re.compile(_ONE_BREAK)
_ESCAPE: Final = re.compile(rf"\\(?:x.{{2}}|u.{{4}}|U.{{8}}|(?:{_ONE_BREAK})[ \t]*|.)", re.DOTALL)
_LITERAL: Final = "|"
_FOLDED: Final = ">"


@dataclass(frozen=True, slots=True)
class ScalarPlace:
    """A text and where it stands: `begin` to `end` are offsets into the source."""

    source: str
    begin: int
    end: int
    style: str
    value: str

    @classmethod
    def of(cls, node: yaml.Node, source: str) -> "ScalarPlace | None":
        """Return the place of a node in its source; `None` if it is no text."""
        if not isinstance(node, yaml.ScalarNode):
            return None
        begin, end = node.start_mark.index, node.end_mark.index
        return cls(source, begin, end, node.style or "", node.value)

    def of_offset(self, offset: int) -> tuple[int, int] | None:
        """Return line and column in the source, from 1, of a character of the value.

        `None` if the two cannot be brought together, as with tags that change a value.
        """
        places = _places(self)
        if len(places) != len(self.value) or not 0 <= offset <= len(places):
            return None
        last = places[-1] + 1 if places else self.begin
        return self._line_and_column(places[offset] if offset < len(places) else last)

    def of_line(self, line: int, column: int) -> tuple[int, int] | None:
        """Return line and column in the source of a line and column of the value, all from 1."""
        lines = self.value.split("\n")
        if not 0 < line <= len(lines) or column < 1:
            return None
        before = sum(len(each) + 1 for each in lines[: line - 1])
        return self.of_offset(before + min(column - 1, len(lines[line - 1])))

    def _line_and_column(self, place: int) -> tuple[int, int]:
        breaks = list(_BREAK.finditer(self.source, 0, place))
        begin = breaks[-1].end() if breaks else 0
        return len(breaks) + 1, place - begin + 1

    def places(self) -> Iterator[int]:
        """Yield the offset into the source of each character of the value."""
        return self._of_block() if self.style in {_LITERAL, _FOLDED} else self._of_flow()

    def _of_flow(self) -> Iterator[int]:
        quotes = len(self.style)
        place, end = self.begin + quotes, self.end - quotes
        while place < end:
            if spaces := _SPACES.match(self.source, place, end):
                following = spaces.end()
                if breaks := len(_BREAK.findall(spaces[0])):
                    # A line break is a space; of several, the first one goes.
                    yield from [place] * max(breaks - 1, 1)
                else:
                    yield from range(place, following)
            elif self.style == '"' and (escape := _ESCAPE.match(self.source, place, end)):
                following = escape.end()
                if not _BREAK.match(escape[0], 1):
                    yield place
            else:
                following = place + (2 if self.source[place] == self.style == "'" else 1)
                yield place
            place = following

    def _of_block(self) -> Iterator[int]:
        header = _BREAK.search(self.source, self.begin, self.end)
        if header is None:
            return
        lines = _lines(self.source, header.end(), self.end)
        indent = self._indent(lines)
        taken = 0
        for begin, end in lines:
            content = min(begin + indent, end)
            yield from range(content, end)
            taken += end - content
            # In a folded block a break may be a space, or nothing before empty lines.
            if self.value[taken : taken + 1] in {"\n", " "}:
                yield end
                taken += 1

    def _indent(self, lines: list[tuple[int, int]]) -> int:
        written = (self.source[slice(*line)] for line in lines)
        return _leading_spaces(written) - _leading_spaces(self.value.split("\n"))


@lru_cache(maxsize=1)  # all that is wrong with a long clause comes one after the other
def _places(scalar: ScalarPlace) -> tuple[int, ...]:
    return tuple(scalar.places())


def _leading_spaces(lines: Iterable[str]) -> int:
    """Return how many spaces the first line that has something else begins with."""
    first = next((line for line in lines if line.strip(" ")), "")
    return len(first) - len(first.lstrip(" "))


def _lines(source: str, begin: int, end: int) -> list[tuple[int, int]]:
    lines = []
    for found in _BREAK.finditer(source, begin, end):
        lines.append((begin, found.start()))
        begin = found.end()
    return [*lines, (begin, end)] if begin < end else lines
