"""Sets of real events whose rules are written twice, as patterns and as SQL: see `tests/data`.

events ──► files of a source, in order of arrival ──job──► rows ─┐
    └──► DuckDB table `events` ──rule.sql──► what must be found ─┴─► equal
"""

import gzip
import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Final, Literal

import duckdb
import polars as pl
from pydantic_core import from_json

from cep.pattern.document.files import read_documents
from tests.processor_runtime.written_rows import Row, Steps, ids_by_step

ROOT: Final = Path(__file__).parents[3]
DATA: Final = ROOT / "tests" / "data"

Found = tuple[tuple[Any, ...], Steps, int | None]
"""Key, ids of the events by step, and when it was found, in milliseconds, where SQL says so."""


@dataclass(frozen=True, slots=True)
class DataSet:
    """Events in a file, in order of their `event_id`, and the folder with their rules.

    Events come up to `delay_ms` late. `format` is that of the files a job reads.
    """

    name: str
    path: Path
    format: Literal["json", "parquet"]
    delay_ms: int = 0

    @property
    def rules(self) -> Path:
        """The folder with a document, and one or two queries, per rule."""
        return DATA / self.name / "rules"

    def read(self) -> pl.DataFrame:
        """Return the events as they are in the file."""
        if self.path.suffix == ".gz":
            text = gzip.decompress(self.path.read_bytes())
            return pl.read_ndjson(text, infer_schema_length=None)
        return pl.read_parquet(self.path)

    def write_source(self, folder: Path, files: int) -> None:
        """Write the events to files, in order of arrival, and a last one far ahead in time."""
        events = self.read()
        random = Random(self.name)  # noqa: S311 - any order of arrival, but always the same
        arrivals = [time_ms + random.randint(0, self.delay_ms) for time_ms in _times_ms(events)]
        arriving = events[sorted(range(len(events)), key=arrivals.__getitem__)]
        types = {name: events.schema[name] for name in ("event_id", "ts")}
        last_time = "2020-01-01T00:00:00Z" if self.format == "json" else datetime(2020, 1, 1)  # noqa: DTZ001 - without zone, as the others in Parquet
        last = pl.DataFrame({"event_id": [0], "ts": [last_time]}, schema=types)
        size = -(-len(events) // files)
        parts = [arriving[begin : begin + size] for begin in range(0, len(events), size)]
        for number, part in enumerate([*parts, pl.concat([events[:0], last], how="diagonal")]):
            path = folder / f"{number:02}.{self.format}"
            if self.format == "json":
                part.write_ndjson(path)
            else:
                part.write_parquet(path)
            os.utime(path, (number, number))  # Spark reads files in order of their age

    def table(self) -> duckdb.DuckDBPyConnection:
        """Return a database with the table `events`, whose times are in UTC."""
        connection = duckdb.connect()
        connection.register("source", self.read().to_arrow())
        connection.execute(
            "CREATE TABLE events AS SELECT * REPLACE (ts::TIMESTAMP AS ts) FROM source"
        )
        return connection


DATA_SETS: Final = {
    data_set.name: data_set
    for data_set in (
        DataSet("ssh_auth", ROOT / "examples/ssh_auth/events.jsonl.gz", "json"),
        DataSet("wiki_edits", DATA / "wiki_edits/edits.jsonl.gz", "json", delay_ms=60_000),
        DataSet("online_retail", DATA / "online_retail/line_items.parquet", "parquet"),
    )
}


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule and the query that finds the same; `kind` is that of the rows compared."""

    data_set: str
    query: Path

    @property
    def kind(self) -> str:
        """`match`, or `timeout` for a query that ends in `.timeouts.sql`."""
        return "timeout" if self.query.stem.endswith(".timeouts") else "match"

    @property
    def document(self) -> Path:
        """The document of the processor beside the query."""
        return self.query.with_name(f"{self.query.name.split('.')[0]}.yaml")

    @property
    def processor_id(self) -> str:
        (document,) = read_documents(self.document.read_text(encoding="utf-8"), ".yaml")
        return str(document.data["id"])

    def found_by_sql(self, table: duckdb.DuckDBPyConnection) -> list[Found]:
        """Return what the query finds.

        Its columns are the `key` as a JSON array, perhaps `found_at`, and an id or a list of ids
        per step, NULL where a step took none.
        """
        result = table.execute(self.query.read_text(encoding="utf-8"))
        names = [column[0] for column in result.description or ()]
        return [_found(dict(zip(names, row, strict=True))) for row in result.fetchall()]

    @property
    def is_timed(self) -> bool:
        """Whether the query says when each match is found."""
        return "found_at" in self.query.read_text(encoding="utf-8")

    def found_by_job(self, rows: Iterable[Row]) -> list[Found]:
        """Return what rows of a job say was found."""
        wanted, is_timed = (self.processor_id, self.kind), self.is_timed
        own = (row for row in rows if (row.get("processor_id"), row["kind"]) == wanted)
        return [
            (
                tuple(row["key"]),
                tuple(sorted(ids_by_step(row))),
                row["end_ms"] if is_timed else None,
            )
            for row in own
        ]


@cache
def rules(name: str) -> tuple[Rule, ...]:
    return tuple(Rule(name, path) for path in sorted(DATA_SETS[name].rules.glob("*.sql")))


def _found(row: dict[str, Any]) -> Found:
    key, found_at = tuple(from_json(row.pop("key"))), row.pop("found_at", None)
    steps = {
        name: tuple(ids) if isinstance(ids, list) else (ids,)
        for name, ids in row.items()
        if ids is not None
    }
    return key, tuple(sorted(steps.items())), None if found_at is None else _time_ms(found_at)


def _times_ms(events: pl.DataFrame) -> list[int]:
    times = events.get_column("ts")
    if times.dtype == pl.String:
        times = times.str.to_datetime(time_zone="UTC")
    return times.dt.epoch("ms").to_list()


def _time_ms(time: datetime) -> int:
    epoch = datetime(1970, 1, 1)  # noqa: DTZ001 - DuckDB's times have no zone
    return round((time - epoch).total_seconds() * 1_000)
