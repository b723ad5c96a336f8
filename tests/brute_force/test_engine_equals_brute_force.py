"""The engine against the brute-force matcher, on patterns and events nobody chose."""

from collections import Counter
from typing import Any

from hypothesis import given, reject
from hypothesis import strategies as st

from tests.brute_force.conditions import holds
from tests.brute_force.matcher import Trial
from tests.brute_force.skipping import emitted_matches
from tests.brute_force.strategies import event_lists, patterns
from tests.brute_force.subset import OutsideSubset, flat_pattern
from tests.conformance.target import find_matches_outcome


@given(patterns(), event_lists(), st.none() | st.integers(0, 20))
def test_engine_finds_what_brute_force_finds(
    document: dict[str, Any], events: list[dict[str, Any]], watermark_delay_ms: int | None
) -> None:
    last_ms = events[-1]["ts"]
    watermark_ms = None if watermark_delay_ms is None else last_ms + watermark_delay_ms
    try:
        trial = Trial(flat_pattern(document), events, holds, watermark_ms)
        expected = Counter(
            (tuple(sorted(match.steps.items())), match.at) for match in emitted_matches(trial)
        )
    except OutsideSubset:
        reject()
    outcome = find_matches_outcome(document, events, watermark_ms)
    assert outcome.failure is None
    assert Counter((match.steps, match.at_id) for match in outcome.matches) == expected
