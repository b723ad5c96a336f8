"""A version that replaces another at an instant splits the stream exactly there."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import from_json

from cep.expression import compile_predicate, mapping_reader
from cep.expression.evaluation.scalar import no_slots
from contract.snapshot import SnapshotProcessor
from percept import KeyedMatcher, Pattern
from processor_runtime.rows.output_rows import OutputRow
from tests.letters import (
    Document,
    absence,
    job_of,
    letters,
    processor,
    sequence,
    spelled,
    stream,
    taken,
    version,
    with_step,
)
from tests.processor_runtime.core.pipeline import Event, Options, Pipeline
from tests.processor_runtime.core.random_rules import arrivals

SWITCH_MS = 1_015
END_MS = 2_000
STRICT = with_step(sequence("ab", within_ms=9), 1, contiguity="next")
PATTERNS = {
    "sequence": (sequence("ab"), sequence("ac")),
    "window": (sequence("ab", within_ms=6), sequence("ab", within_ms=12)),
    "absence": (absence("a", "b", 7), absence("a", "c", 7)),
    "strict": (STRICT, STRICT | {"within_ms": 5}),
    "skipping": (
        sequence("ab", within_ms=8, after_match_skip={"strategy": "skip_past_last_event"}),
        sequence("bc", within_ms=8, after_match_skip={"strategy": "skip_to_next"}),
    ),
}
KEYS: dict[str, tuple[Any, Any]] = {"same": (["user"], ["user"]), "other": (["user"], None)}

Found = tuple[str, str, int, tuple[Any, ...]]
"""Kind, version, when it was found, and the events taken by step."""


def reference(
    rules: dict[str, tuple[Document, Any]],
    begin: Callable[[str, int], bool],
    dropped: dict[str, int],
    events: Sequence[Event],
) -> Counter[Found]:
    """Run one matcher per version over all events, in order of time."""
    found: Counter[Found] = Counter()
    # Price is the place in the stream, by which Pipeline orders events of equal time.
    in_order = sorted(events, key=lambda one: (one["ts"], one["price"]))
    for number, (document, key_by) in rules.items():
        matcher = KeyedMatcher({number: Pattern.from_document(document)}, in_deadline_order=True)
        tests = [compile_predicate(node, mapping_reader, no_slots) for node in matcher.tests.nodes]
        none, every = matcher.select([]), matcher.select([number])
        drop_ms = dropped.get(number, END_MS)
        detections = []
        for one in [*in_order, None]:
            time_ms = END_MS if one is None else one["ts"]
            if time_ms >= drop_ms:
                detections += matcher.advance_to(drop_ms)
                matcher.keep_only(none)
                break
            detections += matcher.advance_to(time_ms)
            if one is not None:
                held = tuple(place for place, test in enumerate(tests) if test(one, ()))
                kind = matcher.kind(held, every if begin(number, time_ms) else none)
                key = tuple(one[column] for column in key_by or ())
                detections += matcher.process(key, kind, one, time_ms)
        for detection in detections:
            steps = tuple(
                (name, tuple(e["price"] for e in es)) for name, es in detection.steps.items()
            )
            kind_name = "timeout" if detection.is_timeout else "match"
            found[kind_name, number, detection.time_ms, steps] += 1
    return found


def found_by_version(rows: Sequence[OutputRow]) -> Counter[Found]:
    return Counter(
        (
            row.kind,
            str(row.version),
            row.end_ms or 0,
            tuple(
                (name, tuple(e["price"] for e in events))
                for name, events in from_json(row.events or "").items()
            ),
        )
        for row in rows
    )


@st.composite
def runs(draw: st.DrawFn) -> tuple[str, str, int, int, list[list[Event]], list[bool]]:
    """Return patterns, keys, delay, number of shards, batches, and where processes restart."""
    drawn = arrivals(delays=[0, 2, 9, 100], sizes=(1, 30), passing=[0, 1, 1, 2, 3])
    delay_ms, events = draw(drawn)
    cuts = sorted(draw(st.lists(st.integers(0, len(events)), max_size=6)))
    batches = [events[a:b] for a, b in zip([0, *cuts], [*cuts, len(events)], strict=True)]
    restarts = draw(st.lists(st.booleans(), min_size=len(batches), max_size=len(batches)))
    return (
        draw(st.sampled_from(sorted(PATTERNS))),
        draw(st.sampled_from(sorted(KEYS))),
        delay_ms,
        draw(st.integers(1, 4)),
        batches,
        restarts,
    )


Run = tuple[str, str, int, int, list[list[Event]], list[bool]]


def run(drawn: Run, published: SnapshotProcessor) -> Pipeline:
    _, _, delay_ms, shards, batches, restarts = drawn
    job = Pipeline(stream(delay_ms, ["price"]), Options(shards=shards))
    job.publish(published)
    for events, restarts_after in zip(batches, restarts, strict=True):
        job.batch(events)
        if restarts_after:
            job.restart()
    job.advance(END_MS)
    assert job.rows_of("late") == job.rows_of("error") == []
    return job


@pytest.mark.parametrize("on_update", ["drop", pytest.param("drain", marks=pytest.mark.long)])
@given(drawn=runs())
def test_a_scheduled_replacement_splits_the_stream_at_its_instant(
    on_update: str, drawn: Run
) -> None:
    (old, new), (old_key, new_key) = PATTERNS[drawn[0]], KEYS[drawn[1]]
    second = version(2, new, from_ms=SWITCH_MS, key_by=new_key, on_update=on_update)
    job = run(drawn, processor("p", version(1, old, key_by=old_key), second))
    for row in job.rows:
        times = [e["ts"] for step in from_json(row.events or "").values() for e in step]
        assert (min(times) < SWITCH_MS) == (row.version == 1)
        assert on_update == "drain" or (max(times) < SWITCH_MS) == (row.version == 1)
    assert found_by_version(job.rows) == reference(
        {"1": (old, old_key), "2": (new, new_key)},
        lambda number, time_ms: (time_ms >= SWITCH_MS) == (number == "2"),
        {"1": SWITCH_MS} if on_update == "drop" else {},
        [one for events in drawn[4] for one in events],
    )


# What a change does to a running job, once each


AB = processor("p", version(1, sequence("ab")))
PAUSED = AB.model_copy(update={"paused": True})
DRAINING = processor("p", version(2, sequence("ac"), on_update="drain"))
OTHER = [processor("a", version(number, sequence("abc"))) for number in range(1, 5)]


def dropped(*then: SnapshotProcessor) -> list[tuple[list[SnapshotProcessor], str]]:
    """Return a story in which a version that drains is over."""
    return [([AB], "aa"), ([DRAINING], "x"), *[([*then], "b")] * 3]


@pytest.mark.parametrize(
    ("story", "found"),
    [
        pytest.param(
            [([AB], "a"), ([processor("p", version(2, sequence("ab")))], "bab")],
            ["p2 match a1011 b1012"],
            id="replaced",
        ),
        pytest.param(
            [([AB], "a"), ([PAUSED], "bab"), ([AB], "bab")],
            ["p1 match a1021 b1022"],
            id="paused and resumed",
        ),
        pytest.param([([AB], "a"), ([], "bab")], [], id="removed"),
        pytest.param(
            [([AB, other], text) for other, text in zip(OTHER, "axxb", strict=True)],
            ["p1 match a1000 b1030"],
            id="others change",
        ),
        pytest.param(
            dropped(DRAINING.model_copy(update={"paused": True})), [], id="drains, paused"
        ),
        pytest.param(dropped(), [], id="drains, removed"),
        pytest.param(
            [([processor("p", version(1, absence("a", "b", 10), until_ms=1_012))], "a a a a")],
            ["p1 match a1000", "p1 match a1002"],
            id="expires: windows close up to its end and no further",
        ),
        pytest.param(
            dropped(processor("p", version(3, sequence("ad")))), [], id="drains, replaced with drop"
        ),
    ],
)
def test_what_a_change_does_to_a_running_job(
    story: list[tuple[list[SnapshotProcessor], str]], found: list[str]
) -> None:
    """Each part is published before the letters beside it, which begin ten milliseconds later."""
    job = Pipeline(stream())
    for number, (published, text) in enumerate(story):
        job.publish(*published)
        job.batch(letters(text, 1_000 + 10 * number))
    job.advance(1_100)
    for begin_ms in (1_200, 1_300):
        job.batch(letters("x", begin_ms))
    assert spelled(job.rows) == found
    assert not any(item.drains for item in job.timeline.intervals)


def test_an_added_processor_sees_the_events_after_the_newest_one_read() -> None:
    job = job_of(version(1, sequence("a")), delay_ms=10)
    job.batch(letters("aa", 1_000))
    job.publish(
        processor("p", version(1, sequence("a"))), processor("q", version(1, sequence("a")))
    )
    # 1001 was the newest: what comes late belongs to the rules of its time.
    job.batch(letters("aaa", 1_000), until_ms=1_100)
    assert [taken(row) for row in job.rows_of("match", "q")] == ["a1002"]
    assert len(job.rows_of("match", "p")) == 5


def test_a_drained_version_finishes_and_is_forgotten() -> None:
    job = job_of(version(1, sequence("ab")))
    job.batch(letters("a", 1_000) + letters("a", 1_000, user="v"))
    job.publish(processor("p", version(2, sequence("ac"), on_update="drain")))
    job.batch(letters("ab", 1_005), until_ms=1_020)
    assert spelled(job.rows) == ["p1 match a1000 b1006"]
    assert [item.version for item in job.timeline.intervals] == [1, 2]
    job.batch(letters("b", 1_030, user="v"), until_ms=1_100)
    # A shard tells that it is idle once it is called, which takes an event of its own.
    for user in "uvwxyz":
        job.batch(letters("a", 1_200, user=user))
    job.batch(letters("a", 1_300))
    assert [item.version for item in job.timeline.intervals] == [2]
    assert spelled(job.rows) == ["p1 match a1000 b1006", "p1 match a1000 b1030"]
