"""Windows of rules in a job: any batches, restarts, replacement, limits, and what is let go."""

from datetime import UTC, datetime
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.definition.checking import check_definition
from cep.definition.document import ProcessorContent
from cep.expression import EvaluationError, Field, Node, Schema
from cep.matching.find_matches import find_matches
from cep.nfa.limits import Limits
from cep.pattern import Pattern
from contract.snapshot import StreamDefinition
from processor_runtime.rules.loading import RuleDefaults
from processor_runtime.rules.window_columns import GroupWindows
from tests.letters import (
    Document,
    errors,
    event,
    followed,
    job_of,
    letters,
    processor,
    spelled,
    stream,
    version,
)
from tests.processor_runtime.core.pipeline import Event, Options, Pipeline
from tests.properties import slow_property

FAILS = "COUNT(*) FILTER (WHERE name = 'f') OVER (PARTITION BY user LAST INTERVAL '10' MILLISECOND)"
END_MS = 3_000


def often(count: int, window: str = FAILS) -> Document:
    return followed(("fail", f"name = 'f' AND {window} >= {count}"))


@pytest.mark.parametrize(("third_ms", "alerts"), [(1_009, ["p1 match f1009"]), (1_010, [])])
def test_the_third_within_a_time_alerts_and_one_exactly_that_long_ago_is_out(
    third_ms: int, alerts: list[str]
) -> None:
    job = job_of(version(1, often(3)))
    job.batch(letters("ffx", 1_000) + letters("ff", 1_000, user="v"))
    job.batch(letters("f", third_ms), until_ms=END_MS)
    assert spelled(job.rows) == alerts


def test_a_sequence_has_a_window_in_one_step() -> None:
    pattern = followed(("many", f"name = 'f' AND {FAILS} >= 2"), ("ok", "name = 'o'"))
    job = job_of(version(1, pattern | {"within_ms": 5}))
    job.batch(letters("f o f o", 1_000), until_ms=END_MS)
    assert spelled(job.rows_of("match")) == ["p1 match f1004 o1006"]


def test_a_hundred_rules_share_a_window() -> None:
    window = "COUNT(*) OVER (PARTITION BY user LAST INTERVAL '10' MILLISECOND)"
    wheres = [f"name = 'f' AND price = {n} AND {window} >= {1 + n % 4}" for n in range(100)]
    rules = [
        processor(f"p{n}-", version(1, followed(("fail", where)))) for n, where in enumerate(wheres)
    ]
    job = job_of(*rules)
    job.batch(letters("fffff", 1_000), until_ms=END_MS)
    assert spelled(job.rows) == [f"p{n}-1 match f{1_000 + n}" for n in range(5)]


def test_a_replacement_begins_empty_and_another_rule_goes_on() -> None:
    other = processor("q", version(1, often(3)))
    job = job_of(processor("p", version(1, often(3))), other)
    job.batch(letters("ff", 1_000))
    job.publish(processor("p", version(1, often(3)), version(2, often(2))), other)
    job.batch(letters("ff", 1_003), until_ms=END_MS)
    # Version 2 begins behind the newest event: it sees 1003 and 1004 only.
    assert sorted(spelled(job.rows)) == ["p2 match f1004", "q1 match f1003", "q1 match f1004"]


def test_what_no_window_counts_any_more_is_freed() -> None:
    job = job_of(version(1, often(3)))
    job.batch(letters("ff", 1_000) + letters("f", 1_001, user="v"))
    assert {name for name in job.state_names if "windows/b" in name}
    job.advance(2_000)
    job.batch()
    assert {name for name in job.state_names if "windows/b" in name} == set()


def test_a_window_that_keeps_too_much_stops_its_rule_alone() -> None:
    limits = RuleDefaults(limits=Limits(events=5))
    plain = processor("plain", version(1, followed(("fail", "name = 'f'"))))
    job = job_of(processor("p", version(1, often(3))), plain, defaults=limits)
    job.batch(letters("ffff", 1_000))
    assert errors(job) == []
    job.batch(letters("ffff", 1_004), until_ms=END_MS)
    (told,) = errors(job, "p")
    assert told["reason"] == "limit"
    assert "7 events kept for windows of one key" in told["message"]
    assert len(job.rows_of("match", "plain")) == 8


def test_a_window_that_cannot_be_computed_stops_its_rule_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def evaluated(windows: GroupWindows, events: Any, part: Node, columns: Any) -> Any:
        if part == Field(("price",)):
            raise EvaluationError("nobody knows why")
        return computed(windows, events, part, columns)

    computed = GroupWindows.evaluated
    monkeypatch.setattr(GroupWindows, "evaluated", evaluated)
    sums = "SUM(price) OVER (PARTITION BY user LAST INTERVAL '10' MILLISECOND)"
    job = job_of(processor("p", version(1, often(1, sums))), processor("q", version(1, often(3))))
    job.batch(letters("fff", 1_000), until_ms=END_MS)
    (told,) = errors(job)
    assert told["message"] == "nobody knows why"
    assert spelled(job.rows_of("match")) == ["q1 match f1002"]


def test_a_late_event_counts_nowhere() -> None:
    job = job_of(version(1, often(4)), delay_ms=2)
    job.batch(letters("f", 1_000) + letters("f", 1_005))
    job.batch(letters("f", 1_001) + letters("f", 1_006), until_ms=END_MS)
    assert spelled(job.rows_of("match")) == []
    assert len(job.rows_of("late")) == 1


def test_null_is_a_key_and_a_partition() -> None:
    job = job_of(version(1, often(2)))
    job.batch([event("f", 1_000, user=None), event("f", 1_001, user=None)], until_ms=END_MS)
    assert spelled(job.rows) == ["p1 match f1001"]


def test_of_first_sightings_the_last_of_each_value_is_kept() -> None:
    new = "FIRST_SEEN(name) OVER (PARTITION BY user LAST INTERVAL '1' SECOND)"
    limits = RuleDefaults(limits=Limits(events=2))
    job = job_of(version(1, followed(("new", new))), defaults=limits)
    job.batch(letters("abababab", 1_000))
    job.batch(letters("ab", 1_020), until_ms=END_MS)
    assert errors(job) == []
    assert spelled(job.rows) == ["p1 match a1000", "p1 match b1001"]


@pytest.mark.parametrize("partition", ["", "PARTITION BY name "])
def test_a_window_over_other_keys_is_refused_with_what_to_write(partition: str) -> None:
    window = f"COUNT(*) OVER ({partition}LAST INTERVAL '1' HOUR) > 3"
    document = {"pattern": followed(("a", window)), "key_by": ["user"]}
    schema = Schema.from_ddl(stream().ddl)
    (problem,) = check_definition(document, schema, ProcessorContent).problems
    assert "is over events of every user" in problem.message
    assert "Write PARTITION BY user" in str(problem)
    assert problem.path == "pattern.steps[0].where"


def test_events_out_of_order_are_refused_alone() -> None:
    pattern = Pattern.from_document(often(1))
    with pytest.raises(EvaluationError, match="event 2 is older than the one before it"):
        find_matches(pattern, [event("f", 1_001), event("f", 1_000)], warn=False)


def test_a_clause_has_no_window() -> None:
    clause = (
        "SELECT * FROM letters MATCH_RECOGNIZE (PARTITION BY user ORDER BY ts MEASURES A.ts AS at "
        "PATTERN (A) DEFINE A AS FIRST_SEEN(name) OVER (PARTITION BY user))"
    )
    document = {"pattern": {"match_recognize": clause}}
    (problem,) = check_definition(
        document, Schema.from_ddl(stream().ddl), ProcessorContent
    ).problems
    assert "OVER stands in conditions of steps, not in a clause" in problem.message


def test_a_window_without_an_end_is_warned_of() -> None:
    pattern = followed(("a", "MAX(price) OVER (PARTITION BY user ROWS 5 PRECEDING) > 3"))
    document = {"pattern": pattern, "key_by": ["user"]}
    checked = check_definition(document, Schema.from_ddl(stream().ddl), ProcessorContent)
    assert not checked.problems
    assert any("no time ends the window" in warning.message for warning in checked.warnings)


TYPED = StreamDefinition(
    name="typed",
    version=1,
    schema="user STRING, price DECIMAL(10,2), score DOUBLE, at TIMESTAMP, ts BIGINT",
    event_time_column="ts",
    allowed_delay_ms=0,
    order_by=[],
)
NAN, INFINITE = float("nan"), float("inf")
SCORES = [0.1, NAN, 0.2, None, INFINITE, -INFINITE, 0.3, 1e300, 1e300, -0.0]


@pytest.mark.parametrize(
    "condition",
    [
        f"{function} OVER (PARTITION BY user {frame}) {comparison}"
        for function, comparison in (
            ("SUM(price)", "= 3.05"),
            ("AVG(price)", "<> 1.5"),
            ("MAX(price)", "> 2"),
            ("SUM(score)", "> 0.4"),
            ("AVG(score)", "<= 0.2"),
            ("MIN(score)", "< 0"),
            ("MAX(score)", "> 1e301"),
            ("STDDEV_SAMP(score)", "IS NULL"),
            ("MAX(at)", "> '1970-01-01T00:00:00.005Z'"),
            ("COUNT(DISTINCT score)", ">= 3"),
            ("PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY price)", "> 1.2"),
            ("PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY at)", "IS NOT NULL"),
        )
        for frame in ("LAST INTERVAL '4' MILLISECOND", "ROWS 2 PRECEDING EXCLUDE TIES")
    ],
)
def test_values_of_all_types_count_in_a_job_as_they_do_alone(condition: str) -> None:
    events = [
        {
            "user": "u",
            "price": None if place == 4 else Decimal(place * 5 + 1) / 20,
            "score": score,
            "at": None if place == 2 else datetime.fromtimestamp(place / 1000, UTC),
            "ts": 1_000 + place,
        }
        for place, score in enumerate(SCORES)
    ]
    pattern = followed(("one", condition))
    job = Pipeline(TYPED, Options(shards=1))
    job.publish(processor("p", version(1, pattern)))
    for one in events:
        job.batch([one])
        job.restart()
    job.advance(END_MS)
    expected = find_matches(
        Pattern.from_document(pattern),
        events,
        key_by="user",
        schema=Schema.from_ddl(TYPED.ddl),
        warn=False,
    )
    assert [row.start_ms for row in job.rows_of("match")] == [m.time_ms for m in expected.matches]
    assert errors(job) == []


FRAMES = (
    "LAST INTERVAL '5' MILLISECOND",
    "LAST INTERVAL '5' MILLISECOND EXCLUDE CURRENT ROW",
    "RANGE BETWEEN INTERVAL '5' MILLISECOND PRECEDING AND CURRENT ROW",
    "RANGE BETWEEN INTERVAL '5' MILLISECOND PRECEDING AND INTERVAL '2' MILLISECOND PRECEDING",
    "ROWS 2 PRECEDING",
    "FILTERED ROWS BETWEEN 1 PRECEDING AND CURRENT ROW EXCLUDE CURRENT ROW",
    "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT EVENT EXCLUDE GROUP",
)
FUNCTIONS = (
    "COUNT(*)",
    "COUNT(DISTINCT name)",
    "SUM(price)",
    "AVG(price)",
    "MAX(price)",
    "STDDEV_POP(price)",
    "MIN(price)",
)


@st.composite
def split_events(draw: st.DrawFn) -> tuple[list[Event], list[int]]:
    """Return events in order of time, and where to cut them into batches."""
    time_ms, events = 1_000, list[Event]()
    for _ in range(draw(st.integers(1, 30))):
        time_ms += draw(st.sampled_from([0, 0, 1, 2, 5]))
        user, price = (
            draw(st.sampled_from(["u", "v", None])),
            draw(st.sampled_from([0, 1, 2, None])),
        )
        events.append(event(draw(st.sampled_from("abf")), time_ms, user=user, price=price))
    return events, sorted(draw(st.lists(st.integers(0, len(events)), max_size=6)))


@slow_property()
@given(
    drawn=split_events(),
    function=st.sampled_from(FUNCTIONS),
    frame=st.sampled_from(FRAMES),
    shards=st.integers(1, 3),
    filters=st.booleans(),
)
def test_a_job_finds_what_one_pass_finds_whatever_the_batches(
    drawn: tuple[list[Event], list[int]], function: str, frame: str, shards: int, *, filters: bool
) -> None:
    events, cuts = drawn
    window = f"{function} FILTER (WHERE name <> 'b') OVER (PARTITION BY user {frame})"
    pattern = followed(("one", f"price >= 1 AND {window} >= 1"), ("two", f"{window} >= 2"))
    job = job_of(version(1, pattern), shards=shards, filters=filters)
    for begin, end in pairwise([0, *cuts, len(events)]):
        job.batch(events[begin:end])
        job.restart()
    job.advance(END_MS)
    expected = find_matches(
        Pattern.from_document(pattern),
        events,
        key_by="user",
        schema=Schema.from_ddl(stream().ddl),
        warn=False,
    )
    times = sorted((m.steps["one"][0]["ts"], m.steps["two"][0]["ts"]) for m in expected.matches)
    assert sorted((row.start_ms, row.end_ms) for row in job.rows_of("match")) == times
