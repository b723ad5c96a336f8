"""A report made small enough for the service, by as little as is needed.

report_of ──fitting──► BacktestReport of at most `REPORT_BYTES` ──► Reported

Examples are shortened first. Then matches are counted by longer times than hours, and at last
examples are left out and long texts are cut.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from contract.backtests import (
    REPORT_BYTES,
    BacktestDifference,
    BacktestReport,
    CountedBy,
    FoundExample,
    RuleReport,
)
from processor_runtime.reporting.shortening import shortened_events, shortened_output

_FOLDS: Final[tuple[CountedBy, ...]] = ("day", "month", "year")
_LEAST: Final[dict[CountedBy, tuple[int, str]]] = {
    "day": (len("T08:00:00.000Z"), "T00:00:00.000Z"),
    "month": (len("-31T08:00:00.000Z"), "-01T00:00:00.000Z"),
    "year": (len("-12-31T08:00:00.000Z"), "-01-01T00:00:00.000Z"),
}
"""By how many characters the text of a time is cut, and what stands there instead."""
_TEXT_LENGTH: Final = 200


def fitting(report: BacktestReport) -> BacktestReport:
    """Return a report that the service takes.

    What is left at last is bounded: years are at most some ten thousand, as no event is usable
    after the year 9999.
    """
    smaller = report
    for smaller in _smaller(report):
        if len(smaller.model_dump_json().encode()) <= REPORT_BYTES:
            break
    return smaller


def _smaller(report: BacktestReport) -> Iterator[BacktestReport]:
    shorter = _each(report, _with_short_examples)
    yield shorter
    for counted_by in _FOLDS:
        yield _each(shorter, partial(_folded, counted_by=counted_by))
    least = _each(report, _least)
    least = least.model_copy(update={"problems": [each[:_TEXT_LENGTH] for each in report.problems]})
    yield least
    for counted_by in _FOLDS:
        yield _each(least, partial(_folded, counted_by=counted_by))


def _each(report: BacktestReport, change: Callable[[RuleReport], RuleReport]) -> BacktestReport:
    return report.model_copy(update={"rules": [change(rule) for rule in report.rules]})


def _folded(rule: RuleReport, counted_by: CountedBy) -> RuleReport:
    cut, instead = _LEAST[counted_by]
    counts = Counter[str]()
    for hour, count in rule.by_hour.items():
        counts[hour[:-cut] + instead] += count
    return rule.model_copy(update={"by_hour": dict(counts), "counted_by": counted_by})


def _with_short_examples(rule: RuleReport) -> RuleReport:
    samples = [_with_short_events(match) for match in rule.samples]
    return rule.model_copy(update={"samples": samples})


def _with_short_events(match: FoundExample) -> FoundExample:
    shorter = {"output": shortened_output(match.output), "events": shortened_events(match.events)}
    return match.model_copy(update=shorter)


def _least(rule: RuleReport) -> RuleReport:
    return rule.model_copy(
        update={
            "samples": [],
            "top_keys": {key[:_TEXT_LENGTH]: count for key, count in rule.top_keys.items()},
            "error": rule.error and rule.error[:_TEXT_LENGTH],
            "against": rule.against and _with_short_keys(rule.against),
        }
    )


def _with_short_keys(compared: BacktestDifference) -> BacktestDifference:
    shorter = {
        name: [
            place.model_copy(update={"key": place.key[:_TEXT_LENGTH]})
            for place in getattr(compared, name)
        ]
        for name in ("first_gained", "first_lost")
    }
    return compared.model_copy(update=shorter)
