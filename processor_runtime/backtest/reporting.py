"""The result of a backtest as a report, for programs and for `contract.backtest_text`.

BacktestResult ──report_of──► BacktestReport
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Final

from cep.instants import iso_text
from contract.backtests import (
    BacktestDifference,
    BacktestReport,
    BacktestScores,
    FoundExample,
    PlacedMatch,
    RuleReport,
)
from processor_runtime.backtest.backtesting import BacktestResult
from processor_runtime.backtest.difference import Difference
from processor_runtime.backtest.findings import FoundMatch, RuleFindings
from processor_runtime.backtest.labels import Scores

_TOP: Final = 10


def report_of(result: BacktestResult, problems: Sequence[str]) -> BacktestReport:
    """Return a result as a report; `problems` are of rules that could not run."""
    found = result.findings
    return BacktestReport(
        events=found.events,
        unusable_events=found.unusable,
        first_event=_iso(result.from_ms),
        last_event=_iso(found.newest_ms),
        seconds=round(result.seconds, 3),
        events_per_second=round(result.events_per_second),
        peak_state_bytes=found.peak_state_bytes,
        problems=list(problems),
        rules=[
            _rule(rule, result.against.get(rule.rule), result.scores.get(rule.rule))
            for rule in found.rules.values()
        ],
    )


def _rule(rule: RuleFindings, compared: Difference | None, scores: Scores | None) -> RuleReport:
    return RuleReport(
        rule=rule.rule,
        matches=rule.matches,
        undecided_at_the_end=rule.undecided,
        timeouts=rule.timeouts,
        suppressed=rule.suppressed,
        grouped=rule.grouped,
        left_out=rule.left_out,
        partial_matches_at_most=rule.peak,
        partial_matches_at_the_end=rule.open_at_the_end,
        error=rule.error or None,
        by_hour={iso_text(hour): count for hour, count in sorted(rule.by_hour.items())},
        keys=len(rule.by_key),
        top_keys=dict(rule.by_key.most_common(_TOP)),
        samples=[_sample(match) for match in rule.samples],
        against=None if compared is None else _difference(compared),
        labels=None if scores is None else _scores(scores),
    )


def _sample(match: FoundMatch) -> FoundExample:
    return FoundExample(
        match_id=match.match_id,
        key=match.key_text,
        start=iso_text(match.start_ms),
        end=iso_text(match.end_ms),
        output=match.output,
        events=dict(match.events),
    )


def _difference(compared: Difference) -> BacktestDifference:
    return BacktestDifference(
        is_complete=compared.before_ms is None,
        before=_iso(compared.before_ms),
        both=compared.both,
        gained=compared.gained,
        lost=compared.lost,
        first_gained=[_placed(place) for place in compared.first_gained],
        first_lost=[_placed(place) for place in compared.first_lost],
    )


def _scores(scores: Scores) -> BacktestScores:
    return BacktestScores(**asdict(scores), precision=scores.precision, recall=scores.recall)


def _placed(place: tuple[str, int]) -> PlacedMatch:
    return PlacedMatch(key=place[0], end=iso_text(place[1]))


def _iso(time_ms: int | None) -> str | None:
    return None if time_ms is None else iso_text(time_ms)
