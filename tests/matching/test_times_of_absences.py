"""A list of events and a job agree on when something has not come in time."""

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from percept import Pattern, find_matches
from tests.letters import absence, event, processor, stream, taken, version
from tests.processor_runtime.core.pipeline import Pipeline

WITHIN_MS = 12
PATTERN = absence("a", "b", WITHIN_MS)
LAST_MS = 2_000


def in_a_list(events: list[dict[str, Any]], *, at_the_end: bool) -> Counter[tuple[str, int]]:
    """Return letters and times of what is found, if time goes on by a watermark or an event."""
    given = [*events, event("x", LAST_MS)] if at_the_end else events
    final_ms = None if at_the_end else LAST_MS
    pattern = Pattern.from_document(PATTERN)
    found = find_matches(
        pattern, given, time_field="ts", key_by="user", final_watermark_ms=final_ms
    )
    return Counter(
        (" ".join(f"{one['name']}{one['ts']}" for one in match.steps["a"]), match.time_ms)
        for match in found.matches
    )


def in_a_job(events: list[dict[str, Any]]) -> Counter[tuple[str, int]]:
    job = Pipeline(stream())
    job.publish(processor("p", version(1, PATTERN)))
    job.batch(events, until_ms=LAST_MS)
    return Counter((taken(row), row.end_ms or 0) for row in job.rows_of("match"))


def test_each_has_the_time_at_which_its_own_window_closed() -> None:
    events = [event("a", time_ms) for time_ms in (1_000, 1_001, 1_005)]
    wanted = Counter([("a1000", 1_012), ("a1001", 1_013), ("a1005", 1_017)])
    assert in_a_job(events) == wanted
    for at_the_end in (True, False):
        assert in_a_list(events, at_the_end=at_the_end) == wanted


@given(
    st.lists(
        st.tuples(st.sampled_from("aabx"), st.sampled_from("uv"), st.integers(0, 6)), max_size=15
    ),
    st.booleans(),
)
def test_a_list_and_a_job_find_the_same_at_the_same_times(
    drawn: list[tuple[str, str, int]],
    at_the_end: bool,  # noqa: FBT001 - drawn
) -> None:
    time_ms, events = 1_000, []
    for name, user, after_ms in drawn:
        time_ms += after_ms
        events.append(event(name, time_ms, user=user))
    assert in_a_list(events, at_the_end=at_the_end) == in_a_job(events)
