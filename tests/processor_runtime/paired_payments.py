"""Payments of which nearly each completes a match, as files of CSV, and rules that find them."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import yaml

BEGIN_MS: Final = 1_767_225_600_000
STREAM: Final = {
    "name": "payments",
    "schema": "ts BIGINT, user STRING, action STRING, amount DOUBLE",
    "event_time_column": "ts",
}
RULES: Final[Sequence[dict[str, Any]]] = [
    {
        "id": f"pair-{number}",
        "stream": "payments",
        "pattern": {
            "steps": [
                {"name": "fail", "where": "action = 'fail'"},
                {
                    "name": "pay",
                    "contiguity": "followed_by",
                    "where": f"action = 'pay' AND amount > {number}",
                },
            ],
            "within": "10 seconds",
        },
        "key_by": ["user"],
        "select": {"amount": "pay.amount", "user": "fail.user"},
    }
    for number in range(3)
]
SOURCE: Final = {
    "format": "csv",
    "path": "in",
    "options": {"header": "true"},
    "max_files_per_batch": 1,
}
"""The source of a job that runs in the folder; each batch reads a file."""
_USERS: Final = ("ana", "b\\ob", "é 日", "dan/1")
"""Names that JSON writes in a way of its own."""


def put_payments(folder: Path, files: int, events_per_file: int) -> None:
    """Write files of events to `folder/in`, and the rules to `folder/rules`."""
    for name in ("in", "rules"):
        (folder / name).mkdir(parents=True)
    rules = yaml.safe_dump([STREAM, *RULES], allow_unicode=True)
    (folder / "rules" / "rules.yaml").write_text(rules, encoding="utf-8")
    for file in range(files):
        lines = ["ts,user,action,amount"]
        for number in range(file * events_per_file, (file + 1) * events_per_file):
            action = "fail" if number // 4 % 2 == 0 else "pay"
            lines.append(f"{BEGIN_MS + number},{_USERS[number % 4]},{action},{number % 7}.5")
        path = folder / "in" / f"{file}.csv"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        os.utime(path, (file + 1, file + 1))  # Spark reads files in the order of their times
