"""Rows of a batch, as the job gives them to its outputs."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import TypeAdapter
from pyspark.sql import DataFrame

from processor_runtime.job_file.outputs import Output
from processor_runtime.reporting import RuleService
from processor_runtime.rows import output_rows
from processor_runtime.spark.sinks import SinkSurroundings

START_MS = 1_799_999_900_123
SCHEMA = (
    pl.DataFrame(schema=output_rows.SCHEMA).to_arrow(compat_level=pl.CompatLevel.oldest()).schema
)

Values = dict[str, Any]
Frame = Callable[..., DataFrame]
"""Makes rows the frame of a batch."""


def match(number: int = 1, **changes: Any) -> Values:
    """Return a match; ids rise with numbers."""
    return {
        "kind": "match",
        "processor_id": "failed-logins",
        "version": 2,
        "epoch": 3,
        "key": '["eve"]',
        "match_id": f"{number:032x}",
        "start_ms": START_MS,
        "end_ms": START_MS + 1_000 * number,
        "output": json.dumps({"user": "eve", "failures": number}),
        "events": '{"fail":[{"user":"eve"}]}',
    } | changes


def late(user: str = "ana") -> Values:
    times = {"start_ms": START_MS, "end_ms": START_MS}
    return {"kind": "late", "epoch": 3, "events": json.dumps({"user": user})} | times


def error(**changes: Any) -> Values:
    """Return a processor's error."""
    told = {"reason": "processor", "message": "KeyError: 'amount'", "traceback": "line 1\nline 2"}
    return {
        "kind": "error",
        "processor_id": "broken",
        "version": 1,
        "epoch": 3,
        "error": json.dumps(told),
    } | changes


def side(tag: str, **changes: Any) -> Values:
    return match(**{"kind": "side", "tag": tag} | changes)


def output(**keys: Any) -> Any:
    adapter: TypeAdapter[Output] = TypeAdapter(Output)
    return adapter.validate_python(keys)


def surroundings(
    checkpoint_id: str = "checkpoint-1",
    environment: Mapping[str, str] | None = None,
    service: RuleService | None = None,
) -> SinkSurroundings:
    return SinkSurroundings("main", "logins", checkpoint_id, environment or {}, service)


def files_in(folder: Path, pattern: str) -> list[str]:
    """Return the paths of files as the documented pattern finds them, sorted."""
    return sorted(str(path.relative_to(folder)) for path in folder.glob(pattern))
