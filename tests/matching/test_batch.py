"""Frames: any split, any schema, few or many rules: the same detections."""

from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.expression import ExpressionError
from cep.matching.matcher_state import encode_matcher, restore_matcher
from cep.nfa.errors import EventTimeError
from percept import AfterMatchSkip, BatchMatcher, Pattern, PatternError, Schema
from tests.nfa.keyed_run import KeyedRun
from tests.properties import slow_property

SCHEMA = Schema.from_ddl("ts BIGINT, user STRING, name STRING, price BIGINT")
Found = tuple[Any, ...]


def steps(condition: str) -> Pattern:
    return Pattern.begin("s").where(condition)


RULES = {
    "relaxed": steps("name = 'a'").followed_by("t").where("name = 'b' AND price > 1"),
    "other price": steps("name = 'a'").followed_by("t").where("name = 'b' AND price > 2"),
    "absence": steps("name = 'a'").not_followed_by("n").where("name = 'b'").within(4),
    "strict": steps("name = 'a'").next("t").where("name = 'b'").within(6),
    "rising": steps("name = 'a'")
    .one_or_more()
    .where("COUNT(s.price) = 0 OR price > LAST(s.price)")
    .followed_by("t")
    .where("name = 'c'")
    .within(9)
    .after_match(AfterMatchSkip.past_last_event()),
    "any": steps("price = 1").followed_by_any("t").where("price = 3").within(5),
} | {
    # Two machines of two rules each, whose matches wait for earlier ones and take others away.
    f"{name} of {letter}": steps(f"name = '{letter}'")
    .followed_by_any("t")
    .where("price = 2")
    .one_or_more()
    .after_match(skip)
    for letter in "ab"
    for name, skip in (
        ("past last", AfterMatchSkip.past_last_event()),
        ("to first", AfterMatchSkip.to_first("t")),
    )
}

events = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.sampled_from(["u", "v", None]),
        st.sampled_from(["a", "b", "c", None]),
        st.sampled_from([1, 2, 3, None]),
    ),
    min_size=1,
    max_size=25,
)


def frame(rows: Sequence[tuple[Any, ...]]) -> pl.DataFrame:
    """Rows of (time since the row before, user, name, price)."""
    time_ms = 0
    timed = []
    for delay_ms, *values in rows:
        time_ms += delay_ms
        timed.append((time_ms, *values))
    return pl.DataFrame(timed, schema=SCHEMA.to_polars(), orient="row")


def spelled(detections: list[Any]) -> Counter[Found]:
    return Counter(
        (
            d.rule,
            d.key,
            d.time_ms,
            d.is_timeout,
            tuple((name, tuple(e)) for name, e in d.steps.items()),
        )
        for d in detections
    )


def in_batches(rules: dict[str, Pattern], rows: pl.DataFrame, sizes: list[int]) -> Counter[Found]:
    """Feed frames of these sizes; after each, a new matcher goes on from the encoded state."""
    matcher = BatchMatcher(rules, schema=SCHEMA, key_by=["user"])
    found = []
    begin = 0
    for size in [*sizes, len(rows)]:
        found += matcher.process(rows[begin : begin + size])
        begin += size
        restarted = BatchMatcher(rules, schema=SCHEMA, key_by=["user"])
        restore_matcher(restarted.matcher, encode_matcher(matcher.matcher))
        matcher = restarted
    return spelled(found + matcher.advance_to(10_000))


def one_by_one(rules: dict[str, Pattern], rows: pl.DataFrame) -> Counter[Found]:
    """Feed every event, also those of no concern, with conditions evaluated event by event."""
    columns = list(SCHEMA.to_polars())

    def reader(path: tuple[str, ...]) -> Any:
        return lambda row: row[columns.index(path[0])]

    run = KeyedRun(rules, field_reader=reader)
    found = [one for row in rows.iter_rows() for one in run.fed(row, row[1], row[0])]
    return spelled(found + run.matcher.advance_to(10_000))


@given(events, st.lists(st.integers(0, 6), max_size=6))
def test_any_split_into_batches_finds_what_single_events_find(
    rows: list[tuple[Any, ...]], sizes: list[int]
) -> None:
    stream = frame(rows)
    assert in_batches(RULES, stream, sizes) == one_by_one(RULES, stream)


@given(events)
def test_many_rules_together_find_what_each_finds_alone(rows: list[tuple[Any, ...]]) -> None:
    stream = frame(rows)
    alone: Counter[Found] = Counter()
    for rule, pattern in RULES.items():
        alone += one_by_one({rule: pattern}, stream)
    assert one_by_one(RULES, stream) == alone


@cache
def narrow_rules() -> dict[str, Pattern]:
    """Enough rules of the form `column = constant AND rest` that they are looked up, not tested."""
    return {
        f"{letter}{price}": steps(f"name = '{letter}' AND price = {price}")
        .followed_by("t")
        .where(f"price = {1 + price % 3}")
        .within(20)
        for letter in "abcdefghijklmnop"
        for price in range(4)
    }


@slow_property()
@given(events, st.lists(st.integers(0, 6), max_size=3))
def test_rules_looked_up_by_constant_find_what_single_events_find(
    rows: list[tuple[Any, ...]], sizes: list[int]
) -> None:
    stream = frame(rows)
    assert in_batches(narrow_rules(), stream, sizes) == one_by_one(narrow_rules(), stream)


def test_so_many_rules_are_looked_up() -> None:
    assert BatchMatcher(narrow_rules(), schema=SCHEMA)._index._lookups


def test_many_rules_with_strict_contiguity_see_events_for_which_no_test_holds() -> None:
    rules = {
        f"{letter}{price}": steps(f"name = '{letter}' AND price = {price}")
        .next("t")
        .where(f"name = 'b' AND price = {price}")
        for letter in "abcdefgh"
        for price in range(8)
    }
    stream = frame([(0, "u", "a", 1), (1, "u", "zzz", 7), (1, "u", "b", 1)])
    assert in_batches(rules, stream, []) == Counter()
    assert len(in_batches(rules, stream[[0, 2]], [])) == 1


def test_a_condition_that_does_not_fit_the_schema_is_refused() -> None:
    with pytest.raises(PatternError, match=r"pric.*price"):
        BatchMatcher({"r": steps("pric > 1")}, schema=SCHEMA)


def test_events_out_of_order_are_refused_also_between_frames() -> None:
    matcher = BatchMatcher(RULES, schema=SCHEMA)
    stream = frame([(5, "u", "a", 1), (1, "u", "b", 1)])
    matcher.process(stream)
    with pytest.raises(EventTimeError, match="not in order"):
        matcher.process(stream)
    with pytest.raises(EventTimeError, match="have no ts"):
        matcher.process(stream.with_columns(ts=pl.lit(None, pl.Int64)))


def test_times_may_be_datetimes() -> None:
    schema = Schema.from_ddl("ts TIMESTAMP, name STRING")
    rows = pl.DataFrame(
        {"ts": [1_000, 2_000], "name": ["a", "x"]},
        schema={"ts": pl.Int64, "name": pl.String},
    ).with_columns(ts=pl.from_epoch("ts", "ms").dt.replace_time_zone("UTC"))
    pattern = steps("name = 'a'").not_followed_by("n").where("name = 'b'").within(500)
    matcher = BatchMatcher({"r": pattern}, schema=schema)
    assert matcher.process(rows) == []
    assert [d.rule for d in matcher.advance_to(1_500)] == ["r"]


def test_an_event_of_no_concern_leaves_no_state() -> None:
    matcher = BatchMatcher(RULES, schema=SCHEMA, key_by=["user"])
    matcher.process(frame([(1, f"user {number}", "z", 9) for number in range(1_000)]))
    assert all(not shape.keys for shape in matcher.matcher.shapes)


def test_state_is_freed_when_nothing_can_match_any_more() -> None:
    rules = {"absence": RULES["absence"], "strict": RULES["strict"]}
    matcher = BatchMatcher(rules, schema=SCHEMA, key_by=["user"])
    matcher.process(frame([(0, f"user {number}", "a", 1) for number in range(1_000)]))
    assert matcher.matcher.open_partial_matches() == 2_000
    assert len(matcher.advance_to(100)) == 2_000
    assert all(not shape.keys for shape in matcher.matcher.shapes)


def test_windows_are_refused_where_nothing_keeps_what_they_count() -> None:
    rule = Pattern.begin("a").where("COUNT(*) OVER (PARTITION BY user LAST INTERVAL '1' DAY) > 1")
    schema = Schema.from_ddl("user STRING, ts BIGINT")
    with pytest.raises(ExpressionError, match="find_matches and jobs have them"):
        BatchMatcher({"r": rule}, schema=schema)
