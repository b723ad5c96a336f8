"""Runs a corpus against the product: `python -m tests.conformance.run windows FILE...`.

    cases of a file ──corpus──► `n of n right`; else the ids of the others, and exit code 1

Files are JSON Lines, plain or compressed (`.gz`). What the product has no words for is not right.
"""

import gzip
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tests.conformance.windows.job import is_right

CORPORA: Final[Mapping[str, Callable[[dict[str, Any]], bool]]] = {"windows": is_right}
"""What tells of each corpus whether a case is right."""


def cases_of(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the cases of a file."""
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    yield from map(json.loads, text.splitlines())


def main(arguments: Sequence[str]) -> int:
    """Run what the command line names; return its exit code."""
    corpus, *files = arguments or [""]
    if corpus not in CORPORA or not files:
        print(f"usage: python -m tests.conformance.run {'|'.join(CORPORA)} FILE...")  # noqa: T201
        return 2
    is_case_right = CORPORA[corpus]
    cases = [case for file in files for case in cases_of(Path(file))]
    wrong = []
    for case in cases:
        try:
            is_right = is_case_right(case)
        except Exception as error:  # noqa: BLE001 - one case never stops the others
            print(f"{case['id']}: {error!r}", file=sys.stderr)  # noqa: T201
            is_right = False
        if not is_right:
            wrong.append(case["id"])
            print(case["id"])  # noqa: T201
    print(f"{len(cases) - len(wrong)} of {len(cases)} right")  # noqa: T201
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
