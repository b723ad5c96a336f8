"""What is open for a key that somebody asks about: right, the same for any split, and harmless."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep import Pattern, find_matches
from contract.asked_keys import PARTIAL_MATCHES_TOLD, AskedKey, KeyAnswer
from tests.processor_runtime.core.pipeline import Event, Options, Pipeline
from tests.processor_runtime.core.published import (
    Document,
    absence,
    contents,
    event,
    letters,
    processor,
    sequence,
    stream,
    version,
)
from tests.processor_runtime.core.test_restarts import RULES, batches_of, split_events
from tests.properties import slow_property

ABC = processor("abc", version(1, sequence("abc", within_ms=20)))


def asked(rule: str, *key: Any, number: int = 1) -> AskedKey:
    return AskedKey(id=f"{number:016x}", processor_id=rule, key=list(key))


def answers(job: Pipeline) -> dict[str, KeyAnswer]:
    return {answer.id: answer for answer in job.job_status.answers}


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
    job = Pipeline(stream())
    job.publish(*processors)
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


def test_another_key_has_none() -> None:
    found = after(ABC, events=letters("aab", 1_000), ask=asked("abc", "v"), at_ms=1_010)
    assert (found.open, found.partial_matches, found.problem) == (0, [], "")


def test_a_window_that_has_closed_leaves_nothing() -> None:
    found = after(ABC, events=letters("aab", 1_000), ask=asked("abc", "u"), at_ms=5_000)
    assert found.open == 0


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
    job = Pipeline(stream())
    job.publish(processor("abc", version(1, sequence("abc"))))
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
    job = Pipeline(stream(), Options(shards=5))
    job.publish(rule)
    job.batch([event("a", 1_000, price=4), event("a", 1_001, price=2)])
    job.asked = [
        asked("abc", 1, "u"),
        asked("abc", "2", "u", number=2),
        asked("abc", 0, "u", number=3),
    ]
    job.batch([event("x", 1_010)])
    job.batch([event("x", 1_011)])
    assert {int(key, 16): each.open for key, each in answers(job).items()} == {1: 1, 2: 1, 3: 0}


def test_the_key_of_a_rule_without_one_is_empty() -> None:
    rule = processor("abc", version(1, sequence("abc"), key_by=None))
    assert after(rule, events=letters("a", 1_000), ask=asked("abc"), at_ms=1_010).open == 1


@pytest.mark.parametrize(
    ("ask", "problem"),
    [
        (asked("abc"), "the key of the rule has one value, and 0 are given"),
        (asked("abc", "u", 1), "the key of the rule has one value, and 2 are given"),
        (asked("other", "u"), "the job runs no version of this rule"),
    ],
)
def test_what_is_no_key_is_told(ask: AskedKey, problem: str) -> None:
    found = after(ABC, events=letters("a", 1_000), ask=ask, at_ms=1_010)
    assert (found.open, found.problem) == (0, problem)


def test_a_value_of_another_type_is_told() -> None:
    rule = processor("abc", version(1, sequence("abc"), key_by=["price"]))
    found = after(rule, events=letters("a", 1_000), ask=asked("abc", "much"), at_ms=1_010)
    assert found.problem == "value 1 of the key, 'much', is no Int64"


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
        job = Pipeline(stream(delay_ms=2), Options(shards=shards))
        job.publish(*RULES)
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
    job = Pipeline(stream(), Options(shards=shards))
    job.publish(processor("ab", version(1, COUNTED)))
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
