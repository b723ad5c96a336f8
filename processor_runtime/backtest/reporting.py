"""The result of a backtest as JSON, and as text for a terminal.

BacktestResult ──as_json · report_lines──► a program · a person
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, Final

from cep.instants import iso_text
from cep.printable import printable
from processor_runtime.backtest.backtesting import BacktestResult
from processor_runtime.backtest.difference import Difference
from processor_runtime.backtest.findings import HOUR_MS, FoundMatch, RuleFindings
from processor_runtime.backtest.labels import Scores

_DAY_MS: Final = 24 * HOUR_MS
_BARS: Final = " ▁▂▃▄▅▆▇█"
_TOP: Final = 5
_MOST_BARS: Final = 60
_WIDTH: Final = 17


def as_json(result: BacktestResult, problems: Sequence[str]) -> dict[str, Any]:
    """Return a result as JSON; times are ISO 8601."""
    found = result.findings
    return {
        "events": found.events,
        "unusable_events": found.unusable,
        "from": _iso(result.from_ms),
        "until": _iso(found.newest_ms),
        "seconds": round(result.seconds, 3),
        "events_per_second": round(result.events_per_second),
        "peak_state_bytes": found.peak_state_bytes,
        "problems": list(problems),
        "rules": [
            _rule(rule, result.against.get(rule.rule), result.scores.get(rule.rule))
            for rule in found.rules.values()
        ],
    }


def _rule(rule: RuleFindings, compared: Difference | None, scores: Scores | None) -> dict[str, Any]:
    told: dict[str, Any] = {
        "rule": rule.rule,
        "matches": rule.matches,
        "timeouts": rule.timeouts,
        "suppressed": rule.suppressed,
        "left_out": rule.left_out,
        "partial_matches_at_most": rule.peak,
        "partial_matches_at_the_end": rule.open_at_the_end,
        "error": rule.error or None,
        "by_hour": {iso_text(hour): count for hour, count in sorted(rule.by_hour.items())},
        "keys": len(rule.by_key),
        "top_keys": dict(rule.by_key.most_common(10)),
        "samples": [_sample(match) for match in rule.samples],
    }
    if compared is not None:
        told["against"] = asdict(compared) | {
            "first_gained": [_placed(place) for place in compared.first_gained],
            "first_lost": [_placed(place) for place in compared.first_lost],
        }
    if scores is not None:
        told["labels"] = asdict(scores) | {"precision": scores.precision, "recall": scores.recall}
    return told


def _sample(match: FoundMatch) -> dict[str, Any]:
    return {
        "match_id": match.match_id,
        "key": match.key_text,
        "start": iso_text(match.start_ms),
        "end": iso_text(match.end_ms),
        "output": match.output,
        "events": match.events,
    }


def _placed(place: tuple[str, int]) -> dict[str, str]:
    return {"key": place[0], "end": iso_text(place[1])}


def _iso(time_ms: int | None) -> str | None:
    return None if time_ms is None else iso_text(time_ms)


def report_lines(result: BacktestResult) -> Iterator[str]:
    """Yield a result as lines of text."""
    found = result.findings
    span = f"{_iso(result.from_ms)} to {_iso(found.newest_ms)}" if found.events else "none"
    unusable = f", {found.unusable:,} of them not usable" if found.unusable else ""
    yield f"{found.events:,} events{unusable}: {span}; {result.seconds:.1f} s"
    for rule in found.rules.values():
        yield printable(rule.rule)
        compared, scores = result.against.get(rule.rule), result.scores.get(rule.rule)
        for name, value in _lines(rule, compared, scores):
            yield f"  {name:<{_WIDTH}}{printable(value)}"


def _lines(
    rule: RuleFindings, compared: Difference | None, scores: Scores | None
) -> Iterator[tuple[str, str]]:
    if rule.error:
        yield "failed", rule.error
    keys = len(rule.by_key)
    yield "matches", f"{rule.matches:,} on {keys:,} {'key' if keys == 1 else 'keys'}"
    if rule.by_hour:
        yield _bars(rule.by_hour)
        top = rule.by_key.most_common(_TOP)
        yield "top keys", ", ".join(f"{key or 'global key'} ({count:,})" for key, count in top)
        match = rule.samples[0]
        yield "first", f"{match.key_text or 'global key'} at {iso_text(match.end_ms)}"
    if rule.timeouts:
        yield "timeouts", f"{rule.timeouts:,}"
    if rule.suppressed:
        yield "suppressed", f"{rule.suppressed:,} matches that would not go out"
    if rule.left_out:
        yield "left out", f"{rule.left_out:,}, because of a limit"
    yield "partial matches", f"{rule.peak:,} at most, {rule.open_at_the_end:,} at the end"
    if compared is not None:
        yield (
            "against",
            f"{compared.both:,} by both, {compared.gained:,} gained, {compared.lost:,} lost",
        )
        for name, places in (("gained", compared.first_gained), ("lost", compared.first_lost)):
            for key, end_ms in places:
                yield f"  {name}", f"{key or 'global key'} at {iso_text(end_ms)}"
    if scores is not None:
        yield "labels", _scores(scores)


def _scores(scores: Scores) -> str:
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
    return f"{counts}; {', '.join(told)}"


def _bars(by_hour: Counter[int]) -> tuple[str, str]:
    """Return matches over time: by the hour, or by the day where that is too much for a line."""
    step_ms, name = HOUR_MS, "by hour"
    if (max(by_hour) - min(by_hour)) // HOUR_MS >= _MOST_BARS:
        step_ms, name = _DAY_MS, "by day"
    counts = Counter[int]()
    for hour, count in by_hour.items():
        counts[hour // step_ms] += count
    first, last = min(counts), max(counts)
    if last - first >= _MOST_BARS:
        busiest = ", ".join(
            f"{iso_text(step * step_ms)[:10]} {count:,}" for step, count in counts.most_common(_TOP)
        )
        return "busiest days", busiest
    most = max(counts.values())
    bars = "".join(
        _BARS[-(-counts[step] * (len(_BARS) - 1) // most)] for step in range(first, last + 1)
    )
    return name, f"{bars}  {most:,} at most, from {iso_text(first * step_ms)[:16]}"
