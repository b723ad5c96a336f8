"""The report of a backtest as text for a terminal, whichever command asked for it.

BacktestReport ──report_lines──► text
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from cep.instants import instant_ms, iso_text
from cep.printable import printable
from contract.backtests import BacktestDifference, BacktestReport, BacktestScores, RuleReport

_HOUR_MS: Final = 3_600_000
_DAY_MS: Final = 24 * _HOUR_MS
_BARS: Final = " ▁▂▃▄▅▆▇█"
_TOP: Final = 5
_MOST_BARS: Final = 60
_WIDTH: Final = 17


def report_lines(report: BacktestReport) -> Iterator[str]:
    """Yield a report as lines of text."""
    span = f"{report.first_event} to {report.last_event}" if report.events else "none"
    unusable = f", {report.unusable_events:,} of them not usable" if report.unusable_events else ""
    yield f"{report.events:,} events{unusable}: {span}; {report.seconds:.1f} s"
    for rule in report.rules:
        yield printable(rule.rule)
        for name, value in _lines(rule):
            yield f"  {name:<{_WIDTH}}{printable(value)}"


def _lines(rule: RuleReport) -> Iterator[tuple[str, str]]:
    if rule.error:
        yield "failed", rule.error
    yield "matches", f"{rule.matches:,} on {rule.keys:,} {'key' if rule.keys == 1 else 'keys'}"
    if rule.by_hour:
        yield _bars(rule)
        top = list(rule.top_keys.items())[:_TOP]
        yield "top keys", ", ".join(f"{key or 'global key'} ({count:,})" for key, count in top)
        for match in rule.samples[:1]:
            yield "first", f"{match.key or 'global key'} at {match.end}"
    yield from _no_matches(rule)
    at_most, at_the_end = rule.partial_matches_at_most, rule.partial_matches_at_the_end
    yield "partial matches", f"{at_most:,} at most, {at_the_end:,} at the end"
    if rule.against is not None:
        yield from _against(rule.against)
    if rule.labels is not None:
        yield "labels", _score_text(rule.labels)


def _no_matches(rule: RuleReport) -> Iterator[tuple[str, str]]:
    """Yield what was found, or under way, and is no match that goes out."""
    if count := rule.undecided_at_the_end:
        absences = "absence" if count == 1 else "absences"
        yield "undecided", f"{count:,} {absences} at the end, which later events could undo"
    if rule.timeouts:
        yield "timeouts", f"{rule.timeouts:,}"
    if rule.suppressed:
        yield "suppressed", f"{rule.suppressed:,} matches that would not go out"
    if rule.grouped:
        yield "grouped", f"{rule.grouped:,} matches for which another one would stand"
    if rule.left_out:
        yield "left out", f"{rule.left_out:,}, because of a limit"


def _against(compared: BacktestDifference) -> Iterator[tuple[str, str]]:
    counts = f"{compared.both:,} by both, {compared.gained:,} gained, {compared.lost:,} lost"
    cut = "" if compared.is_complete else f", of the matches before {compared.before} alone"
    yield "against", f"{counts}{cut}"
    for name, places in (("gained", compared.first_gained), ("lost", compared.first_lost)):
        for place in places:
            yield f"  {name}", f"{place.key or 'global key'} at {place.end}"


def _score_text(scores: BacktestScores) -> str:
    counts = (
        f"{scores.true_positives:,} true and {scores.false_positives:,} false positives, "
        f"{scores.unlabelled:,} not labelled"
    )
    precision, recall = scores.precision, scores.recall
    told = [
        "no precision without labelled matches"
        if precision is None
        else f"precision {precision:.1%}",
        "no recall without bad keys"
        if recall is None
        else f"recall {recall:.1%} ({scores.bad_keys_found:,} of {scores.bad_keys:,} bad keys)",
    ]
    cut = "" if scores.is_complete else "; of the newest 10,000 labels alone"
    return f"{counts}; {', '.join(told)}{cut}"


def _bars(rule: RuleReport) -> tuple[str, str]:
    """Return matches over time: by the hour, or by the day where that is too much for a line."""
    if rule.counted_by in {"month", "year"}:
        busiest = sorted(rule.by_hour.items(), key=lambda each: -each[1])[:_TOP]
        length = len("2026-11" if rule.counted_by == "month" else "2026")
        periods = ", ".join(f"{begin[:length]} {count:,}" for begin, count in busiest)
        return f"busiest {rule.counted_by}s", periods
    # Events after the year 9999 are not usable, so that every hour can be read.
    hours = {instant_ms(hour): count for hour, count in rule.by_hour.items()}
    step_ms, name = _HOUR_MS, "by hour"
    is_long = (max(hours) - min(hours)) // _HOUR_MS >= _MOST_BARS
    if is_long or rule.counted_by == "day":
        step_ms, name = _DAY_MS, "by day"
    counts = Counter[int]()
    for hour, count in hours.items():
        counts[hour // step_ms] += count
    first, last = min(counts), max(counts)
    if last - first >= _MOST_BARS:
        days = counts.most_common(_TOP)
        listed = ", ".join(f"{iso_text(day * step_ms)[:10]} {count:,}" for day, count in days)
        return "busiest days", listed
    most = max(counts.values())
    bars = "".join(
        _BARS[-(-counts[step] * (len(_BARS) - 1) // most)] for step in range(first, last + 1)
    )
    return name, f"{bars}  {most:,} at most, from {iso_text(first * step_ms)[:16]}"
