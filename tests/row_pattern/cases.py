"""The conformance cases of MATCH_RECOGNIZE; the format is described in `README.md` beside this."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

VECTORS = Path(__file__).parent / "vectors"
FILES = ("trino", "flink", "fuzz", "errors")


@dataclass(frozen=True, slots=True)
class Case:
    """A query over some rows, and its answer: rows by column, or the code and phase of an error."""

    id: str
    columns: Mapping[str, str]
    rows: tuple[tuple[Any, ...], ...]
    query: str
    expected_columns: tuple[str, ...] | None
    expected_rows: tuple[tuple[Any, ...], ...]
    error: str | None
    phase: str | None
    features: frozenset[str]


@cache
def load(file: str) -> tuple[Case, ...]:
    """Return the cases of a vector file, named without its suffix, in file order."""
    lines = (VECTORS / f"{file}.jsonl").read_text(encoding="utf-8").splitlines()
    return tuple(_case(json.loads(line)) for line in lines)


def _case(record: Mapping[str, Any]) -> Case:
    expected = record["expected"]
    columns = expected.get("columns")
    return Case(
        id=record["id"],
        columns=record["columns"],
        rows=tuple(tuple(row) for row in record["rows"]),
        query=record["query"],
        expected_columns=None if columns is None else tuple(columns),
        expected_rows=tuple(tuple(row) for row in expected.get("rows", ())),
        error=expected.get("error"),
        phase=expected.get("phase"),
        features=frozenset(record["features"]),
    )


def is_same(found: Any, expected: Any) -> bool:
    """Return whether two values, rows or lists of rows are equal; numbers within 1e-6."""
    if isinstance(expected, list | tuple):
        return (
            isinstance(found, list | tuple)
            and len(found) == len(expected)
            and all(map(is_same, found, expected))
        )
    if isinstance(found, bool) or isinstance(expected, bool):
        return found is expected
    if isinstance(found, int | float) and isinstance(expected, int | float):
        return math.isclose(found, expected, rel_tol=1e-6, abs_tol=1e-12)
    return bool(found == expected)


def by_partition(rows: Sequence[Sequence[Any]], key: int) -> list[Sequence[Any]]:
    """Return rows sorted by their first `key` columns, which is stable within a partition."""
    return sorted(rows, key=lambda row: repr(tuple(row[:key])))


def same_rows(case: Case, found: Sequence[Sequence[Any]]) -> bool:
    """Return whether the rows are those expected; the order of partitions does not matter."""
    key = _partition_columns(case.query)
    return is_same(by_partition(found, key), by_partition(case.expected_rows, key))


def _partition_columns(query: str) -> int:
    _, found, behind = query.partition("PARTITION BY")
    if not found:
        return 0
    for word in ("ORDER BY", "MEASURES", "ALL ROWS", "ONE ROW", "AFTER", "PATTERN", "INITIAL"):
        behind = behind.partition(word)[0]
    return behind.count(",") + 1
