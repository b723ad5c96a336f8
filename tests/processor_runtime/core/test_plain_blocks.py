"""Finds that go out in columns give the rows, counts and state that they give one by one."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.keyed import found_columns
from cep.keyed.found_columns import FoundBlock
from percept import Pattern, SelectExpressions
from processor_runtime.output import arrow_texts, plain_blocks
from processor_runtime.output.plain_blocks import PlainBlocks
from processor_runtime.output.plain_rules import PlainRules
from processor_runtime.output.row_columns import ARROW_SCHEMA, RowColumns, RowLines
from processor_runtime.rows.row_limits import RowLimits
from processor_runtime.rules.loading import RuleDefaults
from processor_runtime.stages.shard_matcher import MatchSettings
from tests.letters import Document, event, job_of, letters, processor, sequence, version, with_step
from tests.matching.compiled_machine import machines_of
from tests.processor_runtime.core.pipeline import Event
from tests.processor_runtime.core.plain_rules import MORE, PATTERNS, SELECTS
from tests.processor_runtime.core.random_rules import rule_patterns, sorted_events
from tests.properties import slow_property

Rules = Sequence[tuple[Any, ...]]
TWICE: Document = {"steps": [{"group": sequence("ab"), "times": 2}], "within_ms": 30}
LIMITS = st.builds(
    RowLimits, st.integers(1, 20), st.integers(1, 40), st.integers(1, 60), st.integers(50, 2_000)
)
EVENTS = sorted_events("aabbc", 1_040, min_size=20)
PLAIN_RULES: st.SearchStrategy[tuple[Any, ...]] = st.tuples(
    st.sampled_from([*PATTERNS, TWICE]),
    st.sampled_from([*SELECTS, SELECTS[-1], SELECTS[-1]]),
    st.just({}),
)
RULES = st.lists(PLAIN_RULES, min_size=1, max_size=6) | st.lists(
    st.tuples(
        st.sampled_from(PATTERNS) | rule_patterns(),
        st.sampled_from(SELECTS),
        st.sampled_from([{}, {}, {}, *MORE]),
    ),
    min_size=1,
    max_size=4,
)
KINDS = st.sampled_from([{"match"}, {"match"}, {"match", "error"}, {"match", "timeout"}])


@contextmanager
def blocks_of(finds: int) -> Iterator[list[bool]]:
    """Let blocks have about so many finds, 0 = none; yields what becomes of each."""
    taken: list[bool] = []
    emit = PlainBlocks.emit

    def watched(blocks: PlainBlocks, block: FoundBlock) -> Iterator[RowColumns | RowLines] | None:
        rows = emit(blocks, block) if finds else None
        taken.append(rows is not None)
        return rows

    with machines_of("compiled"), pytest.MonkeyPatch.context() as patch:
        patch.setattr(PlainBlocks, "emit", watched)
        patch.setattr(plain_blocks, "FEWEST_FINDS", 0)
        patch.setattr(found_columns, "_IN_BLOCK", finds or 4_096)
        yield taken


def told(
    given_events: Sequence[Event], rules: Rules, row_limits: RowLimits, wanted: set[str], at: int
) -> Any:
    """Return rows, counts and state of some batches."""
    published = (
        processor(
            f"p'{number}", version(1, pattern, **more, **({"select": select} if select else {}))
        )
        for number, (pattern, select, more) in enumerate(rules)
    )
    job = job_of(
        *published,
        defaults=RuleDefaults(row_limits=row_limits),
        matching=MatchSettings(wanted=frozenset(wanted)),
    )
    found = []
    for part in (given_events[:at], given_events[at:], [event("c", 2_000)], []):
        rows = job.batch(part)
        statuses = {
            shard: (status.rules, status.row_kinds) for shard, status in job.statuses.items()
        }
        found.append((rows, statuses, [dict(state) for state in job.states]))
    return found


def matches(rules: Rules, given_events: Sequence[Event] | None = None, at: int = 31) -> Any:
    """Return what `told` says of matches alone, by default of many."""
    return told(MANY if given_events is None else given_events, rules, RowLimits(), {"match"}, at)


JOBS = st.tuples(EVENTS, RULES, LIMITS | st.just(RowLimits()), KINDS, st.integers(0, 40))


@slow_property()
@given(JOBS, st.sampled_from([1, 3, 4_096]))
def test_blocks_give_what_finds_give_one_by_one(job: tuple[Any, ...], finds_per_block: int) -> None:
    with blocks_of(0):
        one_by_one = told(*job)
    with blocks_of(finds_per_block):
        assert told(*job) == one_by_one


MANY = [
    event(name, 1_000 + place // 2, user=user, price=place % 4)
    for place, name in enumerate("abcab" * 12)
    for user in ("u", "v'\"\\é")
]


@pytest.mark.parametrize("pattern", [*PATTERNS, TWICE])
@pytest.mark.parametrize("select", [SELECTS[0], SELECTS[-1]])
def test_plain_matches_go_out_in_blocks(pattern: Document, select: dict[str, str]) -> None:
    rules: Rules = [(pattern, select, {}), (PATTERNS[0], {}, {})]
    with blocks_of(20) as taken:
        found = matches(rules)
    # Of the one that fails for some matches, blocks with them do not.
    assert any(taken)
    assert all(taken) or "sum" in select
    with blocks_of(0):
        assert matches(rules) == found
    names_known_steps = not select or pattern is not PATTERNS[4]  # else the rule is refused
    ids = {"p'0", "p'1"} if names_known_steps else {"p'1"}
    assert {row.processor_id for rows, *_ in found for row in rows} == ids


def test_a_block_that_is_too_large_goes_out_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    rules: Rules = [(PATTERNS[0], SELECTS[-1], {})]
    with blocks_of(0):
        one_by_one = matches(rules)
    monkeypatch.setattr(found_columns, "_AT_ONCE", 2)
    monkeypatch.setattr(arrow_texts, "MOST_BYTES", 2_000)
    with blocks_of(4_096) as taken:
        assert matches(rules) == one_by_one
    assert not all(taken)
    assert any(taken)


def test_equal_matches_are_numbered_across_blocks() -> None:
    events = [event(name, 1_000) for name in "aaabbb"]
    rules: Rules = [(with_step(PATTERNS[0], 1, contiguity="followed_by_any"), {}, {})]
    with blocks_of(1) as taken:
        found = matches(rules, events, 6)
    assert taken == [True] * 3
    rows = [row for rows, *_ in found for row in rows]
    assert len({row.match_id for row in rows}) == 9
    assert len({row._replace(match_id=None) for row in rows}) == 1
    with blocks_of(0):
        assert matches(rules, events, 6) == found


def test_rules_of_one_shape_with_other_names_find_by_turns() -> None:
    events = letters("aaabab", 1_000)
    other = {"steps": [step | {"name": f"{step['name']}2"} for step in PATTERNS[0]["steps"]]}
    rules: Rules = [
        (pattern, {}, {}) for pattern in (PATTERNS[0], PATTERNS[0] | other, PATTERNS[1])
    ]
    with blocks_of(4_096) as taken:
        found = matches(rules, events, 6)
    assert any(taken)
    ids = [(row.end_ms, row.start_ms, row.processor_id) for rows, *_ in found for row in rows]
    assert [each for each in ids if each[2] != "p'2"][:4] == [
        (1_003, 1_000, "p'0"),
        (1_003, 1_000, "p'1"),
        (1_003, 1_001, "p'0"),
        (1_003, 1_001, "p'1"),
    ]
    with blocks_of(0):
        assert matches(rules, events, 6) == found


def test_what_is_too_large_goes_out_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    rules: Rules = [(PATTERNS[0], SELECTS[1], {})]
    with blocks_of(20) as taken:
        found = matches(rules)
        assert any(taken)
        taken.clear()
        monkeypatch.setattr(arrow_texts, "MOST_BYTES", 100)
        assert matches(rules) == found
        assert not any(taken)


def test_until_code_for_rows_is_compiled_matches_go_out_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rules: Rules = [(PATTERNS[0], SELECTS[1], {})]
    with blocks_of(20) as taken:
        found = matches(rules)
        assert any(taken)
        taken.clear()
        monkeypatch.setattr(plain_blocks, "is_ready", lambda _package: False)
        assert matches(rules) == found
        assert taken
        assert not any(taken)


def test_chunks_of_columns_stay_small(monkeypatch: pytest.MonkeyPatch) -> None:
    rules: list[tuple[Any, ...]] = [(PATTERNS[0], {}, {})]
    with blocks_of(4_096):
        found = matches(rules)
        sizes: list[int] = []
        init = RowColumns.__init__

        def watched(rows: RowColumns, batch: Any) -> None:
            sizes.append(batch.num_rows)
            assert batch.schema == ARROW_SCHEMA
            init(rows, batch)

        monkeypatch.setattr(RowColumns, "__init__", watched)
        monkeypatch.setattr("processor_runtime.output.row_plan.ROWS_PER_CHUNK", 7)
        assert matches(rules) == found
        assert max(sizes) == 7
        monkeypatch.setattr("processor_runtime.output.row_plan.CHARACTERS_PER_CHUNK", 400)
        sizes.clear()
        assert matches(rules) == found
        assert max(sizes) == 4


def test_parts_of_a_batch_have_keys_of_their_own() -> None:
    """A version that begins within a batch divides it, and each part numbers its keys anew."""

    def found() -> list[tuple[Any, ...]]:
        versions = version(1, PATTERNS[0]), version(2, PATTERNS[0], from_ms=1_020)
        matching = MatchSettings(wanted=frozenset({"match"}))
        job = job_of(processor("p", *versions), shards=1, matching=matching)
        users = {1_000: "uvw", 1_020: "xwu"}
        events = [
            event(name, begin_ms + at, user=user)
            for begin_ms, of_part in users.items()
            for at, name in enumerate("ab")
            for user in of_part
        ]
        rows = job.batch([*events, event("c", 2_000)])
        return [(row.version, row.key, row.start_ms, row.end_ms, row.match_id) for row in rows]

    with blocks_of(4_096) as taken:
        in_blocks = found()
    assert taken == [True, True]
    assert [(number, key) for number, key, *_ in in_blocks] == [
        *((1, f'["{user}"]') for user in "uvw"),
        *((2, f'["{user}"]') for user in "xwu"),
    ]
    with blocks_of(0):
        assert found() == in_blocks


def test_selects_are_shared_only_if_they_give_the_same() -> None:
    pattern = Pattern.begin("a").followed_by("b")
    written = [SelectExpressions(columns, pattern).written for columns in SELECTS[1:]]
    assert written[0] == written[1]
    assert len(set(written)) == len(written) - 1


def test_a_select_that_an_older_version_has_pickled_is_shared_with_none() -> None:
    pattern = Pattern.begin("a").followed_by("b")
    rules = PlainRules(*([None] * 5))  # type: ignore[arg-type] # only its selects are looked at
    for columns in SELECTS[1:3]:
        older = SelectExpressions(columns, pattern)
        del older.written
        assert rules.shared(older) is older
    first, second = (SelectExpressions(columns, pattern) for columns in SELECTS[1:3])
    assert rules.shared(first) is first
    assert rules.shared(second) is first
