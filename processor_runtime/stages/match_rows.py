"""What was found, through the process functions, to rows of output.

Detection ──process function or select──► OutputRow, with the key, the events and an id
"""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from cep.matching.shapes import Detection
from cep.nfa.runs import Cell
from cep.processor import (
    Output,
    SelectExpressions,
    TimedOutPartialMatchHandler,
    process,
)
from cep.row_search.matched import MatchedRows
from processor_runtime.rows.event_block import event_fields, event_time_ms
from processor_runtime.rows.json_text import json_text
from processor_runtime.rows.output_rows import MatchIds, OutputRow, RowKind
from processor_runtime.rules.loading import LoadedRule
from processor_runtime.schedule.batch_clock import BatchClock
from processor_runtime.stages.row_budget import RowBudget, check_size


@dataclass(frozen=True, slots=True)
class _GivenMatch:
    """What a process function is given; see `cep.processor.Found`."""

    steps: dict[str, list[dict[str, Any]]]
    time_ms: int
    is_timeout: bool


@dataclass(frozen=True, slots=True)
class _MatchedEvents:
    """The events of a match, and what is the same for all rules that found them."""

    cell: Cell | MatchedRows
    step_names: tuple[str, ...]
    steps: dict[str, list[dict[str, Any]]]
    events_json: str
    start_ms: int


@dataclass(slots=True)
class MatchRows:
    """Turns what one batch of one shard finds into rows.

    Args:
        columns: the columns of the stream; an event is the tuple of its time and their values.
        clock: the time of the batch.
        wanted: the kinds of rows that some output takes; others are not made.
        budget: what the rules have brought in this batch.
    """

    columns: Sequence[str]
    clock: BatchClock
    wanted: frozenset[str]
    budget: RowBudget = field(default_factory=RowBudget)
    _ids: MatchIds = field(default_factory=MatchIds.fresh)
    _newest: _MatchedEvents | None = None

    def wants(self, rule: LoadedRule, *, is_timeout: bool) -> bool:
        """Whether a rule's matches, or its timed-out partial matches, can make any row."""
        if not is_timeout:
            # A process function may do more than return rows, so it sees every match.
            return "match" in self.wanted or rule.function is not None
        return "timeout" in self.wanted or isinstance(rule.function, TimedOutPartialMatchHandler)

    def rows(self, rule: LoadedRule, found: Detection) -> Iterator[OutputRow]:
        """Yield the rows of one match or timed-out partial match; ask `wants` first.

        Raises:
            RowLimitExceeded: the rule brings too many, or too large a one; those before are good.
            Exception: whatever the process function raises.
        """
        self.budget.check(rule.row_limits, found)
        matched = self._matched_events(found)
        kind: RowKind = "timeout" if found.is_timeout else "match"
        key = json_text(found.key)
        identity: tuple[str | int, ...] = (
            *(rule.processor_id, rule.version, kind, key),
            *(matched.start_ms, found.time_ms),
        )
        if isinstance(found.cell, MatchedRows):
            # Empty matches have no events to tell them apart.
            identity = (*identity, found.cell.index)
        # Code may change what it is given, which other rules and the matcher go on to use.
        is_code = not isinstance(rule.function, SelectExpressions | None)
        steps = deepcopy(matched.steps) if is_code else matched.steps
        given = _GivenMatch(steps, found.time_ms, found.is_timeout)
        for output in self._outputs(rule, given, found):
            self.budget.count(rule.row_limits, found)
            row_kind: RowKind = kind if output.tag is None else "side"
            if row_kind not in self.wanted:
                continue
            row = OutputRow(
                kind=row_kind,
                tag=output.tag,
                processor_id=rule.processor_id,
                version=rule.version,
                epoch=self.clock.epoch,
                key=key,
                match_id=self._ids.match_id(identity, matched.events_json),
                start_ms=matched.start_ms,
                end_ms=found.time_ms,
                output=None if output.value is None else json_text(output.value),
                events=matched.events_json,
            )
            check_size(rule.row_limits, row)
            yield row

    def _matched_events(self, found: Detection) -> _MatchedEvents:
        """Return the events of a match; rules that find the same come one after the other."""
        newest = self._newest
        if newest is None or newest.cell is not found.cell or newest.step_names != found.step_names:
            steps = {
                step: [event_fields(event, self.columns) for event in events]
                for step, events in found.steps.items()
            }
            newest = self._newest = _MatchedEvents(
                found.cell,
                found.step_names,
                steps,
                json_text(steps),
                event_time_ms(found.first_event),
            )
        return newest

    def _outputs(self, rule: LoadedRule, given: _GivenMatch, found: Detection) -> Iterator[Output]:
        function = rule.function
        if function is not None:
            yield from process(function, given, processing_time_ms=self.clock.processing_time_ms)
        elif rule.row_output is not None and isinstance(found.cell, MatchedRows):
            yield from map(Output, rule.row_output.dicts(found.cell))
        if found.is_timeout or (function is None and rule.row_output is None):
            yield Output(None)
