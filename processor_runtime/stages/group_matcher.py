"""The second stage for one selector group of one shard: events of a batch through the matcher.

    waiting + arrived events ──watermark──► in order ──► keys restored ──► matched, phase by phase
                                                                   └──► detections, keys kept

Time goes from the watermark of the batch before to that of this one. Where a phase ends on the way,
windows are closed up to that instant, then rules that are out lose their partial matches, matches
that were only held back by these come out, and only then events of the next phase are matched.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from cep.keyed.found_columns import FoundBlock, blocks_of
from cep.keyed.key_state import encode_keys
from cep.keyed.shapes import Detection
from cep.matching.open_matches import OpenMatches, open_matches
from contract.asked_keys import PARTIAL_MATCHES_TOLD
from processor_runtime.rows.event_block import TIME, EventBlock, event_time_ms
from processor_runtime.rows.key_hashing import key_bytes, key_values
from processor_runtime.rows.shard_status import StoppedRule
from processor_runtime.rules.compiled_group import CompiledGroup
from processor_runtime.rules.rule_set import SelectorGroup
from processor_runtime.stages.encoded_group import held_after, match_encoded
from processor_runtime.stages.group_keys import GroupKeys, held_entries
from processor_runtime.stages.open_counts import OpenCounts, held_by
from processor_runtime.stages.relevant_events import RelevantEvents, relevant_events
from processor_runtime.stages.window_rows import WindowState, forget, state_of_windows
from processor_runtime.state.group_header import GroupHeader, read_header, write_header
from processor_runtime.state.key_buckets import AlsoTaken, BatchKeys, HeldEntries, PackedKeys
from processor_runtime.state.keyed_state import KeyedState
from processor_runtime.state.waiting_events import WaitingEvents

if TYPE_CHECKING:
    from cep.executors.encoded_keys import EncodedBatch


@dataclass(slots=True)
class GroupMatcher:
    """One batch of one group in one shard.

    `group`: the rules; its matcher is empty, and is left empty. `order_by`: order of events of
    equal time. `asked`: keys that somebody asks about, as bytes.
    """

    group: SelectorGroup
    state: KeyedState
    order_by: Sequence[str]
    asked: Collection[bytes] = ()
    header: GroupHeader = field(init=False)
    keys: GroupKeys = field(init=False)
    events_by_rule: Counter[str] = field(default_factory=Counter)
    open: OpenCounts = field(init=False)
    released: Counter[str] = field(default_factory=Counter)
    _compiled: CompiledGroup = field(init=False)
    _waiting: WaitingEvents = field(init=False)
    _windows: WindowState | None = field(init=False)
    _batch: BatchKeys = field(init=False)
    _key_values: list[tuple[Any, ...]] = field(default_factory=list)
    """The keys of the batch, in order, once they are in the matcher."""
    _encoded: "EncodedBatch | None" = None

    def __post_init__(self) -> None:
        self._compiled = self.group.compiled
        self.header = read_header(self.state)
        self.keys = GroupKeys(self._compiled, self.state, self.header)
        self.open = OpenCounts(self.group, self.header)
        self._waiting = WaitingEvents(self._compiled.id, self.state, self.header.waiting)
        known = [rule for rule in self.header.stopped if rule.rule_id in self._compiled.rules]
        self.header.stopped = known
        self._compiled.matcher.stop([rule.rule_id for rule in known])
        windows, self._windows = self._compiled.windows, None
        if windows is None:
            forget(self.state, self.header)
        else:
            state = state_of_windows(self.state)
            self._windows = WindowState(self.group, windows, state, self.header)

    def match(
        self, arrived: Iterable[EventBlock], watermark_ms: int, *, closes: bool = False
    ) -> Iterator[list[Detection] | FoundBlock]:
        """Match what the watermark has passed; yield what was found, in order of event time.

        Each list is what one event, or one advance of time, has brought, a block what many have.
        Rules may be stopped in between. All else here holds once the last has been taken.

        `closes`: no event comes after these: partial matches that are open then are given up, and
        the matches found by that, each with the time of its last event, come at the end.
        """
        events = self._waiting.take(watermark_ms, arrived, self.order_by)
        if events is not None and events.columns != [TIME, *self._compiled.columns]:
            events = self._with_columns(events)
        if self._windows is not None:
            out = self._compiled.matcher.stopped_rules()
            events = self._windows.with_columns(events, watermark_ms, out)
        parts = [] if events is None else list(relevant_events(self.group, events))
        self._count_events(parts)
        self._batch = self._take(parts, watermark_ms, every_key=closes)
        if not closes and (batch := self._match_encoded(parts, watermark_ms)):
            self._encoded = batch
            self.open.before, self.open.after = batch.open_before, batch.open_after
            stopped = set(self._compiled.matcher.stopped_rules())
            yield from blocks_of(batch.found_columns)
            self.stop(set(self._compiled.matcher.stopped_rules()) - stopped)
            return
        self._restore()
        yield from self._detections(parts, watermark_ms)
        if closes:
            yield from self._freed_at_the_end()
        self.open.after = held_by(self._compiled)

    def stop(self, rules: Collection[str]) -> None:
        """Stop rules once everything has been matched."""
        if rules:
            self._restore_kept()
            self._compiled.matcher.stop(rules)
            self.open.after = None

    def save(self, watermark_ms: int, stopped: Iterable[StoppedRule]) -> None:
        """Keep the state for the next batch, and empty the matcher for the next shard."""
        self.header.stopped += stopped
        self.keys.save(self._batch, self._held())
        if self._windows is not None:
            self._windows.save(self._compiled.matcher.stopped_rules())
        self.header.open_steps = self.open.open_steps()
        self.header.processed_ms = max(self.header.processed_ms, watermark_ms)
        self.header.waiting = self._waiting.blocks
        write_header(self.state, self.header)
        self._compiled.matcher.clear()

    def _held(self) -> HeldEntries:
        """Return what the keys of the batch hold now."""
        if self._encoded is not None:
            return held_after(self._encoded)
        encoded = dict(encode_keys(self._compiled.matcher, {*self._key_values}))
        return held_entries([encoded.get(key) for key in self._key_values])

    @property
    def next_wake_ms(self) -> int | None:
        """The next watermark at which there is something to do without new events."""
        times = (
            self._waiting.next_ms,
            self.header.buckets.next_deadline_ms,
            None if self._windows is None else self._windows.next_deadline_ms,
        )
        return min((time_ms for time_ms in times if time_ms is not None), default=None)

    @property
    def waiting_count(self) -> int:
        """How many events wait for the watermark."""
        return self._waiting.count

    @property
    def size_bytes(self) -> int:
        """How many bytes keys, windows and waiting events take in the state."""
        of_windows = 0 if self._windows is None else self._windows.size_bytes
        return self._waiting.size_bytes + self.header.buckets.size_bytes + of_windows

    @property
    def window_failures(self) -> Mapping[str, Exception]:
        """The rules whose windows cannot be computed or keep too much, with the error."""
        return {} if self._windows is None else self._windows.failures

    # Events

    def _with_columns(self, events: pl.DataFrame) -> pl.DataFrame:
        """Return events that waited while the columns of the stream were changed as it has them."""
        nulls = [null for name, null in self._compiled.nulls.items() if name not in events.columns]
        return events.with_columns(nulls).select(TIME, *self._compiled.columns)

    def _count_events(self, parts: Sequence[RelevantEvents]) -> None:
        for part in parts:
            counts = np.bincount(part.events.kind_numbers, minlength=len(part.events.kinds))
            for kind, count in zip(part.events.kinds, counts.tolist(), strict=True):
                for rule in kind.rules:
                    self.events_by_rule[rule] += count

    def _detections(
        self, parts: Sequence[RelevantEvents], watermark_ms: int
    ) -> Iterator[list[Detection] | FoundBlock]:
        matcher = self._compiled.matcher
        current = self.group.phases.at(self.header.processed_ms)
        for part in parts:
            yield from self._enter_phases(current, part.phase)
            current = part.phase
            for failing in part.failing:
                if found := matcher.advance_to(failing.time_ms):
                    yield found
                matcher.fail(failing.rule, failing.error, failing.key, failing.event)
            kinds = tuple(kind.transitions for kind in part.events.kinds)
            yield from self._compiled.batch_matcher.blocks(part.events.with_kinds(kinds))
        last = max(current, self.group.phases.at(watermark_ms))
        yield from self._enter_phases(current, last)
        if found := matcher.advance_to(watermark_ms):
            yield found

    def _freed_at_the_end(self) -> Iterator[list[Detection]]:
        for rule, steps in self.open.open_steps().items():
            self.open.give_up(rule, steps)
        for found in self._compiled.matcher.end():
            self.released.update(match.rule for match in found)
            yield [match._replace(time_ms=event_time_ms(match.last_event)) for match in found]

    def _enter_phases(self, current: int, target: int) -> Iterator[list[Detection]]:
        matcher = self._compiled.matcher
        for number in range(current + 1, target + 1):
            from_ms = self.group.phases[number].from_ms
            if found := matcher.advance_to(from_ms):
                yield found
            ending = self.group.ending(number)
            if ending and (found := self._give_up(ending, from_ms)):
                yield found
            matcher.keep_only(self.group.going_on(number))

    def _give_up(self, ending: Collection[str], time_ms: int) -> list[Detection]:
        """Count the partial matches that end with their rules; return what they held back.

        Of a rule that has failed nothing more is wanted.
        """
        given_up = [rule for rule in ending if not self.open.has_failed(rule)]
        self.open.end(ending)
        matcher = self._compiled.matcher
        found = matcher.release(matcher.select(given_up), time_ms)
        self.released.update(match.rule for match in found)
        return found

    def _held_keys(self, watermark_ms: int) -> AlsoTaken:
        """Return whether rules end in this batch that may hold back matches, on any key."""
        phases = self.group.phases
        first, last = phases.at(self.header.processed_ms), phases.at(watermark_ms)
        ending = {
            rule for number in range(first + 1, last + 1) for rule in self.group.ending(number)
        }
        do_hold_back = any(
            member.rule in ending and self.header.partial_matches.get(member.rule)
            for shape in self._compiled.matcher.shapes
            if shape.machine.can_hold_back
            for member in shape.members
        )
        return "holding back" if do_hold_back else "none"

    # Keys

    def _take(
        self, parts: Sequence[RelevantEvents], watermark_ms: int, *, every_key: bool
    ) -> BatchKeys:
        """Return what is kept of the keys this batch is about, those with events first."""
        of_events = map(key_bytes, dict.fromkeys(key for part in parts for key in part.events.keys))
        keys = PackedKeys.of(dict.fromkeys([*of_events, *self.asked]))
        also: AlsoTaken = "all" if every_key else self._held_keys(watermark_ms)
        return self.keys.take(keys, watermark_ms, also)

    def _match_encoded(
        self, parts: Sequence[RelevantEvents], watermark_ms: int
    ) -> "EncodedBatch | None":
        """Match the whole batch in compiled code; `None` if it has to go another way."""
        if self.asked or len(parts) > 1:
            return None
        span = self.header.processed_ms, watermark_ms
        return match_encoded(self.group, self.keys, self._batch, parts, span)

    def _restore(self) -> None:
        """Put keys into the matcher as they were when the batch began."""
        matcher, batch = self._compiled.matcher, self._batch
        matcher.time_ms = self.header.processed_ms
        self._key_values = [key_values(batch.key(number)) for number in range(len(batch))]
        spans, layouts = batch.entries()
        numbers = np.flatnonzero(spans[:, 1] > spans[:, 0]).tolist()
        entries = zip(numbers, spans[numbers].tolist(), layouts[numbers].tolist(), strict=True)
        for number, (begin, end), written in entries:
            restorer = self.keys.restorer(written)
            restorer.restore(self._key_values[number], batch.data[begin:end])
        matcher.keep_only(self.group.going_on(self.group.phases.at(self.header.processed_ms)))
        self.open.before = held_by(self._compiled)

    def _restore_kept(self) -> None:
        """Put keys into the matcher as they are now, if they are only bytes."""
        if self._encoded is None:
            return
        restorer = self.keys.restorer(self.keys.layout_number())
        for number, (_, encoded) in enumerate(self._encoded.updated_keys.encoded()):
            self._key_values.append(key_values(self._batch.key(number)))
            if encoded is not None:
                restorer.restore(self._key_values[number], encoded.data)
        self._encoded = None

    def open_for(self, key: bytes) -> Mapping[str, OpenMatches]:
        """Return by rule what is open for a key that is asked about, before the state is saved."""
        matcher = self._compiled.matcher
        return open_matches(matcher, key_values(key), PARTIAL_MATCHES_TOLD, event_time_ms)
