"""Tries a MATCH_RECOGNIZE clause on a few events: its matches, and how far other starts came.

    events ─► RowPatternSearch per key ─► matches with their rows of output · near misses

Of a start that fails the candidate with the most rows is reported, with the row it ended at and the
variables it could have gone on with.
"""

import json
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from cep.expression import compile_predicate
from cep.row_pattern.analysis.analyse import analyse
from cep.row_pattern.clause import Query
from cep.row_search.matched import MatchedRows, RowOutcome
from cep.row_search.output import RowOutput
from cep.row_search.partition import Candidate, Partition, codes_of
from cep.row_search.search import RowPatternSearch
from cep.trials.bounds import LIMITS, MOST_LISTED, check_matches
from cep.trials.events import TimedEvent, column_reader
from cep.trials.plain_values import plain
from cep.trials.reports import TrialReport, TriedMatch, TriedPartialMatch
from cep.trials.rule import Rule


def row_pattern_report(
    rule: Rule, query: Query, events: Sequence[tuple[Hashable, TimedEvent]], *, let_time_pass: bool
) -> TrialReport:
    """Return what a clause finds in events with their keys, as JSON, in order of time.

    With `let_time_pass` time advances after the last event until that of WITHIN is over.

    Raises:
        MatchingError: a key exceeds a limit, or the clause fails on these events.
        EvaluationError: values of incompatible types are compared.
    """
    tracer = RowTracer(rule, query)
    for key, event in events:
        tracer.take(key, event)
    tracer.finish(let_time_pass=let_time_pass)
    return tracer.report(event for _, event in events)


class RowTracer:
    """One pass of a clause over events.

    `clause` is as it runs, `fits` are positions of events by variable, `matches` and `near_misses`
    in order of emission.
    """

    def __init__(self, rule: Rule, query: Query) -> None:
        self.clause = analyse(query.clause, rule.schema)
        self._search = RowPatternSearch(self.clause, column_reader, LIMITS, on_failed=self._failed)
        self._output = RowOutput(self.clause, column_reader)
        self._tests = [
            None if test is None else compile_predicate(test, column_reader)
            for test in self._search.program.row_tests
        ]
        self.fits: dict[str, list[int]] = {name: [] for name in self.clause.variables}
        self.matches: list[TriedMatch] = []
        self.near_misses: list[TriedPartialMatch] = []
        self._keys: dict[Hashable, Partition] = {}
        self._key: Hashable = None
        self._time_ms = 0

    def take(self, key: Hashable, event: TimedEvent) -> None:
        """Take the next event."""
        self._advance(event.time_ms)
        passed = [test is None or test(event, ()) for test in self._tests]
        for name, holds in zip(self.clause.variables, passed, strict=True):
            if holds:
                self.fits[name].append(event.position)
        partition = self._keys.setdefault(key, Partition())
        partition.append(event, event.time_ms, *self._search.program.row_bits(passed))
        self._run(key, None)

    def finish(self, *, until_ms: int | None = None, let_time_pass: bool) -> None:
        """Let time pass, to an instant and until WITHIN is over; tell what is still open."""
        if until_ms is not None:
            self._advance(until_ms)
        if let_time_pass and self.clause.within_ms is not None:
            self._advance(self._time_ms + self.clause.within_ms)
        for key, partition in self._keys.items():
            self._key = key
            if partition.has_begun and partition.has_start:
                self._miss(partition, partition.candidates, "open", None, None)

    def report(self, events: Iterable[TimedEvent]) -> TrialReport:
        """Return what was found."""
        times = {event.position: event.time_ms for event in events}
        near = sorted(self.near_misses, key=lambda each: -sum(map(len, each.steps.values())))
        return TrialReport(
            times=[times.get(position, 0) for position in range(max(times, default=-1) + 1)],
            fits=self.fits,
            matches=self.matches[:MOST_LISTED],
            partial_matches=near[:MOST_LISTED],
            left_out=max(0, len(self.matches) - MOST_LISTED) + max(0, len(near) - MOST_LISTED),
            unknown_fields=[],
        )

    def _advance(self, time_ms: int) -> None:
        self._time_ms = max(time_ms, self._time_ms)
        if self.clause.within_ms is not None:
            for key in self._keys:
                self._run(key, self._time_ms)

    def _run(self, key: Hashable, time_ms: int | None) -> None:
        self._key = key
        found = self._search.run(self._keys[key], time_ms=time_ms)
        self.matches += (self._match(key, each) for each in found if each.kind is RowOutcome.MATCH)
        check_matches(len(self.matches))

    def _match(self, key: Hashable, found: MatchedRows) -> TriedMatch:
        rows = [
            {name: plain(value) for name, value in row.items()} for row in self._output.dicts(found)
        ]
        steps = found.by_variable(self.clause.variables)
        return TriedMatch(
            key=json.loads(str(key)),
            steps={name: [event.position for event in taken] for name, taken in steps.items()},
            start=found.rows[found.start].time_ms,
            at=self._time_ms,
            output=rows[0] if len(rows) == 1 else {"rows": rows},
        )

    def _failed(
        self,
        partition: Partition,
        candidates: Sequence[Candidate],
        is_over: bool,  # noqa: FBT001 - as the search calls it
    ) -> None:
        if is_over:
            since_ms = partition.times[partition.start - partition.base]
            ended_ms = since_ms + (self.clause.within_ms or 0)
            self._miss(partition, candidates, "timed_out", ended_ms, None)
        else:
            event = partition.row(partition.cursor)
            self._miss(partition, candidates, "broken", event.time_ms, event.position)

    def _miss(
        self,
        partition: Partition,
        candidates: Sequence[Candidate],
        outcome: Any,
        ended_at_ms: int | None,
        ended_by: int | None,
    ) -> None:
        paths = [(state, codes_of(path)) for state, path, _ in candidates if path is not None]
        if not paths:
            return
        state, codes = max(paths, key=lambda each: len(each[1]))
        steps: dict[str, list[int]] = {}
        for place, code in enumerate(codes):
            event = partition.row(partition.start + place)
            steps.setdefault(self.clause.variables[code >> 1], []).append(event.position)
        awaited = dict.fromkeys(self.clause.variables[step.variable] for step in state.steps)
        self.near_misses.append(
            TriedPartialMatch(
                key=json.loads(str(self._key)),
                steps=steps,
                start=partition.row(partition.start).time_ms,
                outcome=outcome,
                ended_at=ended_at_ms,
                ended_by=ended_by,
                awaited=list(awaited),
                forbidden=[],
            )
        )
