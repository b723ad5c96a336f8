"""One streaming query of a job, from the source to the outputs, until it ends or is stopped.

    JobQuery.run() ──► returns (stream changed, clock set back, ended or stopped) · raises the error
                       of a batch

A query reads events with the columns of one definition of the stream. When a new definition is
published, the query ends between two batches, and the job begins another on the same checkpoint.
So it does when the clock is set back: Spark waits for the next batch by the clock, and would wait
until that has caught up.
"""

import math
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from contract.snapshot import Snapshot, StreamDefinition
from processor_runtime.driver.checked_files import CheckpointDamaged
from processor_runtime.job_file.timing import Trigger
from processor_runtime.spark.failure_text import failure_text
from processor_runtime.spark.micro_batches import MicroBatches
from processor_runtime.spark.worker_deaths import WorkerBeganLate, began_late

_POLL_SECONDS: Final = 0.02
_SET_BACK_SECONDS: Final = 5.0
"""A wait that is longer by less than this is not worth another query."""
# What Spark, RocksDB and Percept say of state that is missing, cut off or altered.
_UNREAD_STATE: Final = re.compile(
    r"CANNOT_LOAD_STATE_STORE|STDS_FAILED_TO_READ|block checksum mismatch|Corruption: "
    r"|/state/0/\S+ does not exist|the state has lost "
)
_NO_ROOM: Final = "No space left on device"


class QueryEnding(Exception):
    """No further batch starts; not an error, but raised to make Spark end the query."""


@dataclass(slots=True)
class StreamWatch:
    """Returns the newest snapshot, as long as it has the stream definition of the query."""

    newest: Callable[[], Snapshot | None]
    stream: StreamDefinition
    has_changed: bool = False

    def latest(self) -> Snapshot | None:
        """Return the newest snapshot; `None` if it is about a stream with another definition."""
        snapshot = self.newest()
        if snapshot is None or _without_version(snapshot.stream) != _without_version(self.stream):
            self.has_changed = snapshot is not None
            return None
        return snapshot


@dataclass(slots=True)
class WallClock:
    """Tells whether the clock is set back, by a clock that nobody sets.

    Args:
        now: seconds, by the clock.
        elapsed: seconds since some moment.
    """

    now: Callable[[], float] = time.time
    elapsed: Callable[[], float] = time.monotonic
    _furthest_apart: float = -math.inf

    def is_set_back(self) -> bool:
        """Return whether it has been set back since this was first asked."""
        apart = self.now() - self.elapsed()
        self._furthest_apart = max(self._furthest_apart, apart)
        return apart < self._furthest_apart - _SET_BACK_SECONDS


@dataclass(slots=True)
class JobQuery:
    """A query that can be ended between two batches, from any thread.

    `watch`: tells whether the stream has changed.
    """

    rows: DataFrame
    batches: MicroBatches
    watch: StreamWatch
    name: str
    checkpoint: str
    trigger: Trigger
    clock: WallClock = field(default_factory=WallClock)
    was_set_back: bool = False
    _failure: BaseException | None = None
    _is_ending: threading.Event = field(default_factory=threading.Event)
    _query: StreamingQuery | None = None

    def run(self) -> None:
        """Run until the source ends, `end` is called, the stream has changed or the clock.

        Raises:
            CheckpointDamaged: the state in the checkpoint cannot be read.
            WorkerBeganLate: a Python worker did not begin in time.
            Exception: whatever else made a batch fail.
        """
        writer = self.rows.writeStream.queryName(self.name).outputMode("append")
        writer = writer.option("checkpointLocation", self.checkpoint).foreachBatch(self._batch)
        self._query = writer.trigger(**_trigger(self.trigger)).start()
        try:
            # In short calls, so that signals of the process are handled in between.
            while not self._query.awaitTermination(1):
                if self.watch.has_changed or self._is_ending.is_set():
                    self.end()
                elif self.clock.is_set_back():
                    self.was_set_back = True
                    # Nobody waits for the end: the batch under way may take its time.
                    self.end(math.inf)
        except StreamingQueryException as error:
            if isinstance(self._failure, QueryEnding):
                return
            failure = self._failure or error
            if began_late(failure):
                raise WorkerBeganLate from failure
            raise unread_state(failure) or failure from error

    def end(self, patience_seconds: float = 60.0) -> None:
        """End the query once the current batch is committed, or after `patience_seconds`."""
        self._is_ending.set()
        query, deadline = self._query, time.monotonic() + patience_seconds
        if query is None:
            return
        # A batch that starts meanwhile ends the query itself.
        while query.isActive and query.status["isTriggerActive"] and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
        query.stop()

    def _batch(self, frame: DataFrame, batch_id: int) -> None:
        try:
            if self._is_ending.is_set() or self._is_of_changed_stream(batch_id):
                raise QueryEnding  # noqa: TRY301 - ends the query in the same way as a failure
            self.batches(frame, batch_id)
        except BaseException as error:
            self._failure = error
            raise

    def _is_of_changed_stream(self, batch_id: int) -> bool:
        """Whether a batch is left to the next query; one that is pinned stays with this one."""
        self.watch.latest()
        return self.watch.has_changed and not self.batches.pins.has(batch_id)


def unread_state(error: BaseException) -> CheckpointDamaged | None:
    """Return what is to be said of state that cannot be read; `None` if that has not failed."""
    text = str(error)
    if _UNREAD_STATE.search(text) is None or _NO_ROOM in text:
        return None
    return CheckpointDamaged("state/0", f"cannot be read ({failure_text(error, ())})")


def _trigger(trigger: Trigger) -> dict[str, Any]:
    if trigger.processing_time_ms is not None:
        return {"processingTime": f"{trigger.processing_time_ms} milliseconds"}
    return {"availableNow": True} if trigger.available_now else {"once": True}


def _without_version(stream: StreamDefinition) -> StreamDefinition:
    return stream.model_copy(update={"version": 0})
