"""How two documents differ, as people read it: lines of YAML with + and - in front."""

import json
from collections.abc import Mapping, Sequence
from difflib import unified_diff
from typing import Any, Final

import yaml

_CONTEXT_LINES: Final = 2
_LONGEST_LINE: Final = 160


def yaml_text(documents: Sequence[Mapping[str, Any]]) -> str:
    """Return documents as YAML, keys in the order they have."""
    # PyYAML writes some line breaks, such as U+0085, as they are and reads a space back.
    printable = json.dumps(documents, ensure_ascii=False).isprintable()
    text: str = yaml.safe_dump_all(documents, sort_keys=False, allow_unicode=printable, width=100)
    return text


def text_diff(
    before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]
) -> tuple[str, ...]:
    """Return the lines that differ, with some around them; long ones, such as code, are cut."""
    old, new = (yaml_text(documents).splitlines() for documents in (before, after))
    lines = list(unified_diff(old, new, n=_CONTEXT_LINES, lineterm=""))[2:]
    return tuple(_cut(line) for line in lines)


def _cut(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - 1]}…"
