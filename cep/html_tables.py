"""Results as HTML tables, for notebooks: what Jupyter shows of a value.

columns, rows ──table──► HTML that needs no style sheet of its own; every cell is escaped
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from itertools import islice
from typing import Any, Final, Protocol

from cep.instants import iso_text

_MOST_ROWS: Final = 50
_LONGEST_CELL: Final = 300


class MatchLike(Protocol):
    """A match, or a partial match whose window closed; see `cep.matching.find_matches`."""

    @property
    def is_timeout(self) -> bool:
        """Whether it is no match."""

    @property
    def steps(self) -> Mapping[str, Sequence[Any]]:
        """Its events by step."""

    @property
    def time_ms(self) -> int:
        """When it was found, in event time."""

    @property
    def key(self) -> object:
        """Its key; `None` if there are no keys."""


def found_table(found: Sequence[MatchLike], *notes: str) -> str:
    """Return a table with a line for each match: what it is, when, of which key, which events."""

    def row(each: MatchLike) -> Iterator[Any]:
        yield "timeout" if each.is_timeout else "match"
        yield iso_text(each.time_ms)
        if is_keyed:
            yield ", ".join(map(str, each.key)) if isinstance(each.key, tuple) else each.key
        yield ", ".join(_counted(name, len(events)) for name, events in each.steps.items())

    is_keyed = any(each.key is not None for each in found)
    columns = ["", "time", *(["key"] if is_keyed else []), "events"]
    return table(columns, map(row, found), len(found), "" if found else "nothing found", *notes)


def events_table(found: MatchLike) -> str:
    """Return a table with a line for each event of a match, in the order of its steps."""
    taken = [(step, event) for step, events in found.steps.items() for event in events]
    # Events are mappings, or all of them are other objects.
    names = list(dict.fromkeys(name for _, event in taken for name in _columns_of(event)))
    rows = ([step, *_cells(event, names)] for step, event in taken)
    return table(["step", *(names or ["event"])], rows, len(taken))


def _columns_of(event: Any) -> Iterable[str]:
    return map(str, event) if isinstance(event, Mapping) else ()


def _cells(event: Any, names: Sequence[str]) -> Iterator[Any]:
    if not isinstance(event, Mapping):
        yield event
        return
    values = dict(zip(_columns_of(event), event.values(), strict=True))
    yield from (values.get(name) for name in names)


def _counted(name: str, count: int) -> str:
    return name if count == 1 else f"{name} \N{MULTIPLICATION SIGN} {count}"


def table(columns: Sequence[str], rows: Iterable[Iterable[Any]], count: int, *notes: str) -> str:
    """Return a table of the first 50 rows, out of `count`; `None` is shown as NULL.

    Notes are lines below the table; empty ones are left out.
    """
    head = "".join(f"<th>{_text(name)}</th>" for name in columns)
    body = "".join(
        f"<tr>{''.join(map(_cell, row))}</tr>" for row in islice(rows, min(count, _MOST_ROWS))
    )
    more = f"… and {count - _MOST_ROWS:,} more" if count > _MOST_ROWS else ""
    below = "".join(f"<p>{_text(note)}</p>" for note in (more, *notes) if note)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}"


def _cell(value: Any) -> str:
    if value is None:
        return "<td><i>NULL</i></td>"
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    style = ' style="text-align: right"' if is_number else ""
    return f"<td{style}>{_text(str(value))}</td>"


def _text(text: str) -> str:
    shown = text if len(text) <= _LONGEST_CELL else f"{text[: _LONGEST_CELL - 1]}…"
    # A name that is written from right to left must not reorder what stands around it.
    return f'<bdi style="white-space: pre-wrap">{escape(shown)}</bdi>'
