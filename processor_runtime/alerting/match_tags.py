"""What shards tell the driver of a match in the column `tag`, until it is known what goes out.

    rows of a match ──tag_rows──► `<group>:<first>:<key>:<values>` ──► groups, budgets ──► `<group>`

Only matches of rules that say which of them are one group, or have a budget, are told so. In the
end the tag of a match is the id of its group, if it has one.
"""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from contract.canonical import canonical_json
from processor_runtime.rows.output_rows import OutputRow
from processor_runtime.rules.alerts import Grouping, window_from

SEPARATOR: Final = ":"
WINDOW_DIGITS: Final = 16
"""The id of a group begins with the digits of its window, the rest is of its values."""
REST: Final = "0" * 16
"""Instead of the digits of values: all groups of a window for which there is no place."""
_MOST_SHOWN: Final = 200
_HASH_BYTES: Final = 8


class MatchTag(NamedTuple):
    """The tag of a row of a match; what does not apply is empty.

    Attributes:
        group_id: the group that the match is in, 32 hexadecimal digits.
        first_id: of further rows of a match the id of its first, so that they go where it goes.
        key: of the first row 64 well mixed bits of the key, 16 hexadecimal digits.
        values: of the first row what the group has in its columns, a list as JSON.
    """

    group_id: str = ""
    first_id: str = ""
    key: str = ""
    values: str = ""

    @classmethod
    def from_text(cls, tag: str | None) -> "MatchTag":
        """Return what `to_text` wrote."""
        return cls() if tag is None else cls(*tag.split(SEPARATOR, 3))

    def to_text(self) -> str | None:
        """Return it as text; `None` if there is nothing to tell."""
        return SEPARATOR.join(self) if any(self) else None


def tag_rows(rows: Sequence[OutputRow], grouping: Grouping | None) -> list[OutputRow]:
    """Return the rows of one match, its kind `match` among them tagged.

    A match of several rows is in the group of the first that may go out.
    """
    first = next(row for row in rows if row.kind == "match")
    of_first = MatchTag() if grouping is None else _grouped(first, grouping)
    of_others = MatchTag(of_first.group_id, first.match_id or "")
    return [
        row
        if row.kind != "match"
        else row._replace(tag=(of_first if row is first else of_others).to_text())
        for row in rows
    ]


def _grouped(row: OutputRow, grouping: Grouping) -> MatchTag:
    columns = row.columns()
    values = [columns.get(name) for name in grouping.by]
    time_ms = row.end_ms or 0
    from_ms = window_from(time_ms, grouping.for_ms)
    window = [row.processor_id, from_ms, grouping.for_ms, grouping.by]
    group_id = _hash(canonical_json(window)) + _hash(canonical_json(values))
    shown = canonical_json([_shown(value) for value in values])
    return MatchTag(group_id, key=_hash(row.key or ""), values=shown)


def _hash(text: str) -> str:
    return blake2b(text.encode(), digest_size=_HASH_BYTES).hexdigest()


def _shown(value: Any) -> Any:
    """Return a value as the row of its group has it: a long one shortened, as text."""
    if value is None or isinstance(value, bool | int | float):
        return value
    text = value if isinstance(value, str) else canonical_json(value)
    if len(text) > _MOST_SHOWN:
        return f"{text[:_MOST_SHOWN]}…"
    return value
