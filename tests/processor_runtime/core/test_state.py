"""What a shard remembers from batch to batch, and when it frees it."""

from tests.letters import (
    absence,
    event,
    job_of,
    letters,
    processor,
    sequence,
    spelled,
    stream,
    version,
)
from tests.processor_runtime.core.pipeline import Options, Pipeline


def held(job: Pipeline) -> int:
    return sum(status.keys for status in job.statuses.values())


def test_a_window_closes_without_a_later_event_on_its_key() -> None:
    job = job_of(
        version(1, absence("a", "b", 10)), processor("q", version(1, sequence("ab", within_ms=20)))
    )
    job.batch([one for user in "stuvw" for one in letters("a", 1_000, user=user)], until_ms=1_009)
    assert spelled(job.rows) == []
    assert held(job) == 5
    job.advance(1_010)
    assert spelled(job.rows) == ["p1 match a1000"] * 5
    job.advance(1_020)
    assert spelled(job.rows[5:]) == ["q1 timeout a1000"] * 5
    assert {row.end_ms for row in job.rows[5:]} == {1_020}


def test_a_key_with_nothing_under_way_is_freed() -> None:
    job = job_of(version(1, sequence("ab", within_ms=10)))
    job.batch([one for n in range(50) for one in letters("a", 1_000, user=f"u{n}")], until_ms=1_005)
    assert held(job) == 50
    job.advance(1_010)
    assert held(job) == 0
    assert not any("/b" in name for name in job.state_names)


def test_an_event_that_begins_nothing_leaves_no_state() -> None:
    job = job_of(version(1, sequence("ab")), filters=False)
    job.batch([one for n in range(50) for one in letters("bx", 1_000, user=f"u{n}")])
    job.advance(1_100)
    assert held(job) == 0


def test_what_a_replaced_version_has_left_on_silent_keys_is_swept() -> None:
    job = job_of(version(1, sequence("ab")), shards=1)
    job.batch([event("a", 1_000, user=f"u{n}") for n in range(5_000)], until_ms=1_001)
    size = sum(status.state_bytes for status in job.statuses.values())
    assert held(job) == 5_000
    job.publish(processor("p", version(2, sequence("cd"))))
    for number in range(12):
        job.batch([event("c", 1_010 + number)])
    assert held(job) == 1
    assert sum(status.state_bytes for status in job.statuses.values()) < size / 10
    assert sum(name.rpartition("/")[2].startswith("l") for name in job.state_names) == 1


def test_a_selector_that_no_rule_has_any_more_frees_its_state() -> None:
    job = Pipeline(stream(50), Options(shards=1))
    kept = processor("q", version(1, sequence("ab"), key_by=None))
    job.publish(processor("p", version(1, sequence("ab"))), kept)
    job.batch([event("a", 1_000, user=f"u{n}") for n in range(50)], until_ms=1_020)
    job.batch(letters("a", 1_090))
    groups = {name.partition("/")[0] for name in job.state_names}
    assert len(groups) == 3
    job.publish(kept)
    job.advance(1_100)
    for number in range(4):
        job.batch(letters("a", 1_200 + 100 * number))
    assert {name.partition("/")[0] for name in job.state_names} == {"groups", "global"}


def test_a_selector_that_comes_back_begins_anew() -> None:
    job = job_of(version(1, sequence("ab")), shards=1)
    job.batch(letters("a", 1_000))
    job.publish(processor("q", version(1, sequence("ab"), key_by=None)))
    job.batch(letters("x", 1_010))
    job.batch(letters("a", 1_020))
    job.publish(processor("p", version(1, sequence("ab"))))
    job.batch(letters("x", 1_030))
    job.batch(letters("ab", 1_040), until_ms=1_100)
    assert spelled(job.rows) == ["p1 match a1040 b1041"]
