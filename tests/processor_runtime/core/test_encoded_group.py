"""Keys that go from bytes to bytes find, count and leave behind what keys that are objects do."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.executors.column_matcher import ColumnMatcher
from cep.executors.compiled.stored_keys import EncodedShapes
from cep.nfa.limits import Limits
from processor_runtime.rules.loading import RuleDefaults
from processor_runtime.stages import encoded_group, group_matcher
from processor_runtime.stages.shard_matcher import MatchSettings
from processor_runtime.state.group_header import read_header
from processor_runtime.state.keyed_state import StateUnder
from tests.letters import (
    Document,
    absence,
    event,
    job_of,
    letters,
    processor,
    sequence,
    version,
    with_step,
)
from tests.matching.compiled_machine import machines_of
from tests.matching.own_event_window import OVER_AT_ITS_OWN_EVENT
from tests.processor_runtime.core.pipeline import Event, Pipeline
from tests.processor_runtime.core.plain_rules import PATTERNS, SELECTS
from tests.processor_runtime.core.random_rules import rule_patterns, sorted_events
from tests.properties import slow_property

pytest.importorskip("numba")

KINDS = frozenset({"match", "timeout", "error"})
EVENTS = sorted_events("aabbc", 1_060, min_size=10)
RULES = st.lists(
    st.tuples(
        st.sampled_from([*PATTERNS, absence("a", "b", 7), sequence("ab", within_ms=9)])
        | rule_patterns(),
        st.sampled_from(SELECTS),
    ),
    min_size=1,
    max_size=4,
)
PAUSED = st.lists(st.booleans(), min_size=4, max_size=4)


@contextmanager
def ways(kind: str) -> Iterator[list[bool]]:
    """Let keys be `encoded`, `restored` before compiled code, or go through the interpreter.

    Yields which batches have gone without objects.
    """
    gone: list[bool] = []
    real = encoded_group.match_encoded

    def watched(*given: Any) -> Any:
        batch = real(*given)
        gone.append(batch is not None)
        return batch

    machines = machines_of("interpreted" if kind == "interpreted" else "compiled")
    with machines, pytest.MonkeyPatch.context() as patch:
        patch.setattr(group_matcher, "match_encoded", watched)
        if kind == "restored":
            patch.setattr(ColumnMatcher, "encoded", lambda *_: None)
        yield gone


def job_with(rules: Sequence[tuple[Any, ...]], paused: Sequence[bool], **more: Any) -> Pipeline:
    job = job_of(matching=MatchSettings(wanted=KINDS), **more)
    publish(job, rules, paused)
    return job


def publish(job: Pipeline, rules: Sequence[tuple[Any, ...]], paused: Sequence[bool]) -> None:
    published = []
    for number, ((pattern, select), is_paused) in enumerate(zip(rules, paused, strict=False)):
        rule = version(1, pattern, **({"select": select} if select else {}))
        published.append(processor(f"p{number}", rule, paused=is_paused))
    job.publish(*published)


def told(job: Pipeline, rows: Sequence[Any]) -> Any:
    """Return what a batch has brought, and what is kept; finds of one instant in any order."""
    statuses = {
        shard: (status.rules, status.row_kinds, status.partial_matches, status.keys)
        for shard, status in job.statuses.items()
    }
    states = [
        [
            (name, read_header(StateUnder(state, name.removesuffix("header"))))
            if name.endswith("header")
            else (name, data)
            for name, data in sorted(state.items())
        ]
        for state in job.states
    ]
    return sorted(map(str, rows)), statuses, states


def history(
    parts: Sequence[Sequence[Event]],
    rules: Sequence[tuple[Any, ...]],
    pauses: Sequence[Sequence[bool]],
    limits: Limits,
) -> list[Any]:
    job = job_with(rules, pauses[0], defaults=RuleDefaults(limits=limits))
    found = []
    for part, paused in zip(parts, pauses, strict=True):
        publish(job, rules, paused)
        found.append(told(job, job.batch(part)))
    found += [told(job, job.advance(advance_ms)) for advance_ms in (1_070, 1_200)]
    return found


@slow_property()
@given(
    EVENTS,
    RULES,
    st.lists(st.integers(0, 60), min_size=3, max_size=3).map(sorted),
    st.lists(PAUSED, min_size=4, max_size=4) | st.just([[False] * 4] * 4),
    st.builds(Limits, st.integers(2, 12), st.integers(4, 30)) | st.just(Limits()),
)
def test_however_keys_go_the_same_is_found_and_kept(
    given_events: Sequence[Event],
    rules: Sequence[tuple[Any, ...]],
    splits: Sequence[int],
    pauses: Sequence[Sequence[bool]],
    limits: Limits,
) -> None:
    parts = [given_events[begin:end] for begin, end in pairwise([0, *splits, 60])]
    with ways("interpreted"):
        expected = history(parts, rules, pauses, limits)
    for kind in ("restored", "encoded"):
        with ways(kind):
            assert history(parts, rules, pauses, limits) == expected


def test_a_window_that_is_over_at_its_own_event_closes_in_the_same_batch() -> None:
    texts = ["a1 a2 a3 b4", "b5", "a6 a7 a8 b9 b9 a9", "b12", "a13 a14 b15 a15 b15 b16"]
    parts = [
        [event(each[0], 1_000 + int(each[1:]), user=user) for each in text.split() for user in "uv"]
        for text in texts
    ]
    rules: list[tuple[Document, Document]] = [(OVER_AT_ITS_OWN_EVENT | {"flink_quirks": True}, {})]
    found = []
    for kind in ("interpreted", "restored", "encoded"):
        with ways(kind):
            found.append(history(parts, rules, [[False]] * len(parts), Limits()))
    assert found[0] == found[1] == found[2]
    assert any("timeout" in row for rows, *_ in found[0] for row in rows)


PLAIN: list[tuple[Document, dict[str, str]]] = [
    (sequence("ab", within_ms=20), {"price": "a.price"}),
    (absence("a", "c", 8), {}),
]


def test_keys_stay_bytes_batch_after_batch() -> None:
    with ways("encoded") as gone:
        job = job_with(PLAIN, [False] * 2)
        for place in range(5):
            job.batch(letters("abac", 1_000 + 10 * place))
        job.advance(1_200)
    assert all(gone)
    assert len(gone) >= 5
    assert len(job.rows_of("match")) == 9


def test_rules_that_come_and_go_leave_other_keys_as_bytes() -> None:
    with ways("encoded") as gone:
        job = job_with(PLAIN, [False] * 2)
        job.batch(letters("a", 1_000))
        job.batch(letters("c", 1_001))
        publish(job, [*PLAIN, (sequence("ac", within_ms=5), {})], [False] * 3)
        job.batch(letters("c", 1_004))  # the new one begins after it
        job.batch(letters("c", 1_005))
        publish(job, [PLAIN[0]], [False])
        job.batch(letters("c", 1_006, user="v"))
        job.batch(letters("c", 1_007, user="v"))
        job.batch(letters("b", 1_010))  # of a key that was written under another layout
        gone.clear()
        job.advance(1_012)
        assert all(gone)
    assert [row.processor_id for row in job.rows_of("match")] == ["p0"]


def test_where_compiled_code_gives_up_keys_go_another_way(monkeypatch: pytest.MonkeyPatch) -> None:
    with ways("encoded") as gone:
        job = job_with(PLAIN, [False] * 2)
        job.batch(letters("a", 1_000))
        monkeypatch.setattr(EncodedShapes, "process", lambda *_: None)
        gone.clear()
        job.batch(letters("ab", 1_001), until_ms=1_010)
        assert not any(gone)
    assert len(job.rows_of("match")) == 4


def test_a_window_whose_end_does_not_fit_is_left_to_the_interpreter() -> None:
    with ways("encoded"):
        job = job_with([(sequence("ab", within_ms=2**63 - 1), {})], [False])
        job.batch(letters("a", 1_000))
        job.batch(letters("cc", 1_001))
        job.batch(letters("b", 1_500), until_ms=1_600)
    assert len(job.rows_of("match")) == 1
    assert not job.rows_of("timeout")


def test_nothing_is_compiled_in_a_batch() -> None:
    from cep.nfa_kernel.entries import reading, summaries, writing  # noqa: PLC0415

    looks_back = with_step(PATTERNS[0], 1, where="name = 'b' AND price > a.price")
    with ways("encoded") as gone:
        job = job_with([*PLAIN, (looks_back, {})], [False] * 3)
        for place in range(4):
            job.batch(letters("abac", 1_000 + 10 * place))
        job.advance(1_200)
    assert all(gone)
    functions: list[Any] = [
        reading.parts_of,
        reading.states_of,
        reading.spans_of,
        writing.payloads_of,
        writing.entries_of,
        writing.list_of,
        summaries.summaries_of,
    ]
    known = [len(function.signatures) for function in functions]
    # Bytes come from elsewhere, read only, or are what compiled code has written.
    assert known == [1] * 6 + [2]
