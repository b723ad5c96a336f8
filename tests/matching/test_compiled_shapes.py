"""Compiled machines against those in Python: the same detections, and the same state behind them.

200 times as many examples: PERCEPT_EXAMPLE_FACTOR=200 pytest FILE
"""

import re
from collections.abc import Iterable, Sequence
from datetime import time
from typing import Any

import polars as pl
import pytest
from hypothesis import event, given, reject
from hypothesis import strategies as st

from cep.executors.choice import choices_of, interpreted_rules
from cep.executors.compiled import shape_events
from cep.keyed.key_state import encode_keys
from cep.keyed.shapes import Detection
from cep.matching.matcher_state import encode_matcher, restore_matcher
from cep.nfa.errors import MatchingError
from cep.nfa.limits import Limits
from cep.nfa_kernel import chains
from cep.nfa_kernel import walk as walking
from cep.nfa_kernel.arrays import Room, WrittenCounts
from cep.nfa_kernel.chains import event_chains
from cep.nfa_kernel.entries.compacting import compacted
from cep.nfa_kernel.event_filter import of_kinds
from cep.nfa_kernel.key_walk import walk_keys
from cep.pattern.tree import SkipStrategy
from percept import AfterMatchSkip, BatchMatcher, Pattern, PatternError, Schema
from tests.brute_force.strategies import event_lists, patterns
from tests.matching.compiled_machine import machines_of
from tests.matching.own_event_window import OVER_AT_ITS_OWN_EVENT

SCHEMA = Schema.from_ddl("ts BIGINT, user BIGINT, id BIGINT, name STRING, price DOUBLE")
NEXT_LETTER = str.maketrans("abc", "bca")


def frame(events: Sequence[dict[str, Any]], users: Sequence[int]) -> pl.DataFrame:
    rows = [
        (event["ts"], users[event["id"] % len(users)], event["id"], event["name"], event["price"])
        for event in events
    ]
    return pl.DataFrame(rows, schema=SCHEMA.to_polars(), orient="row")


def turned(document: Any) -> Any:
    """Return a pattern of the same shape that looks for other letters."""
    match document:
        case dict():
            return {key: turned(value) for key, value in document.items()}
        case list():
            return [turned(part) for part in document]
        case str():
            return re.sub("'[abc]'", lambda found: found[0].translate(NEXT_LETTER), document)
        case _:
            return document


def outcome(
    rules: dict[str, Pattern],
    rows: pl.DataFrame,
    sizes: Sequence[int],
    kind: str,
    limits: Limits | None = None,
) -> list[Any]:
    """Return what each part of the events brings, and the bytes of each key behind it."""
    found: list[Any] = []
    with machines_of(kind):
        schema = Schema.from_polars(rows.schema)
        matcher = BatchMatcher(rules, schema=schema, key_by=["user"], limits=limits)
        begin = 0
        for size in [*sizes, len(rows)]:
            try:
                part = matcher.process(rows[begin : begin + size])
            except MatchingError as error:
                return [*found, str(error)]
            begin += size
            shapes = matcher.matcher.shapes
            keys = {key for shape in shapes for key in shape.keys}
            found.append(list(map(told, part)))
            found.append(sorted(encode_keys(matcher.matcher, keys), key=str))
        found.append(sorted(map(told, matcher.advance_to(10_000)), key=str))
        counted = matcher.matcher.step_counts()
        found.append([sorted(map(str, steps.items())) for _, steps in sorted(counted.items())])
    return found


def told(one: Detection) -> tuple[Any, ...]:
    """Return a detection without what its cells know of aggregates."""
    return one.rule, one.key, one.time_ms, one.is_timeout, one.steps


@pytest.mark.long
@given(
    st.lists(patterns(), min_size=1, max_size=2),
    event_lists(max_size=30),
    st.lists(st.integers(0, 3), min_size=1, max_size=4),
    st.lists(st.integers(0, 12), max_size=3),
    st.sampled_from([0, 1_000_000]),
)
def test_random_patterns(
    documents: list[dict[str, Any]],
    events: list[dict[str, Any]],
    users: list[int],
    sizes: list[int],
    most_picked: int,
) -> None:
    rules = {}
    for number, document in enumerate(documents):
        for turn, variant in enumerate([document, turned(document)]):
            try:
                rules[f"{number}/{turn}"] = Pattern.from_document(variant, flink_quirks=True)
            except PatternError:
                reject()
    shapes = BatchMatcher(rules, schema=SCHEMA).matcher.shapes
    compilable = [shape for shape in shapes if not interpreted_rules(choices_of([shape]))]
    event(f"compiled: {len(compilable)} of {len(shapes)}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shape_events, "_MOST_PICKED", most_picked)  # others are filtered
        check_rules(rules, frame(events, users), sizes)


def check_rules(rules: dict[str, Pattern], rows: pl.DataFrame, sizes: Sequence[int]) -> None:
    compiled = outcome(rules, rows, sizes, "compiled")
    interpreted = outcome(rules, rows, sizes, "interpreted")
    # Windows of several keys that close at one time are told in any order.
    assert [in_order(part) for part in compiled] == [in_order(part) for part in interpreted]


def in_order(part: Any) -> Any:
    return sorted(part, key=str) if isinstance(part, list) else part


@pytest.mark.parametrize(
    "text", ["a1 a2 a3 b4", "a1 a2 a3 b4 a4 b4", "a1 a2 a3 b4 b4 a4 a5", "a1 a2 a3 b4 c4 b5 b9"]
)
def test_a_window_that_is_over_at_its_own_event_closes_once_time_has_moved_on(text: str) -> None:
    events = [
        {"ts": int(each[1:]), "id": number, "name": each[0], "price": 1.0}
        for number, each in enumerate(text.split())
    ]
    rules = {"r": Pattern.from_document(OVER_AT_ITS_OWN_EVENT, flink_quirks=True)}
    for users in ([0], [0, 0, 0, 0, 0, 1], [0, 1]):
        for sizes in ([], [4], [5], [6], [4, 1, 1]):
            check_rules(rules, frame(events, users), sizes)


def test_keys_wait_for_their_windows_though_another_rule_has_failed() -> None:
    def fails(event: tuple[Any, ...], _: Any) -> bool:
        return bool(1 / (event[0] - 40) > 2)

    waiting = Pattern.begin("a").where("name = 'a'").followed_by("b").where("name = 'b'").within(30)
    rules = {"waiting": waiting, "failing": Pattern.begin("a").where(fails)}
    with machines_of("compiled"):
        matcher = BatchMatcher(rules, schema=SCHEMA, key_by=["user"])
        with pytest.raises(MatchingError, match="division by zero"):
            matcher.process(letters("a" * 50))
        assert len(matcher.advance_to(10_000)) == 30  # the first 20 have timed out before


SKIPS = {
    "no skip": AfterMatchSkip.no_skip(),
    "to next": AfterMatchSkip.to_next(),
    "past last": AfterMatchSkip.past_last_event(),
    "to first": AfterMatchSkip.to_first("b"),
    "to last": AfterMatchSkip.to_last("b"),
    "to first or fail": AfterMatchSkip.to_first("b", throw_on_miss=True),
}


def letters(text: str) -> pl.DataFrame:
    rows = [(at, 0, at, letter, 1.0) for at, letter in enumerate(text)]
    return pl.DataFrame(rows, schema=SCHEMA.to_polars(), orient="row")


def loops(skip: SkipStrategy) -> Pattern:
    return (
        Pattern.begin("a")
        .where("name = 'a'")
        .one_or_more()
        .followed_by_any("b")
        .where("name = 'b'")
        .one_or_more()
        .optional()
        .followed_by("c")
        .where("name = 'c'")
        .within(40)
        .after_match(skip)
    )


@pytest.mark.long
@pytest.mark.parametrize("skip", SKIPS)
def test_every_skip_strategy_among_many_held_back_matches(skip: str) -> None:
    rows = letters("aabcbaacbbcacbaabcc" * 4)
    rules = {"r": loops(SKIPS[skip])}
    compiled = outcome(rules, rows, [7, 1, 30], "compiled")
    assert compiled == outcome(rules, rows, [7, 1, 30], "interpreted")


def test_more_than_a_key_may_hold_fails_alike() -> None:
    rules = {"r": Pattern.begin("a").where("name = 'a'").followed_by_any("b").where("name = 'b'")}
    limits = Limits(partial_matches=20)
    compiled = outcome(rules, letters("a" * 50), [15, 2], "compiled", limits)
    assert compiled == outcome(rules, letters("a" * 50), [15, 2], "interpreted", limits)
    assert "partial matches of one key" in compiled[-1]


@pytest.mark.long
@pytest.mark.parametrize(
    ("most_there", "most"), [(2**62, 8_000_000), (500, 8_000_000), (2**62, 200)]
)
def test_what_needs_more_room_gets_it_and_what_cannot_have_it_goes_to_python(
    monkeypatch: pytest.MonkeyPatch, most_there: int, most: int
) -> None:
    rows = letters("abcabbaacbc" * 12)
    rules = {"r": loops(SKIPS["no skip"])}
    wanted = outcome(rules, rows, [50], "interpreted")
    rooms: list[int] = []

    def watched(*given: Any) -> WrittenCounts:
        room: Room = given[-1]
        rooms.append(len(room.found))
        if rooms[-1] > most_there:
            raise MemoryError
        return walk_keys(*given)

    monkeypatch.setattr(walking, "walk_keys", watched)
    monkeypatch.setattr(walking, "_LEAST_ROOM", 0)
    monkeypatch.setattr(walking, "_MOST_NEW", most)
    assert outcome(rules, rows, [50], "compiled") == wanted
    assert len(set(rooms)) > 1


@pytest.mark.long
@pytest.mark.parametrize("most", [1, 7])
def test_finds_are_the_same_however_many_are_laid_out_at_once(
    monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    rows = letters("abcabbaacbc" * 12)
    rules = {name: loops(skip) for name, skip in SKIPS.items() if "fail" not in name}
    wanted = outcome(rules, rows, [50], "compiled")
    assert len(wanted[0]) > 100
    monkeypatch.setattr(chains, "_AT_ONCE", most)
    assert outcome(rules, rows, [50], "compiled") == wanted


@pytest.mark.long
@pytest.mark.parametrize("key_by", [["user"], ["user", "name"], None])
def test_nothing_is_compiled_in_a_batch(key_by: list[str] | None) -> None:
    """Arrays that lie in memory in another way, or are read only, would have it compiled again."""
    rows = letters("abcabbaac" * 20)
    in_chunks = pl.concat([rows[:50], rows[50:]], rechunk=False)
    looks_back = "price >= LAST(a.price) AND name <> 'a' AND COUNT(a.*) < 3 AND id > AVG(a.id)"
    looking_back = Pattern.begin("a").one_or_more().followed_by("b").where(looks_back)
    rules = {"r": loops(SKIPS["past last"]), "looking back": looking_back}
    with machines_of("compiled"):
        for frame in (rows, in_chunks, rows[3:], rows[:0], rows[:1]):
            matcher = BatchMatcher(rules, schema=SCHEMA, key_by=key_by)
            matcher.process(frame)
            matcher.process(frame.with_columns(pl.col("ts") + 1_000))
    functions: list[Any] = [walk_keys, event_chains, compacted, of_kinds]
    assert [len(function.signatures) for function in functions] == [1, 1, 1, 1]


def rules_of_one_shape(begins: Iterable[str]) -> dict[str, Pattern]:
    """Return rules that differ in the condition of their first event."""
    return {
        f"r{number:03}": Pattern.begin("a")
        .where(begin)
        .followed_by("b")
        .where("name = 'b'")
        .within(30)
        .after_match(SKIPS["past last"])
        for number, begin in enumerate(begins)
    }


@pytest.mark.parametrize("kind", ["compiled", "interpreted"])
def test_an_event_that_cannot_be_written_is_held_by_the_machine_in_python(kind: str) -> None:
    rows = letters("ab" * 40).with_columns(opens=pl.lit(time(9, 30)))
    rules = rules_of_one_shape(["name = 'a'"])
    with machines_of(kind):
        matcher = BatchMatcher(rules, schema=Schema.from_polars(rows.schema))
        found = [one for part in (rows[:41], rows[41:]) for one in matcher.process(part)]
    assert len(found) == 40
    assert all(event[-1] == time(9, 30) for one in found for event in one.steps["a"])


MANY_RULES = rules_of_one_shape(f"price > {number % 5}" for number in range(150))


def test_more_rules_than_an_integer_has_bits_run_in_several_machines() -> None:
    shapes = BatchMatcher(MANY_RULES, schema=SCHEMA).matcher.shapes
    assert [len(shape.members) for shape in shapes] == [62, 62, 26]
    assert not interpreted_rules(choices_of(shapes))
    rows = letters("ab" * 40)
    compiled = outcome(MANY_RULES, rows, [3], "compiled")
    assert compiled == outcome(MANY_RULES, rows, [3], "interpreted")


def test_without_compiled_code_one_machine_has_them_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cep.keyed.rules.is_available", lambda: False)
    (shape,) = BatchMatcher(MANY_RULES, schema=SCHEMA).matcher.shapes
    assert len(shape.members) == len(MANY_RULES)


def test_very_many_rules_are_together_in_one_machine() -> None:
    more = MANY_RULES | {f"more-{name}": pattern for name, pattern in MANY_RULES.items()}
    (shape,) = BatchMatcher(more, schema=SCHEMA).matcher.shapes
    assert interpreted_rules(choices_of([shape]))


def test_very_many_rules_that_begin_at_different_events_run_in_several_machines() -> None:
    narrow = rules_of_one_shape(f"name = 'a' AND price = {number}" for number in range(200))
    shapes = BatchMatcher(narrow, schema=SCHEMA).matcher.shapes
    assert [len(shape.members) for shape in shapes] == [62, 62, 62, 14]
    assert not interpreted_rules(choices_of(shapes))
    rows = letters("ab" * 40)
    found = outcome(narrow, rows, [3], "compiled")
    assert found == outcome(narrow, rows, [3], "interpreted")
    assert any(found)


@pytest.mark.parametrize("kind", ["compiled", "interpreted"])
@pytest.mark.parametrize("was_whole", [True, False])
def test_keys_go_on_where_rules_are_spread_otherwise(
    kind: str, monkeypatch: pytest.MonkeyPatch, *, was_whole: bool
) -> None:
    """Rules are added and removed, so that others come from two machines into one."""
    rows = letters("aabcabcba" * 9)
    before = {name: pattern for name, pattern in MANY_RULES.items() if not name.endswith("3")}
    after = {name: pattern for name, pattern in MANY_RULES.items() if not name.endswith("4")}
    in_both = before.keys() & after.keys()
    found: list[list[Any]] = []
    for is_moved in (True, False):
        monkeypatch.setattr("cep.keyed.rules.is_available", lambda: not was_whole)
        with machines_of(kind):
            one = BatchMatcher(before, schema=SCHEMA, key_by=["user"])
            one.process(rows[:40])
            monkeypatch.setattr("cep.keyed.rules.is_available", lambda: True)
            other = one
            if is_moved:
                other = BatchMatcher(after, schema=SCHEMA, key_by=["user"])
                restore_matcher(other.matcher, encode_matcher(one.matcher))
            parts = [other.process(rows[40:60]), other.process(rows[60:]), other.advance_to(10_000)]
        found.append(
            [
                sorted((e.rule, str(e.key), e.time_ms, e.is_timeout, str(e.steps)) for e in part)
                for part in ([e for e in part if e.rule in in_both] for part in parts)
            ]
        )
    assert found[0] == found[1]
    assert all(found[0])
