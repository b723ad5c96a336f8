"""The second stage: one micro-batch of one shard, all selector groups, from blocks to rows.

    blocks of the key stage ──per group──► GroupMatcher ──► MatchEmitter ──► rows, status, timer

A rule that raises, breaks its limits, or cannot be loaded is stopped in this shard and reported;
the others go on as if it had never been. Spark is not known here: state comes as `KeyedState`.

Source: FLIP-200, "pattern matching operator".
"""

from collections import defaultdict
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import polars as pl

from cep.matching.batch import no_cycle_collection
from cep.nfa.codec import pack, unpack
from cep.nfa.errors import LimitExceeded
from processor_runtime.alerting.live_finds import LiveFinds
from processor_runtime.alerting.snoozed_finds import SnoozedFinds
from processor_runtime.alerting.suppression import SentGroups, Suppressor
from processor_runtime.output.events.unusable_events import LATEST_MS, late_rows
from processor_runtime.output.match_rows import MatchRows
from processor_runtime.output.row_chunks import RowChunks
from processor_runtime.rows.event_block import TIME, EventBlock, decode_events, encode_events
from processor_runtime.rows.line_route import LineRoute
from processor_runtime.rows.output_rows import OutputRow
from processor_runtime.rows.shard_status import ShardStatus, StoppedRule
from processor_runtime.rules.rule_set import RuleSet, SelectorGroup
from processor_runtime.schedule.batch_clock import BatchClock
from processor_runtime.schedule.interval import EndReason
from processor_runtime.stages.asked_keys import KeyQuestion, answer
from processor_runtime.stages.group_matcher import GroupMatcher
from processor_runtime.stages.match_emitter import MatchEmitter
from processor_runtime.stages.rule_errors import RuleErrors, reason_of
from processor_runtime.stages.window_rows import forget
from processor_runtime.state.group_header import read_header
from processor_runtime.state.key_buckets import bucket_name
from processor_runtime.state.keyed_state import KeyedState, StateUnder

_DIRECTORY = "groups"
_REMOVED_FOR = frozenset({EndReason.PAUSED, EndReason.REMOVED, EndReason.QUARANTINED})
"""Rules removed for these reasons need not report earlier failures."""


@dataclass(frozen=True, slots=True)
class MatchSettings:
    """How the second stage works.

    `wanted` are the kinds of rows some output takes. `fails_on_error` makes the first failing rule
    end the job, which is what FLIP-200 does; otherwise the rule is quarantined. `writes_lines` is
    whether rows are only written as lines of JSON, and are best made as such, and `lines` which of
    them do not go through Spark.
    """

    wanted: frozenset[str] = frozenset({"match", "timeout", "side", "late", "error"})
    fails_on_error: bool = False
    writes_lines: bool = False
    lines: LineRoute = field(default_factory=LineRoute)


@dataclass(slots=True)
class ShardMatcher:
    """One micro-batch of one shard."""

    shard: int
    rules: RuleSet
    state: KeyedState
    clock: BatchClock
    settings: MatchSettings = field(default_factory=MatchSettings)
    rows: RowChunks = field(default_factory=RowChunks)
    status: ShardStatus = field(init=False)
    next_wake_ms: int | None = None
    _questions: list[KeyQuestion] = field(default_factory=list)
    _match_rows: MatchRows = field(init=False)
    _errors: RuleErrors = field(init=False)
    _snoozed: SnoozedFinds = field(init=False)
    _sent: SentGroups = field(init=False)

    def __post_init__(self) -> None:
        self.status = ShardStatus(self.shard)
        self._snoozed = SnoozedFinds(self.rules.snoozes)
        self._sent = SentGroups(self.state)
        self._match_rows = MatchRows(
            self.rules.columns,
            self.clock,
            self.settings.wanted,
            writes_lines=self.settings.writes_lines,
        )
        self._errors = RuleErrors(
            self.clock,
            self.rules.columns,
            self.rows if "error" in self.settings.wanted else None,
            self.status,
            end_job=self.settings.fails_on_error,
        )

    def match(
        self, arrived: Iterable[EventBlock], asked: Iterable[KeyQuestion] = ()
    ) -> Iterator[Sequence[OutputRow]]:
        """Take the blocks that came in this batch and match what is complete by now.

        Yields rows of output in chunks, those that waited in `rows` first. Once all are taken,
        `status` is complete, and `next_wake_ms` is the watermark at which the shard wants to be
        called even if nothing comes.

        `asked`: questions about keys of this shard; the status has the answers.

        Raises:
            RuleFailed: a rule failed, and the job is set to fail then.
        """
        blocks: dict[str, list[EventBlock]] = defaultdict(list)
        for block in arrived:
            blocks[block.group] += self._on_time(block)
            yield from self.rows.full()
        known = self._known_groups()
        self._questions = list(asked)
        for group_id in known:
            if group_id not in self.rules.groups:
                self._forget(group_id)
        held = []
        wakes: list[int] = []
        for group_id, group in self.rules.groups.items():
            if group_id not in known and group_id not in blocks:
                continue
            held.append(group_id)
            with no_cycle_collection():
                wake_ms = yield from self._match_group(group, blocks[group_id])
            if wake_ms is not None:
                wakes.append(wake_ms)
        if held != known:
            self.state.put(_DIRECTORY, pack(held))
        self._sent.save(self.clock.complete_ms)
        # The driver has checked them all; one that fails here lacks something on this machine.
        for refused in self.rules.refused:
            if refused.interval.end_reason in _REMOVED_FOR:
                continue
            self.status.stopped.append(self._errors.failed(refused.interval, "code", refused.error))
        # Ignore deadlines beyond the representable time range.
        self.next_wake_ms = min(
            (time_ms for time_ms in wakes if time_ms <= LATEST_MS), default=None
        )
        yield from self.rows.rest()
        self.status.row_kinds = dict(self.rows.kinds)
        # Of a key selector that has no state here, nothing is open.
        held_here = set(held)
        self.status.answers += [
            answer(each, None, {}, self.clock)
            for each in self._questions
            if each.group not in held_here
        ]

    def _on_time(self, block: EventBlock) -> list[EventBlock]:
        """Return a block without late events; where the key stage knew the time it has none."""
        if block.from_ms > self.clock.watermark_ms:
            return [block]
        events = decode_events(block.data)
        late = events.filter(pl.col(TIME) <= self.clock.watermark_ms)
        self.status.counts.late += len(late)
        if "late" in self.settings.wanted:
            self.rows.add(late_rows(late))
        rest = events.filter(pl.col(TIME) > self.clock.watermark_ms)
        return [encode_events(block.group, block.arrival, rest)] if len(rest) else []

    def _known_groups(self) -> list[str]:
        data = self.state.get(_DIRECTORY)
        return [] if data is None else list(unpack(data))

    def _forget(self, group_id: str) -> None:
        """Free the state of a key selector that no rule has any more, but not what has gone out."""
        state = self._state_of(group_id)
        header = read_header(state)
        state.put_many(dict.fromkeys(map(bucket_name, range(len(header.buckets)))))
        for number in header.layouts:
            state.delete(f"l{number}")
        for block in header.waiting:
            state.delete(block.name)
        forget(state, header)
        state.delete("header")

    def _state_of(self, group_id: str) -> KeyedState:
        return StateUnder(self.state, f"{group_id}/")

    def _match_group(
        self, group: SelectorGroup, arrived: Sequence[EventBlock]
    ) -> Generator[Sequence[OutputRow], None, int | None]:
        group.compiled.matcher.clear()
        asked = [each for each in self._questions if each.group == group.compiled.id]
        matcher = GroupMatcher(
            group,
            self._state_of(group.compiled.id),
            self.rules.stream.order_by,
            [each.key for each in asked],
        )
        live = LiveFinds(group)
        self._count_silent_timeouts(group, live)
        suppressor = Suppressor(group, matcher.state, self._sent, self.status)
        given = MatchEmitter(
            group,
            self._match_rows,
            self.rows,
            self.status,
            self._errors,
            live,
            suppressor,
            self._snoozed,
        )
        until_ms = LATEST_MS if self.clock.closes else self.clock.complete_ms
        for detections in matcher.match(arrived, until_ms, closes=self.clock.closes):
            yield from given.chunks(detections)
        stopped = [
            self._errors.failure(group.intervals[failure.rule], failure)
            for failure in group.compiled.take_failures()
        ]
        stopped += given.stopped()
        for rule_id, count in group.compiled.matcher.counted_timeouts().items():
            self.status.rule(rule_id).timeouts += count
        stopped += self._stopped_by_windows(group, matcher, {rule.rule_id for rule in stopped})
        stopped += self._limited(group, matcher, {rule.rule_id for rule in stopped})
        for rule_id, steps in matcher.open.funnel(stopped).items():
            self.status.rule(rule_id).steps = steps  # a rule has one key selector
        self.status.answers += [
            answer(each, group.compiled, matcher.open_for(each.key), self.clock) for each in asked
        ]
        matcher.save(self.clock.complete_ms, stopped)
        suppressor.save(self.clock.complete_ms, self.clock.batch_id)
        for rule_id, count in matcher.events_by_rule.items():
            self.status.rule(rule_id).events += count
        for rule_id, count in matcher.open.dropped.items():
            self.status.rule(rule_id).dropped += count
        for rule_id, count in matcher.released.items():
            self.status.rule(rule_id).released += count
        self.status.partial_matches |= matcher.header.partial_matches
        self.status.interpreted_reasons |= group.compiled.batch_matcher.interpreted_reasons
        self.status.stopped += [
            rule
            for rule in matcher.header.stopped
            if group.intervals[rule.rule_id].end_reason not in _REMOVED_FOR
        ]
        self.status.keys += matcher.header.buckets.key_count
        self.status.waiting_events += matcher.waiting_count
        self.status.state_bytes += matcher.size_bytes
        return matcher.next_wake_ms

    def _count_silent_timeouts(self, group: SelectorGroup, live: LiveFinds) -> None:
        """Have timeouts that can make no row counted only: there may be more than events.

        Those that may not count are looked at one by one.
        """
        rules = group.compiled.rules
        wants = self._match_rows.wants
        group.compiled.matcher.count_timeouts_of(
            [
                name
                for name, rule in rules.items()
                if not wants(rule, is_timeout=True) and not live.may_be_shadow(name)
            ]
        )

    def _stopped_by_windows(
        self, group: SelectorGroup, matcher: GroupMatcher, out: Collection[str]
    ) -> list[StoppedRule]:
        """Stop the rules, but for those that are out already, whose windows have failed."""
        stopped = [
            self._errors.failed(group.intervals[rule_id], reason_of(error), error)
            for rule_id, error in matcher.window_failures.items()
            if rule_id not in out
        ]
        matcher.stop([rule.rule_id for rule in stopped])
        return stopped

    def _limited(
        self, group: SelectorGroup, matcher: GroupMatcher, out: Collection[str]
    ) -> list[StoppedRule]:
        """Stop the rules, but for those that are out already, that hold more than they may here."""
        if not group.compiled.shard_limits:
            return []
        stopped = []
        for rule_id, count in matcher.open.partial_matches().items():
            limit = group.compiled.shard_limits.get(rule_id)
            if limit is not None and count > limit and rule_id not in out:
                remedy = "narrow the conditions, or add within, so that partial matches end"
                error = LimitExceeded("partial matches of one shard", count, limit, remedy)
                stopped.append(self._errors.failed(group.intervals[rule_id], "limit", error))
        matcher.stop([rule.rule_id for rule in stopped])
        return stopped
