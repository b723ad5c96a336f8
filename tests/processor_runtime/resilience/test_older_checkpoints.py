"""A job goes on from the checkpoint of an older version as if it had never been stopped.

    archive ──unpack──► checkpoint, first half ──`percept run`, all files──► rows ─┐
                               all files, no checkpoint ──`percept run`──► rows ───┴─► equal

Nothing in here knows a module of the job, as modules are what changes between versions.
"""

import json
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.processor_runtime.resilience.checkpoints.archive import ENVIRONMENT, unpack
from tests.processor_runtime.resilience.job_process import JobProcess, files_read, numbers
from tests.processor_runtime.written_rows import KINDS, Row, written

pytestmark = [pytest.mark.spark, pytest.mark.long]

CHECKPOINTS: Final = Path(__file__).with_name("checkpoints")
ARCHIVES: Final = ("2026-11-22",)
"""See `checkpoints/README.md` for which version wrote each."""

COMPARED: Final = (
    *("kind", "tag", "processor_id", "version", "key", "match_id", "start_time", "end_time"),
    *("start_ms", "end_ms", "output", "events"),
)
"""What is documented of a row, but for its epoch and the words in which an error is told."""

BEGUN: Final = (
    ("combinations-and-global", 1),
    ("filled", 1),
    ("gap", 1),
    ("greedy-and-global", 1),
    ("group", 1),
    ("iterative", 1),
    ("key-of-many-types", 1),
    ("loop-with-an-end", 1),
    ("not-next", 1),
    ("relaxed-without-a-window", 1),
    ("replaced", 1),
    ("replaced", 2),
    ("rising", 1),
    ("scheduled-version", 1),
    ("strict", 1),
)
"""Rules, by version, whose partial matches an event completes; `replaced` 1 is drained."""
PENDING: Final = (
    ("absence", "match"),
    ("filled", "side"),
    ("filled", "timeout"),
    ("gap", "timeout"),
    ("held-back", "match"),
)
"""Rules, by kind of row, whose partial matches time alone completes."""
DONE: Final = (
    "checkpoint/percept.json",
    "checkpoint/commits/*",
    "checkpoint/epochs/*",
    "checkpoint/offsets/*",
    "out/*/*",
)
"""Files that nobody changes any more: whose checkpoint it is, and what became of each batch."""


@dataclass(frozen=True)
class Continued:
    """A job that went on from an archive, and one that ran from the beginning.

    `files` are those that `DONE` names as they were in the archive, `rows_before` the rows in it.
    `read` and `matched` are the ids of the events that had been read by then, and of those
    that were not waiting any more. `code` are the rules whose Python code cannot run here.
    """

    folder: Path
    files: Mapping[str, bytes]
    rows_before: list[Row]
    rows_after: list[Row]
    rows_from_the_beginning: list[Row]
    read: frozenset[int]
    matched: frozenset[int]
    code: frozenset[str]

    def found(self, rule: str, kind: str = "match", version: int = 1) -> list[frozenset[int]]:
        """Return the events of what a rule has found since the archive was made, by their ids."""
        if rule in self.code:
            pytest.skip("pickled code runs on the version of Python that pickled it")
        wanted = {"kind": kind, "processor_id": rule, "version": version}
        return [events_of(row) for row in self.rows_after if wanted.items() <= row.items()]


@pytest.fixture(scope="module", params=ARCHIVES)
def job(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Continued:
    """Run both jobs."""
    folder = tmp_path_factory.mktemp("continued")
    unpack(CHECKPOINTS / f"{request.param}.tar.gz", folder)
    files = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for pattern in DONE
        for path in folder.glob(pattern)
        if path.is_file()
    }
    rows_before, times_ms = written(folder), times_of_events(folder / "in")
    matched_ms = watermark_ms(folder / "checkpoint")
    for path in (folder / "later").iterdir():
        path.rename(folder / "in" / path.name)
    document = yaml.safe_load((folder / "job.yaml").read_text(encoding="utf-8"))
    run(folder, document)
    from_the_beginning = tmp_path_factory.mktemp("from-the-beginning")
    run(
        from_the_beginning,
        document
        | {
            "source": document["source"] | {"path": str(folder / "in")},
            "discoverer": document["discoverer"] | {"path": str(folder / "rules-at-once")},
        },
    )
    return Continued(
        folder=folder,
        files=files,
        rows_before=rows_before,
        rows_after=written(folder)[len(rows_before) :],
        rows_from_the_beginning=written(from_the_beginning),
        read=frozenset(times_ms),
        matched=frozenset(event for event, time_ms in times_ms.items() if time_ms <= matched_ms),
        code=foreign_code(folder),
    )


def run(folder: Path, document: Mapping[str, Any]) -> None:
    with JobProcess(folder, document, ENVIRONMENT) as process:
        assert process.wait() == 0, process.text


def times_of_events(directory: Path) -> dict[int, int]:
    """Return the time of each event in the files of a source, in milliseconds, by its id."""
    lines = [line for path in directory.iterdir() for line in path.read_text("utf-8").splitlines()]
    return {
        event["event_id"]: round(datetime.fromisoformat(event["ts"]).timestamp() * 1_000)
        for event in map(json.loads, lines)
    }


def watermark_ms(checkpoint: Path) -> int:
    """Return up to which time Spark has told the newest batch of a checkpoint to go."""
    newest = numbers(checkpoint / "offsets")[-1]
    _, metadata, _ = (checkpoint / "offsets" / f"{newest}").read_text("utf-8").splitlines()
    return int(json.loads(metadata)["batchWatermarkMs"])


def foreign_code(folder: Path) -> frozenset[str]:
    """Return the rules whose Python code was pickled by another version of Python."""
    made = json.loads((folder / "made.json").read_text("utf-8"))
    if made["python"] == f"{sys.version_info.major}.{sys.version_info.minor}":
        return frozenset()
    rules = json.loads((folder / "rules/python.json").read_text("utf-8"))
    return frozenset(rule["id"] for rule in rules)


def events_of(row: Row) -> frozenset[int]:
    return frozenset(event["event_id"] for events in row["events"].values() for event in events)


def as_compared(row: Row) -> str:
    reason = row["error"]["reason"] if row["kind"] == "error" else None
    return json.dumps([reason, {name: row.get(name) for name in COMPARED}], sort_keys=True)


def test_a_job_that_goes_on_finds_what_one_finds_that_was_never_stopped(job: Continued) -> None:
    found, wanted = (
        Counter(as_compared(row) for row in rows if row.get("processor_id") not in job.code)
        for rows in (job.rows_before + job.rows_after, job.rows_from_the_beginning)
    )
    assert found == wanted
    # Rows of kind `side` are of Python code.
    assert {row["kind"] for row in job.rows_from_the_beginning} >= {*KINDS} - {"side"}


@pytest.mark.parametrize(("rule", "version"), BEGUN)
def test_what_a_rule_had_begun_is_finished(rule: str, version: int, job: Continued) -> None:
    found = job.found(rule, version=version)
    assert [events for events in found if events & job.matched and events - job.read]


@pytest.mark.parametrize(("rule", "kind"), PENDING)
def test_what_only_waited_for_time_is_found(rule: str, kind: str, job: Continued) -> None:
    assert [events for events in job.found(rule, kind) if events <= job.matched]


def test_events_that_waited_for_the_watermark_are_matched(job: Continued) -> None:
    waited = job.read - job.matched
    assert [events for events in job.found("relaxed-without-a-window") if events <= waited]


def test_a_rule_that_was_scheduled_becomes_active(job: Continued) -> None:
    assert job.found("scheduled")
    assert job.found("scheduled-version", version=2)
    assert not [row for row in job.rows_before if row.get("processor_id") == "scheduled"]


@pytest.mark.parametrize("rule", ["paused", "deleted", "quarantined"])
def test_a_rule_that_was_taken_out_stays_out(rule: str, job: Continued) -> None:
    assert [row for row in job.rows_before if row.get("processor_id") == rule]
    assert not [row for row in job.rows_after if row.get("processor_id") == rule]


def test_batches_and_epochs_go_on(job: Continued) -> None:
    assert job.files == {name: (job.folder / name).read_bytes() for name in job.files}
    checkpoint = job.folder / "checkpoint"
    batches = numbers(checkpoint / "offsets")
    assert batches == list(range(len(batches)))
    assert numbers(checkpoint / "commits") == numbers(checkpoint / "epochs") == batches
    assert files_read(checkpoint) == len(list((job.folder / "in").iterdir()))
    newest = max(row["epoch"] for row in job.rows_before if "epoch" in row)
    assert newest > 1
    assert {row["epoch"] for row in job.rows_after if "epoch" in row} == {newest}
