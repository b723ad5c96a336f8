"""Real sign-ins of servers as many small files, in order of arrival, and rules that change.

examples/ssh_auth ──delayed at random──► files of the source, a last event far ahead
tests/data/ssh_auth/rules ──► the documents at first ──Change, Change, …──► at last
"""

import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Any, Final

import polars as pl
from pydantic_core import from_json

from cep.expression import Schema
from cep.pattern.document.files import read_documents
from tests.letters import followed, with_step
from tests.processor_runtime.spark.data_sets import DATA_SETS

DATA_SET: Final = DATA_SETS["ssh_auth"]
DELAY_MS: Final = 60_000
FILES: Final = 60
STREAM: Final[Mapping[str, Any]] = {
    "name": "ssh_auth",
    "schema": (
        "event_id BIGINT, ts TIMESTAMP, host STRING, pid BIGINT, event_type STRING, user STRING, "
        "src_ip STRING, auth_method STRING, service STRING"
    ),
    "event_time_column": "ts",
    "allowed_delay_ms": DELAY_MS,
    "order_by": ["event_id"],
}
SCHEMA: Final = Schema.from_ddl(str(STREAM["schema"]))
SENTINEL_MS: Final = 1_577_836_800_000
"""The beginning of 2020, years after the last event."""
SENTINEL: Final = {"event_id": 0, "ts": "2020-01-01T00:00:00Z", "event_type": "none"}

Event = dict[str, Any]
Document = dict[str, Any]


def events() -> list[Event]:
    """Return all events, by time."""
    lines = gzip.decompress(DATA_SET.path.read_bytes()).splitlines()
    columns = {name for name, _ in SCHEMA.columns}
    return [
        {name: value for name, value in from_json(line).items() if name in columns}
        for line in lines
    ]


def arriving(random: Random, files: int = FILES, later_ms: int = 0) -> list[list[Event]]:
    """Return the events as files of a source: in order of arrival, each no later than allowed."""
    at = {event["event_id"]: time_ms for event, time_ms in zip(events(), _times_ms(), strict=True)}
    order = sorted(events(), key=lambda event: at[event["event_id"]] + random.randint(0, DELAY_MS))
    size = -(-len(order) // files)
    parts = [order[begin : begin + size] for begin in range(0, len(order), size)]
    return [[_moved(event, later_ms) for event in part] for part in [*parts, [SENTINEL]]]


def _moved(event: Event, later_ms: int) -> Event:
    instant = datetime.fromisoformat(event["ts"]) + timedelta(milliseconds=later_ms)
    return event | {"ts": f"{instant:%Y-%m-%dT%H:%M:%SZ}"}


def frame() -> pl.DataFrame:
    """Return all events in order of time and id, with `time_ms`."""
    found = pl.DataFrame(events(), infer_schema_length=None)
    times = found["ts"].str.to_datetime(time_zone="UTC")
    return (
        found.with_columns(times.alias("ts"), times.dt.epoch("ms").alias("time_ms"))
        .select(*(name for name, _ in SCHEMA.columns), "time_ms")
        .sort("time_ms", "event_id")
    )


def _times_ms() -> list[int]:
    return frame().sort("event_id")["time_ms"].to_list()


def rule(name: str, **changes: Any) -> Document:
    """Return the document of a rule of the data set, with changes to it and to its pattern."""
    path = DATA_SET.rules / f"{name.replace('-', '_')}.yaml"
    (document,) = read_documents(path.read_text(encoding="utf-8"), ".yaml")
    data = dict(document.data)
    of_pattern = {key: changes.pop(key) for key in ("steps", "within") if key in changes}
    return data | {"pattern": data["pattern"] | of_pattern} | changes


@dataclass(frozen=True, slots=True)
class Change:
    """What is changed once the source has been given `due` files; `None` deletes a rule."""

    due: int
    rules: Mapping[str, Document | None]


def _change(due: int, name: str, **changes: Any) -> Change:
    return Change(due, {name: rule(name, **changes)})


AT_FIRST: Final[Mapping[str, Document]] = {
    name: rule(name)
    for name in (
        "commands-while-signed-in",
        "password-guessed",
        "refused-connection",
        "session-left-open",
        "three-failures-in-a-row",
    )
}
_FAILED: Final = ("failed", "event_type = 'auth_failed'")
_ACCEPTED: Final = ("accepted", "event_type = 'auth_accepted'")
_FOUR: Final = {"times": {"from": 4, "to": None}, "greedy": True}
_FOUR_FAILURES: Final = with_step(followed(_FAILED, _ACCEPTED), 0, **_FOUR)["steps"]
CHANGES: Final = (
    _change(4, "user-enumeration"),
    _change(12, "refused-connection", within="1 minute", on_update="drain"),
    _change(20, "user-enumeration", within="10 minutes"),
    _change(38, "session-left-open", paused=True),
    _change(42, "commands-while-signed-in", within="1 hour", on_update="drain"),
    Change(
        46,
        {
            "session-left-open": rule("session-left-open"),
            "three-failures-in-a-row": rule("three-failures-in-a-row", key_by=["src_ip"]),
        },
    ),
    _change(50, "password-guessed", steps=_FOUR_FAILURES),
    Change(54, {"three-failures-in-a-row": None}),
)
"""One per promise: added, drained, replaced, paused, resumed, replaced with another key, deleted.

They come where the data set has something for the rule, before and after.
"""
