"""Removes intervals from a timeline that are no longer needed.

timeline, how far events have been processed ──without_ended──► timeline of the next batch
"""

from dataclasses import replace

from pydantic_core import from_json

from cep.bounded_cache import BoundedCache
from cep.nfa.compiler.compile import compile_pattern
from cep.pattern import Pattern, PatternError
from contract.canonical import canonical_json
from processor_runtime.schedule.interval import END_MS, Interval
from processor_runtime.schedule.timeline import Timeline


def without_ended(
    timeline: Timeline, processed_ms: int, idle_rules: frozenset[str] = frozenset()
) -> Timeline:
    """Return a timeline without the intervals that no event and no partial match needs any more.

    `processed_ms`: up to here all events have been processed and all windows closed. `idle_rules`:
    rules (`Interval.rule_id`) without partial matches in any shard. The partial matches of a rule
    that is over are given up by each shard when it is next called.
    """
    kept = tuple(
        interval
        for interval in timeline.intervals
        if interval.active_until_ms > processed_ms
        or (interval.rule_id not in idle_rules and processed_ms < _closed_ms(interval))
    )
    return timeline if len(kept) == len(timeline.intervals) else replace(timeline, intervals=kept)


def _closed_ms(interval: Interval) -> int:
    """Return when the last window begun in an interval has closed; a shard is called for that."""
    window_ms = _windows_ms[canonical_json(interval.definition.get("pattern"))]
    return interval.active_until_ms + window_ms if window_ms else END_MS


def _window_ms(pattern: str) -> int:
    try:
        read = Pattern.from_document(from_json(pattern))
        if read.query is not None:
            return read.query.clause.within_ms or 0
        return compile_pattern(read.tree).program.window_ms
    except (PatternError, ValueError):  # then it does not run, either
        return 0


_windows_ms = BoundedCache(
    _window_ms, capacity=1_000_000, size_of=lambda pattern, _window_ms: len(pattern)
)
"""The window of each pattern by its document, so many characters of them."""
