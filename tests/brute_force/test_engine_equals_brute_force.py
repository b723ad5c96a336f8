"""The engine against the brute-force matcher, on patterns and events nobody chose."""

from collections import Counter
from typing import Any

from hypothesis import given, reject
from hypothesis import strategies as st

from cep import Pattern, find_matches
from tests.brute_force.conditions import holds
from tests.brute_force.matcher import Trial
from tests.brute_force.skipping import emitted_matches
from tests.brute_force.strategies import event_lists, patterns
from tests.brute_force.subset import OutsideSubset, flat_pattern


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
    result = find_matches(
        Pattern.from_document(document, flink_quirks=True),
        events,
        final_watermark_ms=watermark_ms,
        warn=False,
    )
    assert expected == Counter(
        (
            tuple(
                sorted(
                    (name, tuple(event["id"] for event in taken))
                    for name, taken in match.steps.items()
                )
            ),
            match.at,
        )
        for match in result.matches
    )
