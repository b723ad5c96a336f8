"""Both stages and the driver of a job without Spark: micro-batches in one process.

    publish(rules) ─► batch(events) ─► pinned epoch ─► key stage ─► shuffle ─► shards ─► rows

What Spark does for a job is done here by hand: the watermark, the shuffle, the state of each shard,
the timers, and the files of the checkpoint. Everything else is the code that a job runs.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final, NamedTuple, cast

import polars as pl

from cep.expression import DataType, Schema
from cep.expression.lists import ListContent
from cep.expression.types import to_polars
from cep.list_content import ListType, ListValue, list_values
from contract.asked_keys import AskedKey
from contract.snapshot import (
    Snapshot,
    SnapshotList,
    SnapshotProcessor,
    SnapshotRollout,
    StreamDefinition,
)
from processor_runtime.alerting.alert_decisions import (
    AlertRules,
    AlertState,
    BatchEnd,
    ListedRows,
    alerted,
)
from processor_runtime.alerting.budgets import throttled_until
from processor_runtime.driver.alert_state import AlertStates
from processor_runtime.driver.batch_record import list_file
from processor_runtime.driver.job_progress import JobProgress
from processor_runtime.driver.job_status import JobStatus
from processor_runtime.driver.offset_log import BatchStart
from processor_runtime.driver.pinning import BatchPins, Pin, failed_versions
from processor_runtime.output.events.unusable_events import FUTURE, MALFORMED
from processor_runtime.rows.event_block import TIME, EventBlock
from processor_runtime.rows.output_rows import OutputRow
from processor_runtime.rows.shard_status import EventCounts, ShardStatus, read_status, write_status
from processor_runtime.rules.alerts import budgets_of, groupings_of
from processor_runtime.rules.loading import RuleDefaults
from processor_runtime.rules.rule_set import RuleSet, compile_rules
from processor_runtime.schedule.batch_clock import NO_WATERMARK_MS, BatchClock
from processor_runtime.schedule.timeline import Timeline
from processor_runtime.schedule.timeline_document import read_timeline
from processor_runtime.stages.asked_keys import KeyQuestion, questions
from processor_runtime.stages.key_stage import KeyStage, KeyStageSettings
from processor_runtime.stages.shard_matcher import MatchSettings, ShardMatcher
from processor_runtime.state.memory import StateInMemory

Event = Mapping[str, Any]
"""Columns of the stream by name; `MALFORMED` and `FUTURE` may be among them, and `SOURCE`."""
SOURCE: Final = "_source"
"""Which of several sources an event is of."""

Events = Sequence[Event] | pl.DataFrame
"""Events, or a frame of the columns of the stream: for values that no Python object can hold."""

_POSITIONS_PER_PARTITION = 1 << 40
_OUTLIVING = ("batch_id", "watermark_ms", "newest_ms", "rows", "_wakes")
"""What outlives a process, beside the states."""


class DictState(StateInMemory):
    """The state of a shard; counts how often it is asked."""

    accesses = 0

    def get(self, name: str) -> bytes | None:  # type: ignore[override] # as KeyedState has it
        self.accesses += 1
        return super().get(name)

    def put(self, name: str, value: bytes) -> None:
        self.accesses += 1
        super().put(name, value)

    def delete(self, name: str) -> None:
        self.accesses += 1
        super().delete(name)


class DictFiles(dict[str, bytes]):
    """The files of a checkpoint."""

    def read(self, name: str) -> bytes | None:
        return self.get(name)

    def write(self, name: str, content: bytes) -> None:
        self[name] = content

    def names(self, directory: str) -> list[str]:
        return [name.removeprefix(f"{directory}/") for name in self if name.startswith(directory)]

    def delete(self, name: str) -> None:
        self.pop(name, None)


@dataclass(frozen=True, slots=True)
class Options:
    """How a job works, apart from its rules; defaults are those of a job."""

    shards: int = 2
    filters: bool = True
    defaults: RuleDefaults = field(default_factory=RuleDefaults)
    matching: MatchSettings = field(default_factory=MatchSettings)
    takes_over: bool = True
    """Whether a rule set is made from the one before, as far as nothing has changed."""
    idle_after_ms: int | None = None
    by_clock: bool = False
    """Whether events have the time at which their batch is planned."""
    sources: tuple[str, ...] = ()
    """The names of several sources; then each event says by `SOURCE` of which it is."""


class _Batch(NamedTuple):
    events: Events
    partitions: int
    clock_ms: int
    has_tick: bool
    reads_ms: int | None


class Pipeline:
    """A job over micro-batches that the test decides on."""

    def __init__(self, stream: StreamDefinition, options: Options | None = None) -> None:
        self.stream = stream
        self.options = options or Options()
        self.rows: list[OutputRow] = []
        self.statuses: dict[int, ShardStatus] = {}
        self.job_status = JobStatus()
        self.states = [DictState() for _ in range(self.options.shards)]
        self.batch_id = 0
        self.watermark_ms = NO_WATERMARK_MS
        self.newest_ms: int | None = None
        self._files = DictFiles()
        self._clock_ms = NO_WATERMARK_MS
        self._wakes: list[int | None] = [None] * self.options.shards
        self.asked: list[AskedKey] = []
        """What is asked of keys, from the next batch on."""
        self.list_contents: dict[str, bytes] = {}
        """What the source of rules has, by digest."""
        self.snapshot = Snapshot(format=1, epoch=0, stream=stream, processors=[])
        self._start()

    def _start(self, *, closes: bool = False) -> None:
        """Start a process: it knows what the checkpoint says."""
        delay_ms = 0 if self.options.by_clock else self.stream.allowed_delay_ms + 1
        self.columns: dict[str, pl.DataType] = {
            name: _stored_as(data_type)
            for name, data_type in Schema.from_ddl(self.stream.ddl).columns
        }
        self._pins = BatchPins(
            self._files,
            self.options.defaults,
            self.stream,
            delay_ms,
            idle_after_ms=self.options.idle_after_ms,
            closes=closes,
            list_content=lambda digest: self.list_contents[digest],
            sources=self.options.sources,
        )
        self._progress = JobProgress(self.options.shards)
        self._alert_states = AlertStates(self._files)
        self.alerts = AlertState()
        self._rule_sets: dict[str, RuleSet] = {}

    # What happens to a job

    def publish(
        self,
        *processors: SnapshotProcessor,
        rollouts: Iterable[SnapshotRollout] = (),
        lists: Iterable[SnapshotList] = (),
    ) -> None:
        """Publish these processors, instead of those before, from the next batch on."""
        self.snapshot = self.snapshot.model_copy(
            update={
                "epoch": self.snapshot.epoch + 1,
                "processors": sorted(processors, key=lambda processor: processor.id),
                "rollouts": list(rollouts),
                "lists": list(lists),
            }
        )

    def batch(  # noqa: PLR0913 - all but the events by name
        self,
        events: Iterable[Event] | pl.DataFrame = (),
        *,
        partitions: int = 1,
        clock_ms: int | None = None,
        has_tick: bool = False,
        reads_ms: int | None = None,
        until_ms: int | None = None,
    ) -> list[OutputRow]:
        """Run a micro-batch of these events, in order of arrival; return its rows of output.

        It is planned at `clock_ms`; by default each is a millisecond after the one before. Beside
        the events it reads one of the time `reads_ms`, which concerns nobody. Another batch may
        follow, after which all events up to `until_ms` are there.
        """
        self._last = _Batch(
            events if isinstance(events, pl.DataFrame) else list(events),
            partitions,
            1_000 + self.batch_id if clock_ms is None else clock_ms,
            has_tick,
            reads_ms,
        )
        self._before = {name: copy(getattr(self, name)) for name in _OUTLIVING}
        self._states_before = [DictState(state) for state in self.states]
        rows = self._run(self._last)
        return rows if until_ms is None else rows + self.advance(until_ms)

    def tick(self, clock_ms: int) -> list[OutputRow]:
        """Run a batch without events, in which there is a tick."""
        return self.batch(clock_ms=clock_ms, has_tick=True)

    def close(self, events: Iterable[Event] = ()) -> list[OutputRow]:
        """Let another process run one batch that ends everything; then another one goes on."""
        self._start(closes=True)
        return self.batch(events, has_tick=True)

    def advance(self, time_ms: int) -> list[OutputRow]:
        """Run a batch after which all events up to a time are there; none concerns anybody."""
        return self.batch(reads_ms=time_ms + self.stream.allowed_delay_ms + 1)

    def restart(self, stream: StreamDefinition | None = None) -> None:
        """Let another process go on between two batches, with other columns if they are given."""
        if stream is not None:
            self.stream = stream
            self.snapshot = self.snapshot.model_copy(
                update={"stream": stream, "epoch": self.snapshot.epoch + 1}
            )
        self._start()

    def replay(self) -> list[OutputRow]:
        """Let another process run the last batch again, after a crash at the end of it."""
        for name, value in self._before.items():
            setattr(self, name, copy(value))
        self.states = [DictState(state) for state in self._states_before]
        self._start()
        return self._run(self._last)

    # One micro-batch

    def _run(self, batch: _Batch) -> list[OutputRow]:
        if self.newest_ms is not None and not self.options.by_clock:
            # Spark begins with 0, which the runtime takes for no watermark.
            watermark_ms = self.newest_ms - self.stream.allowed_delay_ms - 1
            if watermark_ms > 0:
                self.watermark_ms = max(self.watermark_ms, watermark_ms)
        if self.options.by_clock:
            self.watermark_ms, self._clock_ms = self._clock_ms, max(self._clock_ms, batch.clock_ms)
        start = BatchStart(
            self.batch_id,
            self.watermark_ms,
            batch.clock_ms,
            reads=tuple(len(part) > 0 for part in self._of_sources(batch.events).values()),
            has_tick=batch.has_tick,
        )
        pin = self._pins.pin(start, self.snapshot)
        clock = pin.clock
        rows: list[OutputRow] = []
        stages = list(self._key_stages(self._rules(pin), clock, batch))
        blocks = [sent for _, sent_blocks in stages for sent in sent_blocks]
        Random(self.batch_id).shuffle(blocks)  # noqa: S311 - as a shuffle of Spark: in any order
        for stage, _ in stages:
            for chunk in stage.rows.rest():
                rows += chunk
        read = EventCounts()
        for stage, _ in stages:
            read.add(
                EventCounts(newest_ms=stage.counts.newest_ms, by_source=stage.counts.by_source)
            )
        newest_ms = read.newest_ms
        # What the first stage has counted is sent to the first shard.
        wanted = set(range(1 if stages else 0))
        if any(stage.calls_every_shard for stage, _ in stages):
            wanted = set(range(self.options.shards))
        asked = list(questions(self._rules(pin), self.asked, self.options.shards)) if stages else []
        wanted |= {shard for shard, _ in asked}
        called, found = self._shards(pin, read, wanted, blocks, asked)
        rows += found
        for stage, _ in stages:
            called[0].counts.add(stage.counts)
        rows = self._told(pin, list(called.values()), rows)
        self._learn(pin, list(called.values()))
        self.newest_ms = self._newest([newest_ms, self.newest_ms])
        self.statuses |= called
        self.batch_id += 1
        self.rows += rows
        return rows

    @staticmethod
    def _newest(times_ms: Iterable[int | None]) -> int | None:
        return max((time_ms for time_ms in times_ms if time_ms is not None), default=None)

    def _told(
        self, pin: Pin, statuses: Sequence[ShardStatus], rows: Sequence[OutputRow]
    ) -> list[OutputRow]:
        intervals = pin.timeline.intervals
        rules = AlertRules(groupings_of(intervals), budgets_of(intervals))
        listed = ListedRows(rows)
        record = pin.record
        complete_ms = pin.clock_after(statuses).complete_ms
        end = BatchEnd(record.epoch, complete_ms, record.closes)
        before = self._alert_states.before(record.batch_id)
        self.alerts = alerted(listed, statuses, rules, before, end).state
        self._alert_states.keep(record.batch_id, self.alerts, rules)
        self._progress.sources_ms = self._pins.keep(pin, statuses)
        return listed.rows

    def _rules(self, pin: Pin) -> RuleSet:
        name = pin.record.timeline
        if name not in self._rule_sets:
            timeline, stream = read_timeline(pin.document)
            earlier = reversed(list(self._rule_sets.values())) if self.options.takes_over else ()
            rules = compile_rules(
                timeline, stream, self.options.defaults, earlier, self._list_content
            )
            self._rule_sets[name] = rules
        return self._rule_sets[name]

    def _list_content(self, digest: str, data_type: DataType) -> ListContent:
        pinned = self._pins.record
        assert pinned is not None
        shipped = pinned.lists

        def read() -> list[ListValue]:
            # As a worker: from what has been shipped of the checkpoint.
            assert list_file(digest) in shipped
            kind = cast(ListType, str(data_type))
            return list_values(kind, self._files[list_file(digest)])

        return ListContent(digest, data_type, read)

    def _key_stages(
        self, rules: RuleSet, clock: BatchClock, batch: _Batch
    ) -> Iterator[tuple[KeyStage, list[tuple[int, EventBlock]]]]:
        """Run the first stage on each partition of the events, in two frames each."""
        settings = KeyStageSettings(
            self.options.shards,
            self.options.matching.wanted,
            self.options.filters,
            self.options.by_clock,
        )
        events, partitions = batch.events, batch.partitions
        if batch.has_tick:
            yield KeyStage(rules, settings, clock, has_tick=True), []
        if batch.reads_ms is not None:
            yield KeyStage(rules, settings, clock, EventCounts(newest_ms=batch.reads_ms)), []
        parts = [
            (source, part[size * partition : size * (partition + 1)])
            for source, part in self._of_sources(events).items()
            if (size := -(-len(part) // partitions))
            for partition in range(partitions)
        ]
        for partition, (source, part) in enumerate(parts):
            stage = KeyStage(rules, settings, clock, source=source)
            blocks: list[tuple[int, EventBlock]] = []
            middle = len(part) // 2
            for begin, end in ((0, middle), (middle, len(part))):
                position = partition * _POSITIONS_PER_PARTITION + begin
                if begin < end:
                    frame = self._frame(part[begin:end])
                    if self.options.by_clock:
                        frame = frame.with_columns(pl.lit(batch.clock_ms, pl.Int64).alias(TIME))
                    blocks += stage.blocks(frame, position)
            yield stage, blocks

    def _of_sources(self, events: Events) -> dict[str, Events]:
        """Return the events by the names of their sources; all of one that has none."""
        if isinstance(events, pl.DataFrame) or not self.options.sources:
            return {"": events}
        return {
            name: [each for each in events if each[SOURCE] == name] for name in self.options.sources
        }

    def _frame(self, events: Events) -> pl.DataFrame:
        time_column = self.stream.event_time_column
        if isinstance(events, pl.DataFrame):
            told = [pl.lit(None, pl.String).alias(MALFORMED), pl.lit(None, pl.Int64).alias(FUTURE)]
            return events.select(pl.col(time_column).alias(TIME), *events.columns, *told)
        schema = pl.Schema(
            {TIME: pl.Int64(), **self.columns, MALFORMED: pl.String(), FUTURE: pl.Int64()}
        )
        rows = []
        for event in events:
            is_usable = event.get(MALFORMED) is None and event.get(FUTURE) is None
            time_ms = event.get(time_column) if is_usable else None
            columns = {name: value for name, value in event.items() if name != SOURCE}
            rows.append({TIME: time_ms, MALFORMED: None, FUTURE: None, **columns})
        return pl.DataFrame(rows, schema=schema)

    def _shards(
        self,
        pin: Pin,
        read: EventCounts,
        wanted: set[int],
        blocks: Sequence[tuple[int, EventBlock]],
        asked: Sequence[tuple[int, KeyQuestion]],
    ) -> tuple[dict[int, ShardStatus], list[OutputRow]]:
        called = {}
        rows: list[OutputRow] = []
        clock = pin.clock.having_read(read.newest_ms, read.by_source)
        for shard, state in enumerate(self.states):
            arrived = [block for number, block in blocks if number == shard]
            wake_ms = self._wakes[shard]
            # A timer is Spark's, which knows only the watermark that it has from events.
            is_due = wake_ms is not None and wake_ms <= self.watermark_ms
            if not (arrived or is_due or shard in wanted):
                continue
            matcher = ShardMatcher(shard, self._rules(pin), state, clock, self.options.matching)
            of_shard = [question for number, question in asked if number == shard]
            for chunk in matcher.match(arrived, of_shard):
                rows += chunk
            self._wakes[shard] = matcher.next_wake_ms if clock.goes_on_alone else None
            called[shard] = read_status(write_status(matcher.status))
        return called, rows

    def _learn(self, pin: Pin, statuses: Sequence[ShardStatus]) -> None:
        self._progress.throttled_until_ms = throttled_until(self.alerts.spent)
        self.job_status = self._progress.add(pin, statuses, 1)
        self._pins.learn(
            self._progress.newest_ms,
            failed_versions(pin.timeline, statuses),
            self._progress.idle_rules(pin.timeline),
        )

    # What can be seen of it

    @property
    def timeline(self) -> Timeline:
        return self._pins.timeline

    @property
    def next_wakes(self) -> list[int | None]:
        """The watermark at which each shard wants to be called even if nothing comes."""
        return list(self._wakes)

    @property
    def state_names(self) -> set[str]:
        return {name for state in self.states for name in state}

    def rows_of(self, kind: str, processor_id: str | None = None) -> list[OutputRow]:
        """Return the rows of a kind, and of a processor where one is given."""
        return [
            row
            for row in self.rows
            if row.kind == kind and processor_id in (None, row.processor_id)
        ]


def _stored_as(data_type: DataType) -> pl.DataType:
    try:
        return to_polars(data_type)
    except ValueError:  # no expression can read it
        return pl.Binary()
