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
from typing import Any, Final

import numpy as np
import polars as pl

from cep.matching.found_columns import FoundBlock
from cep.matching.key_state import KeyRestorer, encode_keys, layout
from cep.matching.open_matches import OpenMatches, open_matches
from cep.matching.shapes import Detection
from cep.nfa.codec import pack, unpack
from cep.nfa.step_counts import StepCounts, StepEvent
from contract.asked_keys import PARTIAL_MATCHES_TOLD
from processor_runtime.rows.event_block import TIME, EventBlock, event_time_ms, translation
from processor_runtime.rows.key_hashing import key_bytes, key_values
from processor_runtime.rules.compiled_group import CompiledGroup
from processor_runtime.rules.rule_set import SelectorGroup
from processor_runtime.schedule.interval import EndReason, Interval
from processor_runtime.stages.relevant_events import RelevantEvents, relevant_events
from processor_runtime.stages.unusable_events import unusable
from processor_runtime.state.group_header import (
    GroupHeader,
    OpenSteps,
    StoppedRule,
    read_header,
    write_header,
)
from processor_runtime.state.key_bucket import KeyEntry
from processor_runtime.state.key_buckets import AlsoTaken, KeyBuckets
from processor_runtime.state.keyed_state import KeyedState
from processor_runtime.state.waiting_events import WaitingEvents

_BUCKETS_SWEPT: Final = 48
"""How many buckets per batch are rid of what replaced and deleted rules have left in them."""


@dataclass(slots=True)
class GroupMatcher:
    """One batch of one group in one shard.

    Args:
        group: the rules; its matcher is empty, and is left empty.
        state: the state of the group in this shard.
        order_by: order of events of equal time.
        asked: keys that somebody asks about, as bytes.
    """

    group: SelectorGroup
    state: KeyedState
    order_by: Sequence[str]
    asked: Collection[bytes] = ()
    header: GroupHeader = field(init=False)
    buckets: KeyBuckets = field(init=False)
    unusable: pl.DataFrame | None = None
    events_by_rule: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    released: Counter[str] = field(default_factory=Counter)
    _compiled: CompiledGroup = field(init=False)
    _waiting: WaitingEvents = field(init=False)
    _keys: dict[tuple[Any, ...], bytes] = field(default_factory=dict)
    _counts_before: Counter[tuple[str, str]] = field(default_factory=Counter)
    _counts_after: Counter[tuple[str, str]] | None = None
    _given_up: dict[str, dict[str, StepCounts]] = field(default_factory=dict)
    _ended: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._compiled = self.group.compiled
        self.header = read_header(self.state)
        self.buckets = KeyBuckets(self._compiled.id, self.state, self.header.buckets)
        self._waiting = WaitingEvents(self._compiled.id, self.state, self.header.waiting)
        known = [rule for rule in self.header.stopped if rule.rule_id in self._compiled.rules]
        self.header.stopped = known
        self._compiled.matcher.stop([rule.rule_id for rule in known])

    def match(
        self, arrived: Iterable[EventBlock], watermark_ms: int, *, closes: bool = False
    ) -> Iterator[list[Detection] | FoundBlock]:
        """Match what the watermark has passed; yield what was found, in order of event time.

        Each list is what one event, or one advance of time, has brought, a block what many have.
        Rules may be stopped in between. All else here holds once the last has been taken.

        Args:
            arrived: the blocks that came in this batch.
            watermark_ms: how far events are complete.
            closes: no event comes after these: partial matches that are open then are given up, and
                the matches found by that, each with the time of its last event, come at the end.
        """
        events = self._usable(self._waiting.take(watermark_ms, arrived, self.order_by))
        if events is not None and events.columns != [TIME, *self._compiled.columns]:
            events = self._with_columns(events)
        parts = [] if events is None else list(relevant_events(self.group, events))
        self._count_events(parts)
        self._restore(parts, watermark_ms, every_key=closes)
        yield from self._detections(parts, watermark_ms)
        if closes:
            yield from self._freed_at_the_end()
        self._counts_after = self._count()

    def stop(self, rules: Collection[str]) -> None:
        """Stop rules once everything has been matched."""
        if rules:
            self._compiled.matcher.stop(rules)
            self._counts_after = None

    def save(self, watermark_ms: int, stopped: Iterable[StoppedRule]) -> None:
        """Keep the state for the next batch, and empty the matcher for the next shard."""
        self.header.stopped += stopped
        number = self._layout_number()
        encoded = dict(encode_keys(self._compiled.matcher, self._keys.keys()))
        for key, encoded_key in self._keys.items():
            entry = None
            if (state := encoded.get(key)) is not None:
                entry = KeyEntry(state.deadline_ms, number, state.data, state.holds_back)
            self.buckets.put(encoded_key, entry)
        self.buckets.save()
        self._forget_layouts()
        self.header.open_steps = self._open_steps()
        self.header.processed_ms = max(self.header.processed_ms, watermark_ms)
        self.header.waiting = self._waiting.blocks
        self.header.buckets = self.buckets.index
        write_header(self.state, self.header)
        self._compiled.matcher.clear()

    @property
    def next_wake_ms(self) -> int | None:
        """The next watermark at which there is something to do without new events."""
        times = (self._waiting.next_ms, self.buckets.next_deadline_ms)
        return min((time_ms for time_ms in times if time_ms is not None), default=None)

    @property
    def waiting_count(self) -> int:
        """How many events wait for the watermark."""
        return self._waiting.count

    @property
    def size_bytes(self) -> int:
        """How many bytes keys and waiting events take in the state."""
        return self._waiting.size_bytes + self.buckets.size_bytes

    # Events

    def _usable(self, events: pl.DataFrame | None) -> pl.DataFrame | None:
        """Set apart what no rule can see; the first stage lets none of it pass, but once it did."""
        if events is None or (is_unusable := unusable(events)) is None:
            return events
        self.unusable = events.filter(is_unusable)
        return events.filter(~is_unusable)

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
            yield from self._compiled.at_once.blocks(part.events.with_kinds(kinds))
        last = max(current, self.group.phases.at(watermark_ms))
        yield from self._enter_phases(current, last)
        if found := matcher.advance_to(watermark_ms):
            yield found

    def _freed_at_the_end(self) -> Iterator[list[Detection]]:
        for rule, steps in self._open_steps().items():
            self._count_given_up(rule, steps)
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
        given_up = [rule for rule in ending if not _has_failed(self.group.intervals[rule])]
        still_open = self._open_steps()
        for rule in ending:
            self._count_given_up(rule, still_open.get(rule, {}))
        matcher = self._compiled.matcher
        found = matcher.release(matcher.select(given_up), time_ms)
        self.released.update(match.rule for match in found)
        self._ended.update(ending)
        return found

    def _count_given_up(self, rule: str, steps: Mapping[str, int]) -> None:
        """Count what a rule has open, by step, as ended with it or by what it was stopped for."""
        matcher = self._compiled.matcher
        is_stopped = _has_failed(self.group.intervals[rule]) or matcher.is_stopped(rule)
        what = StepEvent.STOPPED if is_stopped else StepEvent.DROPPED
        if not is_stopped:
            self.dropped[rule] += sum(steps.values())
        of_rule = self._given_up.setdefault(rule, {})
        for step, count in steps.items():
            if step and count > 0:
                of_rule.setdefault(step, StepCounts()).count(what, count)

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

    def _restore(
        self, parts: Sequence[RelevantEvents], watermark_ms: int, *, every_key: bool
    ) -> None:
        """Put the keys this batch is about into the matcher."""
        matcher = self._compiled.matcher
        matcher.time_ms = self.header.processed_ms
        for key in dict.fromkeys(key for part in parts for key in part.events.keys):
            self._keys[key] = key_bytes(key)
        self._keys |= {key_values(asked): asked for asked in self.asked}
        restorers: dict[int, KeyRestorer] = {}
        entries = self.buckets.take(
            self._keys.values(),
            watermark_ms,
            self._layout_number(),
            _BUCKETS_SWEPT,
            also="all" if every_key else self._held_keys(watermark_ms),
        )
        for encoded_key, entry in entries:
            key = key_values(encoded_key)
            self._keys[key] = encoded_key
            if entry.layout not in restorers:
                restorers[entry.layout] = self._restorer(entry.layout)
            restorers[entry.layout].restore(key, entry.data)
        matcher.keep_only(self.group.going_on(self.group.phases.at(self.header.processed_ms)))
        self._counts_before = self._count()

    def _restorer(self, number: int) -> KeyRestorer:
        if number == self._layout_number():
            return KeyRestorer(self._compiled.matcher, layout(self._compiled.matcher))
        data = self.state.get(f"l{number}")
        if data is None:
            raise LookupError(f"the state has lost the layout {number} of its keys")
        columns, written = unpack(data)
        translate = translation(columns, self._compiled.columns)
        return KeyRestorer(self._compiled.matcher, written, translate)

    def _layout_number(self) -> int:
        """Return the number of the layout keys are written under now; a new one if it changed."""
        digest = self._compiled.layout_digest
        newest = max(self.header.layouts, default=0)
        if self.header.layouts.get(newest) == digest:
            return newest
        self.header.layouts[newest + 1] = digest
        self.state.put(
            f"l{newest + 1}",
            pack([list(self._compiled.columns), layout(self._compiled.matcher)]),
        )
        return newest + 1

    def _forget_layouts(self) -> None:
        newest = max(self.header.layouts)
        oldest = self.buckets.oldest_layout
        for number in list(self.header.layouts):
            if number != newest and (oldest is None or number < oldest):
                del self.header.layouts[number]
                self.state.delete(f"l{number}")

    # Partial matches

    def open_for(self, key: bytes) -> Mapping[str, OpenMatches]:
        """Return by rule what is open for a key that is asked about, before the state is saved."""
        matcher = self._compiled.matcher
        return open_matches(matcher, key_values(key), PARTIAL_MATCHES_TOLD, event_time_ms)

    def step_counts(self, stopped: Iterable[StoppedRule]) -> dict[str, dict[str, StepCounts]]:
        """Return the funnel of this batch by rule and step, before the state is saved.

        Args:
            stopped: the rules that were stopped in this batch: what they had open on keys that this
                batch is not about is given up, too.
        """
        still_open = self._open_steps()
        for rule in stopped:
            self._count_given_up(rule.rule_id, still_open.get(rule.rule_id, {}))
        counts = self._compiled.matcher.step_counts()
        for name, steps in self._given_up.items():
            of_rule = counts.setdefault(name, {})
            for step, given_up in steps.items():
                of_rule.setdefault(step, StepCounts()).add(given_up)
        return counts

    def partial_matches(self) -> dict[str, int]:
        """Return how many partial matches are open by rule, from what has changed in this batch."""
        return {rule: sum(steps.values()) for rule, steps in self._open_steps().items()}

    def _open_steps(self) -> OpenSteps:
        counts = Counter(
            {
                (rule, step): count
                for rule, steps in self.header.open_steps.items()
                for step, count in steps.items()
            }
        )
        counts.update(self._count() if self._counts_after is None else self._counts_after)
        counts.subtract(self._counts_before)
        out = {rule.rule_id for rule in self.header.stopped} | self._ended
        open_steps: OpenSteps = {}
        for (rule, step), count in counts.items():
            if count and rule in self._compiled.rules and rule not in out:
                open_steps.setdefault(rule, {})[step] = count
        return {rule: steps for rule, steps in open_steps.items() if sum(steps.values()) > 0}

    def _count(self) -> Counter[tuple[str, str]]:
        counts = Counter[tuple[str, str]]()
        for shape in self._compiled.matcher.shapes:
            counts.update(shape.open_steps())
        return counts


def _has_failed(interval: Interval) -> bool:
    return interval.end_reason is EndReason.QUARANTINED
