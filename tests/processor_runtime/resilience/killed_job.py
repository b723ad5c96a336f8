"""A job that is killed again and again while its source grows and its rules change.

    KilledJob.until_killed(moment) ──► processes gone, checkpoint and output as they were just then
    KilledJob.to_the_end()         ──► everything read, all windows closed

Files are given and rules are changed as the job gets on, so that a slow machine sees what a quick
one does.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from random import Random
from typing import Any, Final, Protocol

from tests.processor_runtime.resilience.job_process import (
    PATIENCE_SECONDS,
    JobProcess,
    files_read,
    has_finished,
    job_document,
    numbers,
    watermark_left,
    write_documents,
    write_events,
)
from tests.processor_runtime.resilience.pinned_batches import newest_record, record_contents
from tests.processor_runtime.resilience.ssh_auth_stream import (
    AT_FIRST,
    CHANGES,
    DELAY_MS,
    FILES,
    SENTINEL_MS,
    STREAM,
    Change,
    Document,
    Event,
    arriving,
)
from tests.processor_runtime.written_rows import KINDS


@dataclass(frozen=True, slots=True)
class Moment:
    """When to kill: up to `seconds` after a file of a new name, or, without any, the start."""

    what: str
    files: str = ""
    seconds: float = 0.02


PINNED: Final = Moment("the epoch of a batch was pinned", "checkpoint/epochs/[0-9]*")
MOMENTS: Final = (
    Moment("a batch was planned", "checkpoint/offsets/[0-9]*"),
    PINNED,
    Moment("the rows of a batch were being written", "out/_percept/writing/batch=*"),
    Moment("the rows of a batch were written", "out/batch=*"),
    Moment("a batch was committed", "checkpoint/commits/[0-9]*"),
    Moment("the job was started", seconds=10.0),
    Moment("a batch had begun", "checkpoint/offsets/[0-9]*", seconds=2.0),
)
_FILES_AHEAD: Final = 2
# To look takes a good part of a processor that the job needs: often only when the moment is near.
_FAR_SECONDS: Final = 0.02
_NEAR_SECONDS: Final = 0.001


class RuleSource(Protocol):
    """Where a job has its rules from."""

    @property
    def keys(self) -> Mapping[str, Any]:
        """The keys of a job file that are other than usual."""

    @property
    def environment(self) -> Mapping[str, str]:
        """Variables of the job."""

    def change(self, documents: Mapping[str, Document | None]) -> int | None:
        """Make changes: documents by name, `None` for what is deleted.

        Returns the epoch from which on all of them are there; `None` if it is just the next one.
        """


@dataclass
class RuleDirectory:
    """Rules and lists as files in the folder of a job."""

    folder: Path
    keys: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    _documents: dict[str, Document] = field(default_factory=dict)

    def __post_init__(self) -> None:
        (self.folder / "rules").mkdir()
        write_documents(self.folder, "stream", STREAM)

    def change(self, documents: Mapping[str, Document | None]) -> None:
        """Write all documents that there are now."""
        for name, document in documents.items():
            if document is None:
                del self._documents[name]
            else:
                self._documents[name] = document
        write_documents(self.folder, "rules", *self._documents.values())


@dataclass
class KilledJob:
    """The job, its source and its rules."""

    folder: Path
    random: Random
    kills: int
    at_first: Mapping[str, Document] = field(default_factory=lambda: AT_FIRST)
    changes: Sequence[Change] = CHANGES
    kinds: Sequence[str] = tuple(KINDS)
    source: RuleSource | None = None
    files: int = FILES
    later_ms: int = 0
    records: dict[int, bytes] = field(default_factory=dict)
    batches_run_again: int = 0
    _files: list[list[Event]] = field(init=False)
    _given: int = 0
    _source: RuleSource = field(init=False)
    _changes: int = 0
    _epoch_of_change: int = 0

    def __post_init__(self) -> None:
        self._files = arriving(self.random, self.files, self.later_ms)
        (self.folder / "in").mkdir()
        self._source = self.source or RuleDirectory(self.folder)
        self._source.change(self.at_first)

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint"

    def moments(self) -> Iterator[Moment]:
        """Yield when to kill it, once for each time; each comes once before one comes again.

        First comes one after which a batch is sure to be run again.
        """
        left = [PINNED]
        for _ in range(self.kills):
            left = left or self.random.sample(MOMENTS, len(MOMENTS))
            yield left.pop()

    def run(self) -> None:
        """Kill it as often as it is to be killed, and let it come to its end, which it survives."""
        for number, moment in enumerate(self.moments()):
            print(self.until_killed(moment, self.kills - number))  # noqa: T201 - if the test fails
        assert self.to_the_end() == 0
        assert self.batches_run_again >= 1

    def until_killed(self, moment: Moment, kills_left: int) -> str:
        """Run it until a moment has come; return a line about that."""
        limit = self._given + ceil((len(self._files) - 1 - self._given) / (kills_left + 1))
        began, what = time.monotonic(), moment.what
        with self._process() as job:
            look = self._watch(moment, limit)
            while (pause := look()) is not None:
                assert job.is_running, f"the job has ended:\n{job.text}"
                assert time.monotonic() < began + PATIENCE_SECONDS, f"it hangs:\n{job.text}"
                self._go_on(limit)
                if moment.files and self._given == limit and has_finished(self.checkpoint, limit):
                    what = "nothing was left to do"
                    break
                time.sleep(pause)
            job.kill()
        self._observe()
        return (
            f"killed when {what}, {time.monotonic() - began:.1f} s after the start, "
            f"with {self._given} files given and batch {max(self.records, default=None)} pinned"
        )

    def to_the_end(self) -> int:
        """Run it until everything is read and all windows are closed; return its exit code."""
        last_ms = SENTINEL_MS + self.later_ms - DELAY_MS - 1

        def is_done() -> bool:
            self._go_on(len(self._files))
            return watermark_left(self.checkpoint) == last_ms

        with self._process() as job:
            job.wait_until(is_done)
            code = job.stop()
        self._observe()
        return code

    def _document(self) -> Document:
        outputs = [{"type": "json", "path": "out", "kinds": list(self.kinds)}]
        return job_document(stream="ssh_auth", outputs=outputs, **self._source.keys)

    def _process(self) -> JobProcess:
        return JobProcess(self.folder, self._document(), self._source.environment)

    def _watch(self, moment: Moment, limit: int) -> Callable[[], float | None]:
        """Return what tells in how many seconds to look again, `None` once a moment has come.

        It is looked out for once most of this run has been read.
        """
        seconds = self.random.uniform(0, moment.seconds)
        due = None if moment.files else time.monotonic() + seconds
        before: set[Path] | None = None

        def look() -> float | None:
            nonlocal before, due
            if due is None and files_read(self.checkpoint) >= limit - _FILES_AHEAD:
                now = set(self.folder.glob(moment.files))
                before = now if before is None else before
                due = time.monotonic() + seconds if now - before else None
            if due is None:
                return _FAR_SECONDS if before is None else _NEAR_SECONDS
            left = due - time.monotonic()
            return min(left, _FAR_SECONDS) if left > 0 else None

        return look

    def _go_on(self, limit: int) -> None:
        """Give the source another file, and change rules, if the time for it has come."""
        if self._given < limit and self._given - files_read(self.checkpoint) < _FILES_AHEAD:
            write_events(self.folder, f"{self._given:02}", self._files[self._given])
            self._given += 1
        if self._changes < len(self.changes) and self.changes[self._changes].due <= self._given:
            newest = newest_record(self.checkpoint)
            if newest is not None and newest.epoch >= self._epoch_of_change:
                self._change(newest.epoch)

    def _change(self, epoch: int) -> None:
        made = self._source.change(self.changes[self._changes].rules)
        self._changes += 1
        self._epoch_of_change = epoch + 1 if made is None else made

    def _observe(self) -> None:
        """Remember what has been pinned; what was pinned before must be as it was."""
        now = record_contents(self.checkpoint)
        changed = [number for number, content in self.records.items() if now[number] != content]
        assert changed == [], "batches were pinned anew"
        self.batches_run_again += set(now) > set(numbers(self.checkpoint / "commits"))
        self.records = now
