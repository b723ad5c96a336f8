"""docs/decisions/README.md, written from the records: which are in force, which others replaced.

    heading and **State.** of each record ──► a list for each state

`python docs/decisions_index.py` writes what stands below the beginning of the page, which is
written by hand. A test compares it.
"""

import re
from collections import defaultdict
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent / "decisions"
PAGE: Final = FOLDER / "README.md"
STATES: Final = ("Accepted", "Superseded in part", "Superseded", "Withdrawn")
_LINKS: Final = r"\[[^]]*\]\([^)]*\)(?:(?:,| and)\s+\[[^]]*\]\([^)]*\))*"
_STATE: Final = re.compile(
    rf"^\*\*State\.\*\* ({'|'.join(STATES[1:])}) by ({_LINKS})", re.MULTILINE
)


def page() -> str:
    """Return the whole page, with the beginning that it has."""
    beginning, _, _ = PAGE.read_text(encoding="utf-8").partition("\n## Accepted\n")
    parts = [beginning.rstrip()]
    found = _records()
    parts += [f"## {state}\n\n" + "\n".join(found[state]) for state in STATES if state in found]
    return "\n\n".join(parts) + "\n"


def _records() -> dict[str, list[str]]:
    """Return a line for each record by state; a record that says nothing is accepted."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(FOLDER.glob("[0-9]*.md")):
        text = path.read_text(encoding="utf-8")
        title = re.sub(r"^0*(\d+)\.? ", r"\1. ", text.partition("\n")[0].removeprefix("# "))
        said = _STATE.search(text)
        state, by = (said[1], f", by {' '.join(said[2].split())}") if said else ("Accepted", "")
        found[state].append(f"* [{title}]({path.name}){by}")
    return found


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
