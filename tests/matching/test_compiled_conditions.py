"""Conditions on earlier events in compiled machines against those in Python, with odd values.

100 times as many examples: PERCEPT_EXAMPLE_FACTOR=100 pytest FILE
"""

import math
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import polars as pl
import pytest
from hypothesis import event, given, reject
from hypothesis import strategies as st

from cep.executors.choice import choices_of, interpreted_rules
from cep.matching.matcher_state import encode_matcher, restore_matcher
from cep.nfa.errors import ConditionFailed
from cep.nfa.written_runs import PAYLOAD_EVENTS, WrittenRuns
from cep.pattern.tree import SkipStrategy
from percept import AfterMatchSkip, BatchMatcher, Pattern, PatternError, Schema
from tests.matching.compiled_machine import machines_of
from tests.matching.test_compiled_shapes import outcome, told

SCHEMA = Schema.from_ddl(
    "ts BIGINT, user BIGINT, price DOUBLE, size BIGINT, small INT, rate FLOAT, is_new BOOLEAN, "
    "shop STRING, at TIMESTAMP, day DATE, total DECIMAL(10, 2)"
)
STEPS = ("a", "b", "c")
FLOATS = [None, math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, 1.5, 2.5, 1e308, 2.0**53]
MOMENTS = [
    datetime(1, 1, 1, tzinfo=UTC),
    datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    datetime(2026, 11, 25, 1, tzinfo=UTC),
    datetime(2026, 11, 25, 1, 0, 0, 1, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
]
INTS = [None, 0, 1, 2, 3, -1, 2**31, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)]

values = st.tuples(
    st.integers(0, 2),
    st.sampled_from(FLOATS),
    st.sampled_from(INTS) | st.integers(0, 3),
    st.sampled_from([None, 0, 1, 2, -(2**31)]),
    st.sampled_from([None, 0.5, 0.1, 2.0]),
    st.sampled_from([None, True, False]),
    st.sampled_from([None, "", "x", "y", "é", "😀"]),
    st.sampled_from([None, *MOMENTS]),
    st.sampled_from([None, *(moment.date() for moment in MOMENTS)]),
)
COLUMNS = ["{0}price", "{0}size", "{0}small", "{0}rate", "{0}size + 1", "{0}size - {0}small"]
columns = st.sampled_from([column.format("") for column in COLUMNS])
aggregates = st.one_of(
    st.builds(
        lambda function, step, column: f"{function}({column.format(f'{step}.')})",
        st.sampled_from(["FIRST", "LAST", "SUM", "AVG", "MIN", "MAX", "COUNT"]),
        st.sampled_from(STEPS),
        st.sampled_from(COLUMNS),
    ),
    st.sampled_from([f"COUNT({step}.*)" for step in STEPS]),
)
constants = st.sampled_from(["0", "1", "2", "1.5", "0.1e0", "NULL", "9223372036854775807"])
numbers = st.recursive(
    aggregates | columns | constants,
    lambda inner: st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from("+-*/"), inner),
        st.builds("ABS({})".format, inner),
        st.builds("-({})".format, inner),
        st.builds("COALESCE({}, {})".format, inner, inner),
        st.builds("{}({}, {})".format, st.sampled_from(["GREATEST", "LEAST"]), inner, inner),
    ),
    max_leaves=3,
)
relations = st.sampled_from(["<", "<=", ">", ">=", "=", "<>", "IS DISTINCT FROM"])
conditions = st.recursive(
    st.one_of(
        st.builds("{} {} {}".format, numbers, relations, numbers),
        st.builds("{} {} {}".format, aggregates, relations, columns),
        st.builds("shop {} LAST({}.shop)".format, relations, st.sampled_from(STEPS)),
        st.builds("at {} LAST({}.at)".format, relations, st.sampled_from(STEPS)),
        st.builds("day {} FIRST({}.day)".format, relations, st.sampled_from(STEPS)),
        st.builds("at - {}.at {} INTERVAL 1 HOUR".format, st.sampled_from(STEPS), relations),
        st.builds("FIRST({}.shop) IN ('x', 'é')".format, st.sampled_from(STEPS)),
        st.builds("LAST({}.is_new) IS NOT TRUE".format, st.sampled_from(STEPS)),
        st.builds("{} IS NULL".format, aggregates),
        st.sampled_from(["is_new", "size > 0", "shop = 'x'", "TRUE"]),
    ),
    lambda inner: st.one_of(
        st.builds("({}) AND ({})".format, inner, inner),
        st.builds("({}) OR ({})".format, inner, inner),
        st.builds("NOT ({})".format, inner),
    ),
    max_leaves=3,
)


SKIPS = [
    AfterMatchSkip.no_skip(),
    AfterMatchSkip.to_next(),
    AfterMatchSkip.past_last_event(),
    AfterMatchSkip.to_last("a"),
]


@st.composite
def rules_of_one_shape(draw: st.DrawFn) -> dict[str, Pattern]:
    skip: SkipStrategy = draw(st.sampled_from(SKIPS))
    within = draw(st.sampled_from([None, 5]))
    shape = draw(st.sampled_from(["one", "some", "any", "until"]))
    rules = {}
    for number in range(draw(st.integers(1, 3))):
        a, b, c = (draw(conditions) for _ in STEPS)
        try:
            pattern = pattern_of(shape, draw(st.sampled_from(["TRUE", a])), b, c)
            pattern.validate(SCHEMA)
        except PatternError:
            reject()
        pattern = pattern.after_match(skip)
        rules[f"{number}"] = pattern if within is None else pattern.within(within)
    return rules


def pattern_of(shape: str, a: str, b: str, c: str) -> Pattern:
    pattern = Pattern.begin("a").where(a)
    if shape == "some":
        pattern = pattern.times(2)
    elif shape != "one":
        pattern = pattern.one_or_more()
    if shape == "until":
        pattern = pattern.until(c)
    pattern = pattern.followed_by_any("b") if shape == "any" else pattern.followed_by("b")
    return pattern.where(b).followed_by("c").where(c)


def frame_of(rows: list[tuple[Any, ...]]) -> pl.DataFrame:
    filled = [(at // 2, *row, None) for at, row in enumerate(rows)]
    return pl.DataFrame(filled, schema=SCHEMA.to_polars(), orient="row")


@given(
    rules_of_one_shape(),
    st.lists(values, min_size=3, max_size=25),
    st.lists(st.integers(0, 9), max_size=3),
)
def test_random_conditions(
    rules: dict[str, Pattern], rows: list[tuple[Any, ...]], sizes: list[int]
) -> None:
    (shape,) = BatchMatcher(rules, schema=SCHEMA).matcher.shapes
    event(f"compiled: {not interpreted_rules(choices_of([shape]))}")
    both_are_alike(rules, frame_of(rows), sizes)


def both_are_alike(rules: dict[str, Pattern], rows: pl.DataFrame, sizes: list[int]) -> list[Any]:
    """Return what rules find; texts, as NaN is not equal to itself."""
    compiled, interpreted = (
        [in_order(part) for part in outcome(rules, rows, sizes, kind)]
        for kind in ("compiled", "interpreted")
    )
    assert compiled == interpreted
    return compiled


def in_order(part: Any) -> Any:
    return sorted(map(str, part)) if isinstance(part, list) else part


COMPILED = [
    "price > LAST(a.price)",
    "price > 1.2 * AVG(a.size)",
    "price / FIRST(a.size) >= 0.5",
    "size - a.size > 2 AND COUNT(a.*) = 1",
    "shop = LAST(a.shop) OR a.is_new",
    "at > LAST(a.at) AND day = FIRST(a.day) AND at - a.at < INTERVAL 1 HOUR",
    "size > GREATEST(LAST(a.size), small) OR price = LEAST(a.price, a.rate)",
    "size > MIN(a.size + a.small) OR SUM(a.rate) IS NULL",
]
LEFT_TO_PYTHON = [
    "total > LAST(a.total)",
    "size > 1.5 * LAST(a.size)",
    "shop > MAX(a.shop)",
    "UPPER(LAST(a.shop)) = 'X'",
    "size > GREATEST(a.size, a.small, 1)",
]


def two_steps(condition: str) -> dict[str, Pattern]:
    return {"r": Pattern.begin("a").where("size > 0").followed_by("b").where(condition)}


@pytest.mark.parametrize(
    ("condition", "is_compiled"),
    [(each, True) for each in COMPILED] + [(each, False) for each in LEFT_TO_PYTHON],
)
def test_which_conditions_are_compiled(condition: str, *, is_compiled: bool) -> None:
    (shape,) = BatchMatcher(two_steps(condition), schema=SCHEMA).matcher.shapes
    assert (not interpreted_rules(choices_of([shape]))) == is_compiled


def test_conditions_in_python_are_not_compiled() -> None:
    rules = {"r": Pattern.begin("a").where(lambda event, _context: bool(event))}
    (shape,) = BatchMatcher(rules, schema=SCHEMA).matcher.shapes
    assert interpreted_rules(choices_of([shape]))


def sized(*sizes: int) -> pl.DataFrame:
    return frame_of(
        [(0, float(at), size, 0, 0.5, True, "x", None, None) for at, size in enumerate(sizes)]
    )


def test_sums_and_averages_that_integers_of_64_bits_cannot_hold() -> None:
    largest = 2**63 - 1
    rows = sized(largest, largest, 1, 2**53, 2**53 + 1, largest, 2)
    pattern = Pattern.begin("a").where("size > 2").times(2).followed_by("b")
    for condition in ("SUM(a.size) > 9223372036854775807", "size < AVG(a.size)"):
        found = both_are_alike({"r": pattern.where(condition)}, rows, [1, 3])
        assert any("'b'" in text for part in found for text in part)


PAIRS = [
    ("price", "LAST(a.price)"),
    ("price", "LAST(a.size)"),
    ("size", "FIRST(a.price)"),
    ("size", "FIRST(a.size)"),
]


@pytest.mark.long
@pytest.mark.parametrize("operator", ["+", "-", "*", "/"])
def test_arithmetic_on_all_pairs_of_odd_values(operator: str) -> None:
    wholes = ["IS NULL", "> 1", "<= 1", "= 0", "< -1", "IS DISTINCT FROM 1"]
    computed = [f"{left} {operator} {right}" for left, right in PAIRS]
    on_all_pairs([f"({value}) {test}" for value in computed for test in wholes])


def test_comparisons_of_all_pairs_of_odd_values() -> None:
    relations = ["<", "<=", ">", ">=", "=", "<>", "IS DISTINCT FROM"]
    compared = [f"{left} {relation} {right}" for left, right in PAIRS for relation in relations]
    on_all_pairs([*compared, *(f"NOT {condition}" for condition in compared)])


def on_all_pairs(conditions: list[str]) -> None:
    """Look for what comes behind what, each pair of values under a key of its own."""
    pairs = list(product(zip(FLOATS, INTS, strict=True), repeat=2))
    rows = [
        (user, *pair[turn], 0, 0.5, True, "x", None, None)
        for turn in range(2)
        for user, pair in enumerate(pairs)
    ]
    rules = {each: Pattern.begin("a").next("b").where(each) for each in conditions}
    (shape,) = BatchMatcher(rules, schema=SCHEMA).matcher.shapes
    assert not interpreted_rules(choices_of([shape]))
    found = both_are_alike(rules, frame_of(rows), [len(pairs), 60])
    assert any("'b'" in text for part in found for text in part)


def test_rules_whose_conditions_differ_part_and_go_on_together() -> None:
    """Sixty rules of which some agree on each event."""
    rules = {
        f"r{number:02}": Pattern.begin("a")
        .where("size > 0")
        .followed_by_any("b")
        .where(f"size > LAST(a.size) + {number % 7}")
        .followed_by("c")
        .where(f"COUNT(b.*) = 1 AND price > FIRST(a.price) + {number % 3}")
        .within(6)
        for number in range(60)
    }
    (shape,) = BatchMatcher(rules, schema=SCHEMA).matcher.shapes
    assert not interpreted_rules(choices_of([shape]))
    found = both_are_alike(rules, sized(*[1, 3, 9, 2, 5, 12, 4, 4, 8, 20] * 3), [4, 1, 9])
    told = {text[:6] for part in found for text in part if "'c'" in text}
    assert {f"('{rule}'" for rule in rules} <= told


@pytest.mark.parametrize("kind", ["compiled", "interpreted"])
def test_a_value_of_another_type_fails_at_the_same_event(kind: str) -> None:
    """A key may hold an event of a time when the column had another type."""
    rows = sized(1, 0, 0, 0)
    with machines_of(kind):
        matcher = BatchMatcher(two_steps("price > LAST(a.price)"), schema=SCHEMA, key_by=["user"])
        matcher.process(rows[:1])
        (shape,) = matcher.matcher.shapes
        payload = shape.machine.payload(shape.keys[0])
        payload[PAYLOAD_EVENTS][0][2] = "dear"
        shape.keys[0] = shape.machine.of_payload(payload)
        before = shape.machine.payload(shape.keys[0])
        with pytest.raises(ConditionFailed, match=r"price is DOUBLE, LAST\(a.price\) is STRING"):
            matcher.process(rows[1:])
        assert shape.machine.payload(shape.keys[0]) == before


def test_events_that_come_back_from_bytes_are_read_as_before() -> None:
    condition = (
        "at > LAST(a.at) AND day = FIRST(a.day) AND at - a.at < INTERVAL 1 HOUR "
        "AND shop = a.shop AND price > a.price AND rate = a.rate AND is_new = a.is_new"
    )
    start, day = MOMENTS[2], MOMENTS[2].date()
    rows = frame_of(
        [
            (0, float(at), 1, 0, 0.1, True, "é", start + timedelta(minutes=at), day)
            for at in range(4)
        ]
    )
    found = {}
    for kind in ("compiled", "interpreted"):
        with machines_of(kind):
            one, other = (
                BatchMatcher(two_steps(condition), schema=SCHEMA, key_by=["user"]) for _ in range(2)
            )
            one.process(rows[:2])
            restore_matcher(other.matcher, encode_matcher(one.matcher))
            part = [told(each) for each in other.process(rows[2:])]
            (shape,) = other.matcher.shapes
            (state,) = shape.keys.values()
            assert isinstance(state, WrittenRuns)
            is_compiled = state.payload is not None  # Python opens it
            assert is_compiled == (kind == "compiled")
            found[kind] = part, shape.machine.payload(state)
    assert found["compiled"] == found["interpreted"]
    assert len(found["compiled"][0]) == 2


def test_the_reason_names_the_kind_of_a_struct_and_not_its_fields() -> None:
    schema = Schema.from_ddl(f"s STRUCT<{', '.join(f'field_{n}: STRING' for n in range(500))}>")
    pattern = Pattern.begin("a").followed_by("b").where("s.field_1 = a.s.field_1")
    (shape,) = BatchMatcher({"r": pattern}, schema=schema).matcher.shapes
    reason = "a condition on s of an earlier event, of type STRUCT"
    assert interpreted_rules(choices_of([shape])) == {"r": reason}
