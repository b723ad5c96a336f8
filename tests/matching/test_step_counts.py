"""How far partial matches get: the same from any division into batches, alone and among rules."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import astuple
from typing import Any

import polars as pl
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from cep.nfa.errors import MatchingError
from cep.nfa.step_counts import StepCounts
from percept import AfterMatchSkip, BatchMatcher, Pattern, PatternError, Schema
from tests.brute_force.strategies import event_lists, patterns
from tests.matching.compiled_machine import machines_of
from tests.nfa.letters import letter

SCHEMA = Schema.from_ddl("ts BIGINT, user BIGINT, id BIGINT, name STRING, price DOUBLE")


def letters(text: str, user: int = 1) -> pl.DataFrame:
    """One event per letter, a second apart; "." is a second without one."""
    rows = [(1_000 * at, user, at, name, 1.0) for at, name in enumerate(text) if name != "."]
    return pl.DataFrame(rows, schema=SCHEMA.to_polars(), orient="row")


def counted(
    rules: dict[str, Pattern],
    rows: pl.DataFrame,
    sizes: Sequence[int] = (),
    kind: str = "interpreted",
) -> tuple[dict[str, dict[str, StepCounts]], Counter[str]]:
    """Return the counts of each step, and how many timeouts each rule had."""
    timeouts = Counter[str]()
    with machines_of(kind):
        matcher = BatchMatcher(rules, schema=SCHEMA, key_by=["user"])
        begin = 0
        for size in [*sizes, len(rows)]:
            found = list(matcher.process(rows[begin : begin + size]))
            timeouts.update(one.rule for one in found if one.is_timeout)
            begin += size
        timeouts.update(one.rule for one in matcher.advance_to(100_000) if one.is_timeout)
        return matcher.matcher.step_counts(), timeouts


@pytest.mark.parametrize("kind", ["compiled", "interpreted"])
def test_each_end_is_counted_where_it_came(kind: str) -> None:
    pattern = (
        Pattern.begin("a").where(letter("a"))
        .next("b").where(letter("b"))
        .followed_by("c").where(letter("c"))
        .within("6 seconds")
        .after_match(AfterMatchSkip.past_last_event())
    )  # fmt: skip
    # "ax" is broken; of "ab....." the time runs out; of "ababac" the first match prunes the second,
    # and "ac" is broken.
    steps, timeouts = counted({"r": pattern}, letters("axab.....ababac"), kind=kind)
    assert {name: astuple(counts) for name, counts in steps["r"].items()} == {
        # reached, events, timed out, broken, pruned, newest
        "a": (5, 5, 0, 2, 0, 0, 0, 13_000),
        "b": (3, 3, 1, 0, 0, 0, 0, 12_000),
        "c": (2, 2, 0, 0, 1, 0, 0, 14_000),
    }
    assert timeouts == {"r": 1}


@given(
    st.lists(patterns(), min_size=1, max_size=2),
    event_lists(max_size=30),
    st.lists(st.integers(1, 3), min_size=1, max_size=4),
    st.lists(st.integers(0, 12), max_size=3),
)
def test_counts_do_not_depend_on_batches_or_on_other_rules(
    documents: list[dict[str, Any]],
    events: list[dict[str, Any]],
    users: list[int],
    sizes: list[int],
) -> None:
    try:
        made = [Pattern.from_document(document, flink_quirks=True) for document in documents]
    except PatternError:
        reject()
    rules = {f"{number}/{turn}": pattern for number, pattern in enumerate(made) for turn in "xy"}
    rows = pl.DataFrame(
        [(e["ts"], users[e["id"] % len(users)], e["id"], e["name"], e["price"]) for e in events],
        schema=SCHEMA.to_polars(),
        orient="row",
    )
    try:
        at_once, timeouts = counted(rules, rows)
        in_parts, _ = counted(rules, rows, sizes)
        alone = {
            name: steps
            for rule in rules
            for name, steps in counted({rule: rules[rule]}, rows, sizes)[0].items()
        }
        compiled, _ = counted(rules, rows, sizes, "compiled")
    except MatchingError:
        reject()
    assert at_once == in_parts == alone == compiled
    for rule in rules:
        steps = at_once.get(rule, {}).values()
        assert sum(step.timed_out for step in steps) == timeouts[rule]
        assert all(step.reached <= step.events for step in steps)
