"""What was found, through the process functions, to rows of output.

Detection ──process function or select──► OutputRow, with the key, the events and an id
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from cep.keyed.shapes import Detection
from cep.nfa.chains import Chain
from cep.nfa.runs import Cell
from cep.processor import (
    Output,
    SelectExpressions,
    TimedOutPartialMatchHandler,
    process,
)
from cep.row_search.matched import MatchedRows
from processor_runtime.output.events.chained_events import ChainedEvents, EventsByStep, StepEvents
from processor_runtime.output.match_ids import MatchIds, find_digest, rule_digest
from processor_runtime.output.row_budget import RowBudget, check_size
from processor_runtime.rows.event_block import EventTuple, event_time_ms
from processor_runtime.rows.json_text import json_text, plain_json_text
from processor_runtime.rows.output_rows import OutputRow, RowKind
from processor_runtime.rules.loading import LoadedRule
from processor_runtime.schedule.batch_clock import BatchClock

StepFields = dict[str, list[dict[str, Any]]]
"""The events of a match by step, each with its values by column."""

TaggedValue = tuple[str | None, Any]
"""What is output beside the events; a tag names a side output."""

_EVENTS_ALONE: Final[Sequence[TaggedValue]] = ((None, None),)


@dataclass(frozen=True, slots=True)
class _GivenMatch:
    """What a process function is given; see `cep.processor.MatchResult`."""

    steps: StepFields
    time_ms: int
    is_timeout: bool


class _MatchedEvents(NamedTuple):
    """The events of a match, and what is the same for all rules that found them.

    `steps` may work out what is in it when it is asked for.
    """

    cell: Cell | Chain | MatchedRows
    step_names: tuple[str, ...]
    steps: EventsByStep
    events_json: str
    key_json: str
    start_ms: int


@dataclass(slots=True)
class MatchRows:
    """Turns what one batch of one shard finds into rows.

    Args:
        columns: the columns of the stream; an event is the tuple of its time and their values.
        clock: the time of the batch.
        wanted: the kinds of rows that some output takes; others are not made.
        writes_lines: whether rows that can be made as lines of JSON are.
        budget: what the rules have brought in this batch.
        ids: the ids of what was found in this batch.
    """

    columns: Sequence[str]
    clock: BatchClock
    wanted: frozenset[str]
    writes_lines: bool = False
    budget: RowBudget = field(default_factory=RowBudget)
    ids: MatchIds = field(default_factory=MatchIds)
    _newest: _MatchedEvents | None = None
    _places: Sequence[tuple[str, int]] = field(init=False)
    _chains: ChainedEvents = field(init=False)

    def __post_init__(self) -> None:
        self._chains = ChainedEvents(self.columns)
        # The time of an event stands before its columns.
        self._places = [(name, place) for place, name in enumerate(self.columns, start=1)]

    def wants(self, rule: LoadedRule, *, is_timeout: bool, is_shadow: bool = False) -> bool:
        """Whether a rule's matches, or its timed-out partial matches, can make any row."""
        kind: RowKind = "shadow" if is_shadow else "timeout" if is_timeout else "match"
        if kind == "match" and rule.goes_through_driver:
            return True  # its rows say which of them go out
        # What is suppressed is a match at first.
        if kind in self.wanted or (kind == "match" and "suppressed" in self.wanted):
            return True
        # A process function may do more than return rows, so it sees every match.
        if not is_timeout:
            return rule.function is not None
        return isinstance(rule.function, TimedOutPartialMatchHandler)

    def make(
        self, rule: LoadedRule, found: Detection, rows: list[OutputRow], *, is_shadow: bool = False
    ) -> None:
        """Append the rows of one match or timed-out partial match; ask `wants` first.

        Rows of a shadow match have the kind `shadow`; the tag holds the kind that they would have
        had, `timeout` or `side:<tag>`. Their id is the one that they would have had.

        Raises:
            RowLimitExceeded: the rule brings too many, or too large a one; those before are good.
            Exception: whatever the process function raises.
        """
        self.budget.check(rule.row_limits, found)
        matched = self._matched_events(found)
        events, key, start_ms = matched.events_json, matched.key_json, matched.start_ms
        steps = matched.steps
        end_ms = found.time_ms
        kind: RowKind = "timeout" if found.is_timeout else "match"
        of_rule = rule_digest(rule.processor_id, rule.version, kind)
        text = f"{start_ms},{end_ms},{key}{events}"
        if isinstance(found.cell, MatchedRows) and not steps:
            # Without events nothing else tells them apart.
            text += str(found.cell.index)
        of_find = find_digest(text.encode())
        is_select = type(rule.function) is SelectExpressions
        write = plain_json_text if is_select else json_text
        for tag, value in self._outputs(rule, steps, found):
            self.budget.count(found)
            row_kind: RowKind = kind if tag is None else "side"
            if is_shadow:
                row_kind, tag = "shadow", _shadow_tag(row_kind, tag)  # noqa: PLW2901 - its row's
            if row_kind not in self.wanted and row_kind != "match":
                continue
            row = OutputRow(
                row_kind,
                tag,
                rule.processor_id,
                rule.version,
                self.clock.epoch,
                key,
                self.ids.match_id(of_rule, of_find),
                start_ms,
                end_ms,
                None if value is None else write(value),
                events,
            )
            check_size(rule.row_limits, row)
            rows.append(row)

    def _matched_events(self, found: Detection) -> _MatchedEvents:
        """Return the events of a match; rules that find the same come one after the other."""
        newest = self._newest
        if newest is None or newest.cell is not found.cell or newest.step_names != found.step_names:
            if isinstance(found.cell, Chain):
                events = self._chains.events_of(found.cell, found.step_names)
            else:
                events = self._events_of(found)
            newest = self._newest = _MatchedEvents(
                found.cell,
                found.step_names,
                events.steps,
                events.json,
                plain_json_text(found.key),
                events.start_ms,
            )
        return newest

    def _events_of(self, found: Detection) -> StepEvents:
        events = found.steps
        # Steps are in the order of their first event; an empty match has none.
        first = next(iter(events.values()))[0] if events else found.first_event
        fields = self._fields(events)
        return StepEvents(fields, plain_json_text(fields), event_time_ms(first))

    def _fields(self, steps: Mapping[str, Sequence[EventTuple]]) -> StepFields:
        """Return the values of events by column."""
        found: StepFields = {}
        places = self._places
        # Every event of a match comes by here; comprehensions take half as long again.
        for step, events in steps.items():
            found[step] = of_step = []
            for event in events:
                fields = {}
                for name, place in places:
                    fields[name] = event[place]
                of_step.append(fields)
        return found

    def _outputs(
        self, rule: LoadedRule, steps: EventsByStep, found: Detection
    ) -> Iterable[TaggedValue]:
        """Return the outputs of a find that may bring one; more are checked as they are taken."""
        function = rule.function
        if function is None and rule.row_output is None:
            return _EVENTS_ALONE
        if type(function) is SelectExpressions:
            return _EVENTS_ALONE if found.is_timeout else ((None, function.row(steps)),)
        return self._given_out(rule, steps, found)

    def _given_out(
        self, rule: LoadedRule, steps: EventsByStep, found: Detection
    ) -> Iterator[TaggedValue]:
        """Yield the output of a process function or a clause."""
        for output in self._processed(rule, steps, found):
            self.budget.check(rule.row_limits, found)
            yield output.tag, output.value

    def _processed(
        self, rule: LoadedRule, steps: EventsByStep, found: Detection
    ) -> Iterator[Output]:
        function = rule.function
        if function is not None:
            # Code may change what it is given, which other rules and the matcher go on to use.
            fields = {name: [dict(event) for event in events] for name, events in steps.items()}
            given = _GivenMatch(deepcopy(fields), found.time_ms, found.is_timeout)
            yield from process(function, given, processing_time_ms=self.clock.processing_time_ms)
        elif rule.row_output is not None and isinstance(found.cell, MatchedRows):
            yield from map(Output, rule.row_output.dicts(found.cell))
        if found.is_timeout:
            yield Output(None)


def _shadow_tag(kind: RowKind, tag: str | None) -> str | None:
    """Return what tells the rows of a shadow apart."""
    if kind == "side":
        return f"side:{tag}"
    return "timeout" if kind == "timeout" else None
