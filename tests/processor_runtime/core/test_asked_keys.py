"""What is open for a key that somebody asks about: right, the same for any split, and harmless."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract.asked_keys import PARTIAL_MATCHES_TOLD, AskedKey, KeyAnswer
from contract.snapshot import SnapshotProcessor
from percept import Pattern, find_matches
from tests.letters import (
    Document,
    absence,
    contents,
    event,
    job_of,
    letters,
    processor,
    sequence,
    version,
)
from tests.processor_runtime.core.pipeline import Event, Pipeline
from tests.processor_runtime.core.test_restarts import RULES, batches_of, split_events
from tests.properties import slow_property

ABC = processor("abc", version(1, sequence("abc", within_ms=20)))


def asked(rule: str, *key: Any, number: int = 1) -> AskedKey:
    return AskedKey(id=f"{number:016x}", processor_id=rule, key=list(key))


def keyed(key_by: list[str] | None) -> SnapshotProcessor:
    return processor("abc", version(1, sequence("abc"), key_by=key_by))


def answer(job: Pipeline) -> KeyAnswer:
    (told,) = job.job_status.answers
    return told


def told(of: KeyAnswer) -> list[str]:
    """Return what is told of each partial match: `a a b > c | d`."""
    return [
        " ".join(f"{step.name}{step.first_ms}" for step in each.steps)
        + f" > {' '.join(each.awaited)}"
        + (f" | {' '.join(each.forbidden)}" if each.forbidden else "")
        for each in of.partial_matches
    ]


def after(*processors: Any, events: Sequence[Event], ask: AskedKey, at_ms: int) -> KeyAnswer:
    job = job_of(*processors)
    job.batch(events)
    job.asked = [ask]
    job.batch([event("x", at_ms, user="other")])
    job.batch([event("x", at_ms + 1, user="other")])
    return answer(job)


def test_how_far_partial_matches_have_come_and_what_they_wait_for() -> None:
    found = after(ABC, events=letters("aab", 1_000), ask=asked("abc", "u"), at_ms=1_010)
    assert told(found) == ["a1000 b1002 > c", "a1001 b1002 > c"]
    assert (found.open, found.held_back, found.watermark_ms) == (2, 0, 1_010)
    first = found.partial_matches[0]
    assert (first.version, first.started_ms, first.last_ms, first.expires_ms) == (
        1,
        1_000,
        1_002,
        1_020,
    )


def test_an_absence_waits_for_its_window_and_says_what_ends_it() -> None:
    rule = processor("absence", version(1, absence("a", "b", 50)))
    found = after(rule, events=letters("a", 1_000), ask=asked("absence", "u"), at_ms=1_010)
    assert told(found) == ["a1000 >  | b"]
    assert found.partial_matches[0].expires_ms == 1_050


def test_repetitions_are_counted() -> None:
    steps = [{"name": "a", "where": "name = 'a'", "times": 3}]
    rule = processor("thrice", version(1, {"steps": steps, "within_ms": 50}))
    found = after(rule, events=letters("a a", 1_000), ask=asked("thrice", "u"), at_ms=1_010)
    (first, second) = found.partial_matches
    (taken,) = first.steps
    assert (taken.name, taken.count, taken.first_ms, taken.last_ms) == ("a", 2, 1_000, 1_002)
    assert [step.count for step in second.steps] == [1]
    assert first.awaited == ["a"]


CLAUSE = (
    "MATCH_RECOGNIZE (PARTITION BY user ORDER BY ts MEASURES b.price AS price "
    "AFTER MATCH SKIP PAST LAST ROW PATTERN ({}) WITHIN INTERVAL '1' MINUTE "
    "DEFINE a AS name = 'a', b AS name = 'b', c AS name = 'c' {})"
)


@pytest.mark.parametrize(
    ("pattern", "more"),
    [("a {- x*? -} b {- x*? -} c", ""), ("a b c", "AND price > FIRST(a.price)")],
    ids=["as a pattern", "searched for"],
)
def test_a_clause_is_told_by_its_variables(pattern: str, more: str) -> None:
    rule = processor("sql", version(1, {"match_recognize": CLAUSE.format(pattern, more)}))
    found = after(rule, events=letters("ab", 1_000), ask=asked("sql", "u"), at_ms=1_010)
    assert "A1000 B1001 > C" in [line.replace(" X", "") for line in told(found)]
    assert found.partial_matches[0].expires_ms == 61_000


def test_versions_side_by_side_are_told_together_the_newer_first() -> None:
    job = job_of(processor("abc", version(1, sequence("abc"))))
    job.batch(letters("ab", 1_000))
    job.publish(processor("abc", version(2, sequence("ac"), on_update="drain")))
    job.batch([event("a", 1_010)])
    job.asked = [asked("abc", "u")]
    job.batch([event("x", 1_020)])
    job.batch([event("x", 1_021)])
    assert [each.version for each in answer(job).partial_matches] == [2, 1]
    assert answer(job).open == 2


def test_another_key_selector_has_keys_of_its_own() -> None:
    rule = processor("abc", version(1, sequence("abc"), key_by=["price % 3", "user"]))
    job = job_of(rule, shards=5)
    job.batch([event("a", 1_000, price=4), event("a", 1_001, price=2)])
    job.asked = [
        asked("abc", 1, "u"),
        asked("abc", "2", "u", number=2),
        asked("abc", 0, "u", number=3),
    ]
    job.batch([event("x", 1_010)])
    job.batch([event("x", 1_011)])
    told = {int(answer.id, 16): answer.open for answer in job.job_status.answers}
    assert told == {1: 1, 2: 1, 3: 0}


@pytest.mark.parametrize(
    ("rule", "ask", "at_ms", "open_now", "problem"),
    [
        (ABC, asked("abc", "v"), 1_010, 0, ""),
        (ABC, asked("abc", "u"), 5_000, 0, ""),
        (keyed(None), asked("abc"), 1_010, 2, ""),
        (ABC, asked("abc"), 1_010, 0, "the key of the rule has one value, and 0 are given"),
        (ABC, asked("abc", "u", 1), 1_010, 0, "the key of the rule has one value, and 2 are given"),
        (ABC, asked("other", "u"), 1_010, 0, "the job runs no version of this rule"),
        (keyed(["price"]), asked("abc", "x"), 1_010, 0, "value 1 of the key, 'x', is no Int64"),
    ],
    ids=["another", "closed", "no key", "none given", "two given", "another rule", "another type"],
)
def test_what_is_open_for_a_key_or_why_nobody_can_say(
    rule: SnapshotProcessor, ask: AskedKey, at_ms: int, open_now: int, problem: str
) -> None:
    found = after(rule, events=letters("aab", 1_000), ask=ask, at_ms=at_ms)
    assert (found.open, found.problem) == (open_now, problem)
    assert len(found.partial_matches) == open_now


def test_of_very_many_the_farthest_are_told() -> None:
    rule = processor("abc", version(1, sequence("abc")))
    events = [*letters("a" * 300, 1_000), event("b", 2_000), *letters("a" * 300, 3_000)]
    found = after(rule, events=events, ask=asked("abc", "u"), at_ms=5_000)
    assert found.open == 600
    assert len(found.partial_matches) == PARTIAL_MATCHES_TOLD
    assert told(found)[0] == "a1000 b2000 > c"
    assert {len(each.steps) for each in found.partial_matches} == {2}


@slow_property()
@given(split_events(), st.sampled_from([1, 3]), st.sampled_from(["u", "v", None]))
def test_asking_changes_nothing(
    split: tuple[list[Event], list[int]], shards: int, user: str | None
) -> None:
    events, cuts = split
    jobs = []
    for ask in ([], [asked(rule.id, user, number=place) for place, rule in enumerate(RULES)]):
        job = job_of(*RULES, delay_ms=2, shards=shards)
        job.asked = ask
        for batch in batches_of(events, cuts):
            job.batch(batch)
        job.advance(5_000)
        jobs.append(job)
    assert contents(jobs[0].rows) == contents(jobs[1].rows)


COUNTED: Document = sequence("ab", within_ms=30)


@given(split_events(), st.sampled_from([1, 4]))
def test_as_many_are_open_as_in_the_events_alone(
    split: tuple[list[Event], list[int]], shards: int
) -> None:
    events, cuts = split
    job = job_of(processor("ab", version(1, COUNTED)), shards=shards)
    job.asked = [asked("ab", "u")]
    for batch in batches_of(events, cuts):
        job.batch(batch)
    # What has been read and what the watermark has passed differ by the newest instant.
    last_ms = events[-1]["ts"]
    job.batch([event("x", last_ms + 1, user="other")])
    job.batch([event("x", last_ms + 1, user="other")])
    own = [each for each in events if each["user"] == "u"]
    alone = find_matches(
        Pattern.from_document(COUNTED), own, time_field="ts", final_watermark_ms=last_ms
    )
    assert answer(job).open == alone.open_after_watermark
