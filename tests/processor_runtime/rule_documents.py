"""Documents of streams and rules as people write them, and the folder of a job that has them."""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

Document = dict[str, Any]
FAILED_THEN_IN = ("fail", "action = 'fail'"), ("login", "action = 'login'")
"""Steps of somebody who fails to log in, and logs in."""


def stream_of(name: str, schema: str, **keys: Any) -> Document:
    """Return a stream whose event time is in the column `ts`."""
    return {"name": name, "schema": schema, "event_time_column": "ts", **keys}


def rule_of(rule_id: str, stream: str, pattern: Document, **keys: Any) -> Document:
    return {"id": rule_id, "stream": stream, "pattern": pattern, **keys}


def put_job(folder: Path, *documents: Mapping[str, Any]) -> Path:
    """Write `folder/rules`, with `folder/in` beside it for events; return the folder."""
    for name in ("in", "rules"):
        (folder / name).mkdir(parents=True)
    write_rules(folder, *documents)
    return folder


def write_rules(folder: Path, *documents: Mapping[str, Any]) -> None:
    """Write these documents in place of all before."""
    text = yaml.safe_dump_all(documents, allow_unicode=True)
    (folder / "rules" / "rules.yaml").write_text(text, encoding="utf-8")


def put_events(directory: Path, batches: Iterable[Sequence[Mapping[str, Any]]]) -> None:
    """Write a file of JSON lines for each batch, which Spark reads in this order."""
    for number, events in enumerate(batches):
        path = directory / f"{number}.json"
        path.write_text("\n".join(map(json.dumps, events)), encoding="utf-8")
        os.utime(path, (1_000 + number, 1_000 + number))
