"""Emit what one selector group finds in a batch, within the limits of each rule.

    Detection, … ──MatchEmitter──► MatchRows ──► RowChunks · counts · stopped or cut rules
    FoundBlock ───────┘ └──all plain──► PlainBlocks ──┘

A rule that brings more at one event than it may, or a larger row, does so however events come: it
is stopped. What a batch brings also depends on how much is read at once: a rule that brings all it
may in a batch goes on, and the rest of the batch is left out. Both are counted and reported.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cep.keyed.found_columns import FoundBlock
from cep.keyed.shapes import Detection
from processor_runtime.alerting.live_finds import LiveFinds
from processor_runtime.alerting.match_tags import tag_rows
from processor_runtime.alerting.snoozed_finds import SnoozedFinds
from processor_runtime.alerting.suppression import Suppressor
from processor_runtime.output.match_rows import MatchRows
from processor_runtime.output.plain_rules import PlainRules
from processor_runtime.output.row_chunks import RowChunks
from processor_runtime.rows.arrow import has_arrow
from processor_runtime.rows.output_rows import OutputRow
from processor_runtime.rows.row_limits import RowLimitExceeded
from processor_runtime.rows.shard_status import ShardStatus, StoppedRule
from processor_runtime.rules.alerts import window_from
from processor_runtime.rules.rule_set import SelectorGroup
from processor_runtime.stages.rule_errors import FailureSite, RuleErrors

if TYPE_CHECKING:
    from processor_runtime.output.plain_blocks import PlainBlocks


@dataclass(slots=True)
class _Cut:
    """How many finds are left out, and the first of them."""

    left_out: int
    site: FailureSite
    error: RowLimitExceeded


@dataclass(slots=True)
class MatchEmitter:
    """Emits the finds of one group in one batch of one shard.

    `group`: the rules; those that fail are stopped in its matcher.
    """

    group: SelectorGroup
    match_rows: MatchRows
    rows: RowChunks
    status: ShardStatus
    errors: RuleErrors
    live: LiveFinds
    suppressor: Suppressor
    snoozed: SnoozedFinds
    _stopped: dict[str, StoppedRule] = field(default_factory=dict)
    _cut: dict[str, _Cut] = field(default_factory=dict)
    _blocks: "PlainBlocks | None" = None

    def __post_init__(self) -> None:
        if has_arrow():
            from processor_runtime.output.plain_blocks import PlainBlocks  # noqa: PLC0415 - an extra

            rules = PlainRules(self.group, self.match_rows, self.status, self.live, self.snoozed)
            self._blocks = PlainBlocks(rules, self.match_rows)

    def chunks(self, found: Sequence[Detection] | FoundBlock) -> Iterator[Sequence[OutputRow]]:
        """Emit what was found; yield full chunks of rows.

        `found`: what one event, or one advance of time, has brought; or what many have.

        Raises:
            RuleFailed: a rule failed, and the job is set to fail then.
        """
        if not isinstance(found, FoundBlock):
            yield from self._one_by_one(found)
        elif self._blocks and (blocks := self._blocks.emit(found)) is not None:
            for rows in blocks:
                self.rows.add_many("match", rows)
                yield from self.rows.full()
        elif smaller := list(found.smaller()):
            # It may have been only some of them, or all together were too large.
            for block in smaller:
                yield from self.chunks(block)
        else:
            for detections in found.detections():
                yield from self._one_by_one(detections)

    def _one_by_one(self, detections: Sequence[Detection]) -> Iterator[Sequence[OutputRow]]:
        self.match_rows.budget.begin_event()
        for place, found in enumerate(detections):
            if found.rule in self._stopped:
                continue
            rows: list[OutputRow] = []
            is_shadow = self.live.is_shadow(found)
            try:
                is_snoozed = self._is_snoozed(found)
                self._make_rows(found, rows, is_shadow=is_shadow)
                rows = self._divided(found, rows, is_snoozed=is_snoozed)
            except RowLimitExceeded as error:
                rows = self._divided(found, rows, is_snoozed=is_snoozed)
                self.rows.add(self._wanted(found, self._count_and_tag(found, rows)))
                if error.is_of_batch:
                    self._cut_short(found, error)
                else:
                    self._stop_at(found, detections[place:], error)
            except Exception as error:  # noqa: BLE001 - user code, which fails alone
                self._stop(found, "function", error)
            else:
                self._count(found, rows, is_shadow=is_shadow, is_snoozed=is_snoozed)
                self.rows.add(self._wanted(found, self._count_and_tag(found, rows)))
            if self.rows.has_full:
                yield from self.rows.full()

    def stopped(self) -> Iterable[StoppedRule]:
        """Return the rules that were stopped, and tell of those that were cut short.

        Raises:
            RuleFailed: there is one, and the job is set to fail then.
        """
        for rule_id, cut in self._cut.items():
            error = cut.error.telling(cut.left_out)
            self.errors.tell(self.group.intervals[rule_id], "limit", error, cut.site)
        return self._stopped.values()

    def _make_rows(self, found: Detection, rows: list[OutputRow], *, is_shadow: bool) -> None:
        compiled = self.group.compiled
        rule = compiled.rules[found.rule]
        if not self.match_rows.wants(rule, is_timeout=found.is_timeout, is_shadow=is_shadow):
            return
        call = compiled.function_calls.get(rule.id)
        if call is None:
            self.match_rows.make(rule, found, rows, is_shadow=is_shadow)
            return
        with call:
            self.match_rows.make(rule, found, rows, is_shadow=is_shadow)

    def _is_snoozed(self, found: Detection) -> bool:
        return self.snoozed.is_snoozed(self.group.compiled.rules[found.rule].processor_id, found)

    def _divided(
        self, found: Detection, rows: list[OutputRow], *, is_snoozed: bool
    ) -> list[OutputRow]:
        """Return the rows of a find, those that do not go out as of kind `suppressed`."""
        rule = self.group.compiled.rules[found.rule]
        if is_snoozed:
            return [row._replace(kind="suppressed") if row.kind == "match" else row for row in rows]
        if rule.suppression is None:
            return rows
        return self.suppressor.suppress(rule, rule.suppression, found, rows)

    def _wanted(self, found: Detection, rows: list[OutputRow]) -> list[OutputRow]:
        """Leave out what was made to be divided only."""
        wanted = self.match_rows.wanted
        if all(row.kind in wanted for row in rows):
            return rows
        is_told = self.group.compiled.rules[found.rule].goes_through_driver
        return [row for row in rows if row.kind in wanted or (is_told and row.kind == "match")]

    def _count_and_tag(self, found: Detection, rows: list[OutputRow]) -> list[OutputRow]:
        """Count a match that the driver has to decide on; return its rows as they are for it."""
        rule = self.group.compiled.rules[found.rule]
        if not rule.goes_through_driver or all(row.kind != "match" for row in rows):
            return rows
        counts = self.status.rule(found.rule)
        if rule.grouping is not None:
            counts.gathered += 1
        elif rule.budget is not None:
            window = window_from(found.time_ms, rule.budget.for_ms)
            counts.spent[window] = counts.spent.get(window, 0) + 1
        return tag_rows(rows, rule.grouping)

    def _count(
        self, found: Detection, rows: Sequence[OutputRow], *, is_shadow: bool, is_snoozed: bool
    ) -> None:
        counts = self.status.rule(found.rule)
        kinds = {row.kind for row in rows}
        if is_shadow:
            counts.shadow += not found.is_timeout
        elif is_snoozed or ("suppressed" in kinds and "match" not in kinds):
            counts.suppressed += 1
        elif found.is_timeout:
            counts.timeouts += 1
        else:
            counts.matches += 1
            counts.last_match_ms = found.time_ms

    def _cut_short(self, found: Detection, error: RowLimitExceeded) -> None:
        self.status.rule(found.rule).left_out += 1
        if (cut := self._cut.get(found.rule)) is not None:
            cut.left_out += 1
        else:
            self._cut[found.rule] = _Cut(1, FailureSite(found.key, found.time_ms), error)

    def _stop_at(
        self, found: Detection, rest: Sequence[Detection], error: RowLimitExceeded
    ) -> None:
        # Of the same instant only: what the rule would have found later is not known.
        same = (found.rule, found.time_ms)
        left_out = sum(1 for each in rest if (each.rule, each.time_ms) == same)
        self.status.rule(found.rule).left_out += left_out
        self._stop(found, "limit", error.telling(left_out))

    def _stop(self, found: Detection, reason: str, error: Exception) -> None:
        site = FailureSite(found.key, found.time_ms)
        interval = self.group.intervals[found.rule]
        self._stopped[found.rule] = self.errors.failed(interval, reason, error, site)
        self.group.compiled.matcher.stop([found.rule])
