"""The second stage as Spark calls it, in its worker processes and, at a start, beside the driver.

    blocks of a shard ──ShardProcessor──► ShardStageTask ──► rows of output

A query begins with a process beside the driver in which Spark asks for the names of the state only.
Nothing is imported for that: the packages of the stage, which take seconds, come with the first
rows.
"""

import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    MapState,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

if TYPE_CHECKING:
    import pandas as pd

ShardStage = Callable[[int, Iterable["pd.DataFrame"], "ShardState", int], Iterator["pd.DataFrame"]]
"""From the shard, the blocks that arrived for it, its state and Spark's watermark in milliseconds
to rows of output."""


@dataclass(frozen=True, slots=True)
class ShardState:
    """The state of a shard, one map of bytes, and its timers."""

    handle: StatefulProcessorHandle
    values: MapState

    def wake_at(self, wake_ms: int | None, watermark_ms: int) -> None:
        """Make Spark call the shard in the first batch whose watermark has reached `wake_ms`."""
        # Spark's timers begin with 1; everything due by the watermark has just been processed.
        wanted = None if wake_ms is None else max(wake_ms, watermark_ms + 1, 1)
        for timer_ms in list(self.handle.listTimers()):
            if timer_ms == wanted:
                wanted = None
            else:
                self.handle.deleteTimer(timer_ms)
        if wanted is not None:
            self.handle.registerTimer(wanted)


class ShardProcessor(StatefulProcessor):
    """A shard is a group of Spark's; `stage` matches its batches."""

    def __init__(self, stage: ShardStage) -> None:
        self._stage = stage

    def __getstate__(self) -> bytes:
        """Return the stage as bytes, which name the packages that it needs."""
        import cloudpickle  # noqa: PLC0415 - workers do not need it

        pickled: bytes = cloudpickle.dumps(self._stage)
        return pickled

    def __setstate__(self, pickled: bytes) -> None:
        """Keep the bytes until there are rows."""
        self._pickled = pickled

    @cached_property
    def _stage(self) -> ShardStage:
        stage: ShardStage = pickle.loads(self._pickled)  # noqa: S301 - a part of what Spark has sent
        return stage

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Take the state; Spark also calls this where there is no batch, so no rules are read."""
        self._state = ShardState(handle, handle.getMapState("shard", "name STRING", "value BINARY"))

    def handleInputRows(  # noqa: N802 - Spark's name
        self,
        key: Any,
        rows: "Iterator[pd.DataFrame]",
        timerValues: TimerValues,  # noqa: N803
    ) -> "Iterator[pd.DataFrame]":
        """Match the blocks that arrived for a shard."""
        return self._stage(int(key[0]), rows, self._state, timerValues.getCurrentWatermarkInMs())

    def handleExpiredTimer(  # noqa: N802 - Spark's name
        self,
        key: Any,
        timerValues: TimerValues,  # noqa: N803
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: N803
    ) -> "Iterator[pd.DataFrame]":
        """Match what the watermark has passed in a shard without new events."""
        del expiredTimerInfo
        return self._stage(int(key[0]), (), self._state, timerValues.getCurrentWatermarkInMs())

    def close(self) -> None:
        """Do nothing: no resources are held."""
