"""Payments of which nearly each completes a match, as files of CSV, and rules that find them."""

import os
from pathlib import Path
from typing import Final

from tests.letters import followed
from tests.processor_runtime.rule_documents import Document, put_job, rule_of, stream_of

BEGIN_MS: Final = 1_767_225_600_000
STREAM: Final = stream_of("payments", "ts BIGINT, user STRING, action STRING, amount DOUBLE")


def _rule(number: int) -> Document:
    pay = ("pay", f"action = 'pay' AND amount > {number}")
    pattern = followed(("fail", "action = 'fail'"), pay, within="10 seconds")
    select = {"amount": "pay.amount", "user": "fail.user"}
    return rule_of(f"pair-{number}", "payments", pattern, key_by=["user"], select=select)


RULES: Final = [_rule(number) for number in range(3)]
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
    put_job(folder, STREAM, *RULES)
    for file in range(files):
        lines = ["ts,user,action,amount"]
        for number in range(file * events_per_file, (file + 1) * events_per_file):
            action = "fail" if number // 4 % 2 == 0 else "pay"
            lines.append(f"{BEGIN_MS + number},{_USERS[number % 4]},{action},{number % 7}.5")
        path = folder / "in" / f"{file}.csv"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        os.utime(path, (file + 1, file + 1))  # Spark reads files in the order of their times
