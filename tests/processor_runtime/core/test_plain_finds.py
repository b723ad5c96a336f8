"""Finds about which nothing is decided go a short way, with the rows and counts of the long one."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep import Pattern, SelectExpressions
from processor_runtime.rows.row_limits import RowLimits
from processor_runtime.rules.loading import RuleDefaults
from processor_runtime.stages.plain_finds import PlainFinds
from processor_runtime.stages.shard_status import ShardStatus
from tests.processor_runtime.core.pipeline import Event, Options, Pipeline
from tests.processor_runtime.core.published import (
    Document,
    event,
    processor,
    sequence,
    stream,
    version,
)

SELECTS: Sequence[dict[str, str]] = [
    {},
    {"key": "a.user", "price": "b.price"},
    {"key": "a.user", "price": "b.price "},
    {"one": "1"},
    {"one": "1.0"},
    {"one": "TRUE"},
    {"sum": "SUM(a.price)", "part": "10 / (b.price - 2)"},  # fails where the price is 2
    {"text": "CONCAT(a.name, b.user)"},
    {"first": "FIRST(a.ts)", "last": "a.ts", '"odd"': "FIRST(b.name)"},
]
PATTERNS: Sequence[Document] = [
    sequence(["a", "b"], within_ms=20),
    sequence(["a", "b"], within_ms=20, after_match_skip={"strategy": "skip_past_last_event"}),
    {
        "steps": [
            {"name": "a", "where": "name = 'a'", "times": {"from": 1, "to": None}},
            {"name": "b", "contiguity": "followed_by", "where": "name = 'b'"},
        ],
        "within_ms": 20,
    },
    {
        "steps": [
            {"name": "a", "where": "name = 'a'"},
            {"name": "c", "contiguity": "followed_by", "where": "name = 'c'", "optional": True},
            {"name": "b", "contiguity": "followed_by", "where": "name = 'b'"},
        ],
        "within_ms": 20,
    },
    # Of the shape of the first one, with other names.
    {
        "steps": [
            {"name": 'b "', "where": "name = 'a'"},
            {"name": "a", "contiguity": "followed_by", "where": "name = 'b'"},
        ],
        "within_ms": 20,
    },
    {
        "steps": [
            {"name": "a", "where": "name = 'a'"},
            {"name": "b", "contiguity": "followed_by", "where": "name = 'b' AND price > 0"},
        ],
        "within_ms": 20,
    },
]
MORE: Sequence[Document] = [
    {},
    {"alert": {"suppress": {"for": "10 seconds", "at_most": 1}}},
    {"alert": {"budget": {"at_most": 2, "for": "1 hour"}}},
]

events = st.lists(
    st.builds(
        event,
        st.sampled_from("abc"),
        st.integers(1_000, 1_030),
        user=st.sampled_from(["u", "v", "w'\"\\", None]),
        price=st.integers(0, 3),
    ),
    max_size=25,
).map(lambda given: sorted(given, key=lambda each: int(each["ts"])))
definitions = st.lists(
    st.tuples(st.sampled_from(PATTERNS), st.sampled_from(SELECTS), st.sampled_from(MORE)),
    min_size=1,
    max_size=6,
)
limits = st.builds(
    RowLimits, st.integers(1, 8), st.integers(1, 8), st.integers(1, 8), st.integers(50, 1_000)
)


def counted(statuses: dict[int, ShardStatus]) -> Any:
    return {shard: status.rules for shard, status in statuses.items()}


def told(
    given_events: Sequence[Event], rules: Sequence[tuple[Any, ...]], row_limits: RowLimits, at: int
) -> Any:
    """Return rows and counts of two batches."""
    job = Pipeline(stream(), Options(defaults=RuleDefaults(row_limits=row_limits)))
    job.publish(
        *(
            processor(
                f"p{number}", version(1, pattern, **more, **({"select": select} if select else {}))
            )
            for number, (pattern, select, more) in enumerate(rules)
        )
    )
    found = []
    for part in (given_events[:at], given_events[at:], [event("c", 2_000)], []):
        rows = job.batch(part)
        found.append((rows, counted(job.statuses)))
    return found


@pytest.mark.long
@given(events, definitions, limits | st.just(RowLimits()), st.integers(0, 25))
def test_the_short_way_gives_what_the_long_one_gives(
    given_events: Sequence[Event],
    rules: Sequence[tuple[Any, ...]],
    row_limits: RowLimits,
    at: int,
) -> None:
    short = told(given_events, rules, row_limits, at)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PlainFinds, "emit", lambda _finds, _found: False)
        long = told(given_events, rules, row_limits, at)
    assert short == long


def test_matches_of_plain_rules_go_the_short_way_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[str] = []
    emit = PlainFinds.emit

    def watched(finds: PlainFinds, found: Any) -> bool:
        is_given = emit(finds, found)
        if is_given:
            taken.append(found.rule)
        return is_given

    monkeypatch.setattr(PlainFinds, "emit", watched)
    rules = [(PATTERNS[0], SELECTS[1], more) for more in MORE]
    told([event("a", 1_000), event("b", 1_001)], rules, RowLimits(), 2)
    (rule,) = taken
    assert rule.startswith("p0@")


def test_selects_are_shared_only_if_they_give_the_same() -> None:
    pattern = Pattern.begin("a").followed_by("b")
    written = [SelectExpressions(columns, pattern).written for columns in SELECTS[1:]]
    assert written[0] == written[1]
    assert len(set(written)) == len(written) - 1


def test_a_select_that_an_older_version_has_pickled_is_shared_with_none() -> None:
    pattern = Pattern.begin("a").followed_by("b")
    finds = PlainFinds(*([None] * 6))  # type: ignore[arg-type] # only its selects are looked at
    for columns in SELECTS[1:3]:
        older = SelectExpressions(columns, pattern)
        del older.written
        assert finds.shared(older) is older
    first, second = (SelectExpressions(columns, pattern) for columns in SELECTS[1:3])
    assert finds.shared(first) is first
    assert finds.shared(second) is first
