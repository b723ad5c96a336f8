"""One backtest: rules over history, against other versions of them, scored by labels.

rules, history ──run_backtest──► BacktestResult
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from cep.expression import EvaluationError
from processor_runtime.backtest.difference import Difference, difference
from processor_runtime.backtest.findings import Findings, RuleFindings, text_of_key
from processor_runtime.backtest.labels import TRUE, Labels, Scores, Scoring, Span
from processor_runtime.backtest.replay import replayed
from processor_runtime.backtest.rules import ReadyRules
from processor_runtime.rows.event_block import TIME
from processor_runtime.rows.json_text import plain_json_text


@dataclass(frozen=True, slots=True)
class BacktestResult:
    """What a backtest has found, by rule.

    `against` has the differences from the other versions; `scores` are there with labels.
    """

    findings: Findings
    seconds: float
    from_ms: int | None
    against: Mapping[str, Difference]
    scores: Mapping[str, Scores]

    @property
    def events_per_second(self) -> float:
        """How fast events went through the stages."""
        return self.findings.events / max(self.seconds, 1e-9)


@dataclass(frozen=True, slots=True)
class Scored:
    """What matches are scored by: labels in a file, or a column of the events."""

    labels: Labels
    column: str | None = None


def run_backtest(  # noqa: PLR0913 - independent options, by name
    rules: ReadyRules,
    events: pl.DataFrame,
    *,
    against: ReadyRules | None = None,
    scored: Scored | None = None,
    closes_windows: bool = True,
    on_events: Callable[[int], None] = lambda _count: None,
) -> BacktestResult:
    """Run rules over events.

    `events`: as of `read_history`. `against`: other versions of them, compared by id.
    `closes_windows`: see `replayed`. `on_events`: called with the number of further events that
    have been matched.
    """
    scoring = None
    if scored is not None:
        bad_keys = {} if scored.column is None else _bad_keys(rules, events, scored.column)
        scoring = Scoring(scored.labels, _span(events), scored.column, bad_keys)
    began = time.perf_counter()
    findings = _found(rules, events, closes_windows, on_events, scoring)
    seconds = time.perf_counter() - began
    compared: dict[str, Difference] = {}
    if against is not None:
        other = _found(against, events, closes_windows, on_events, None)
        nothing = RuleFindings("")
        compared = {
            rule: difference(findings.rules.get(rule, nothing), other.rules.get(rule, nothing))
            for rule in sorted(findings.rules.keys() | other.rules.keys())
        }
    scores = {} if scoring is None else {rule: scoring.scores(rule) for rule in findings.rules}
    first = events.head(1).get_column(TIME).to_list()
    return BacktestResult(findings, seconds, first[0] if first else None, compared, scores)


def _span(events: pl.DataFrame) -> Span:
    times = events.get_column(TIME).drop_nulls()
    return Span(times[0], times[-1]) if len(times) else Span(0, -1)


def _found(
    ready: ReadyRules,
    events: pl.DataFrame,
    closes_windows: bool,  # noqa: FBT001 - as given
    on_events: Callable[[int], None],
    scoring: Scoring | None,
) -> Findings:
    findings = Findings({rule: RuleFindings(rule) for rule in ready.ids})
    for batch in replayed(ready.rules, events, closes_windows=closes_windows):
        for found, match in findings.add(batch):
            if scoring is not None:
                scoring.add(found.rule, match)
        on_events(batch.counts.events)
    return findings


def _bad_keys(ready: ReadyRules, events: pl.DataFrame, column: str) -> dict[str, frozenset[str]]:
    """Return the keys with an event whose column is true, by rule."""
    is_bad = pl.col(column).cast(pl.String).str.to_lowercase().is_in(TRUE)
    bad = events.filter(is_bad)
    found: dict[str, frozenset[str]] = {}
    for group in ready.rules.groups.values():
        try:
            keys: Sequence[tuple[object, ...]] = group.compiled.keys(bad).unique().rows()
        except EvaluationError:
            continue  # then no rule of this key finds anything, either
        texts = frozenset(text_of_key(plain_json_text(key)) for key in keys)
        found |= dict.fromkeys((item.processor_id for item in group.intervals.values()), texts)
    return found
