"""The parts of a Markdown page that can be run: fenced blocks, rows of tables, links."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]
"""What users read."""


@dataclass(frozen=True, slots=True)
class Fence:
    """One fenced block; `line` counts from 1 and is that of its first fence mark."""

    page: str
    line: int
    heading: str
    language: str
    text: str


def fences(page: str) -> list[Fence]:
    """Return the fenced blocks of a page, given by its path in the repository."""
    found: list[Fence] = []
    heading = ""
    tokens = _tokens(page)
    for number, token in enumerate(tokens):
        if token.type == "heading_open":
            heading = tokens[number + 1].content
        elif token.type == "fence":
            found.append(Fence(page, _line(token), heading, token.info.strip(), token.content))
    return found


def rows(page: str, *columns: str) -> list[dict[str, str]]:
    """Return the rows of all tables of a page that have exactly these columns, cells by column."""
    found: list[dict[str, str]] = []
    head: list[str] = []
    cells: list[str] = []
    tokens = _tokens(page)
    for number, token in enumerate(tokens):
        match token.type:
            case "th_open" | "td_open":
                cells.append(tokens[number + 1].content)
            case "tr_open":
                cells = []
            case "thead_close":
                head = cells
            case "tr_close" if head == list(columns):
                found.append(dict(zip(head, cells, strict=True)))
            case "table_close":
                head = []
            case _:
                pass
    return found


def links(page: str) -> Iterator[str]:
    """Yield the targets of the links and images of a page."""
    for token in _tokens(page):
        for inline in token.children or ():
            target = inline.attrGet("href") or inline.attrGet("src")
            if target is not None:
                yield str(target)


@cache
def _tokens(page: str) -> list[Token]:
    return MarkdownIt().enable("table").parse((ROOT / page).read_text(encoding="utf-8"))


def _line(token: Token) -> int:
    return token.map[0] + 1 if token.map else 0
