"""Rules compiled for a timeline: what is taken over from the one before, and what is kept."""

from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.nfa.limits import Limits
from contract.snapshot import Snapshot, SnapshotProcessor, StreamDefinition
from processor_runtime.rules import loading
from processor_runtime.rules.compiled_group import group_id
from processor_runtime.rules.loading import RuleDefaults
from processor_runtime.rules.rule_set import RuleSet, compile_rules
from processor_runtime.schedule.timeline import Timeline, resolve
from tests.letters import absence, contents, event, processor, sequence, stream, version
from tests.processor_runtime.core.pipeline import Options, Pipeline

STREAM = stream()
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def timeline_of(*published: SnapshotProcessor, previous: Timeline | None = None) -> Timeline:
    """Publish these processors, after some events where there was a timeline before."""
    snapshot = Snapshot(format=1, epoch=1, stream=STREAM, processors=list(published))
    if previous is None:
        return resolve(Timeline(), snapshot, None)
    return resolve(previous, snapshot, 1_000, 900)


def compiled(*published: SnapshotProcessor) -> RuleSet:
    return compile_rules(timeline_of(*published), STREAM, RuleDefaults())


# What is taken over

BY_USER = processor("by user", version(1, sequence("ab")))
BY_PRICE = processor("by price", version(1, sequence("ab"), key_by=["price"]))
BY_NOTHING = processor("by nothing", version(1, sequence("ab"), key_by=None))
OTHER_BY_USER = processor("other by user", version(1, sequence("bc", within_ms=5)))
EVERYTHING = [BY_NOTHING, BY_PRICE, BY_USER, OTHER_BY_USER]


def updated(
    *published: SnapshotProcessor, defaults: RuleDefaults | None = None
) -> tuple[RuleSet, RuleSet]:
    """Return the rules of EVERYTHING, and those of an update."""
    before = timeline_of(*EVERYTHING)
    first = compile_rules(before, STREAM, RuleDefaults())
    timeline = timeline_of(*published, previous=before)
    return first, compile_rules(timeline, STREAM, defaults or RuleDefaults(), [first])


def kept(before: RuleSet, after: RuleSet) -> list[tuple[str, ...]]:
    """The keys of the groups that are the same objects."""
    return [
        next(iter(group.compiled.rules.values())).key_by
        for name, group in after.groups.items()
        if group is before.groups.get(name)
    ]


def test_a_group_in_which_nothing_has_changed_is_kept() -> None:
    replaced = processor("by user", *BY_USER.versions, version(2, sequence("ac")))
    before, after = updated(BY_NOTHING, BY_PRICE, replaced, OTHER_BY_USER)
    assert kept(before, after) == [(), ("price",)]
    assert len(after.groups) == 3


def test_a_group_that_gains_or_loses_a_rule_is_compiled_from_loaded_rules() -> None:
    added = processor("third by user", version(1, sequence("cd")))
    before, after = updated(*EVERYTHING, added)
    assert kept(before, after) == [(), ("price",)]
    assert len(after.rules_by_digest) == len(before.rules_by_digest) + 1
    assert all(after.rules_by_digest[key] is rule for key, rule in before.rules_by_digest.items())


def test_a_group_in_which_a_rule_only_ends_is_not_compiled_again() -> None:
    before, after = updated(BY_NOTHING, BY_PRICE, OTHER_BY_USER)
    (name,) = {name for name in after.groups if after.groups[name] is not before.groups[name]}
    old, new = before.groups[name], after.groups[name]
    assert new.compiled is old.compiled
    assert (len(old.phases), len(new.phases)) == (1, 2)
    assert [len(new.phases[number].starting) for number in range(2)] == [2, 1]


def test_a_group_is_not_kept_for_a_time_before_its_own() -> None:
    timeline = timeline_of(*EVERYTHING)
    later = compile_rules(replace(timeline, processed_ms=900), STREAM, RuleDefaults())
    earlier = compile_rules(timeline, STREAM, RuleDefaults(), [later])
    assert kept(later, earlier) == []
    assert all(
        group.compiled is later.groups[name].compiled for name, group in earlier.groups.items()
    )


def test_nothing_is_taken_over_from_rules_of_other_columns_or_limits() -> None:
    timeline = timeline_of(*EVERYTHING)
    first = compile_rules(timeline, STREAM, RuleDefaults())
    columns = STREAM.model_dump(by_alias=True) | {"schema": f"{STREAM.ddl}, more STRING"}
    wider = compile_rules(
        timeline, StreamDefinition.model_validate(columns), RuleDefaults(), [first]
    )
    limited = compile_rules(timeline, STREAM, RuleDefaults(limits=Limits(7, 7)), [wider, first])
    for rules in (wider, limited):
        assert rules.groups.keys() == first.groups.keys()
        assert all(
            group.compiled is not first.groups[name].compiled
            for name, group in rules.groups.items()
        )
    (shape,) = limited.groups[group_id(())].compiled.matcher.shapes
    assert shape.machine.limits == Limits(7, 7)
    again = compile_rules(timeline, STREAM, RuleDefaults(), [limited, wider, first])
    assert kept(first, again) == [(), ("price",), ("user",)]


PATTERNS = [
    sequence("ab"),
    sequence("ab", within_ms=6),
    absence("a", "b", 7),
    sequence("ba", within_ms=9, after_match_skip={"strategy": "skip_past_last_event"}),
]
KEYS: list[Any] = [["user"], ["price"], None]


@st.composite
def publications(draw: st.DrawFn) -> list[SnapshotProcessor]:
    """Return processors of one newest version each, some of them paused."""
    published = []
    for name in sorted(draw(st.sets(st.sampled_from("pqrs")))):
        number = draw(st.integers(1, 3))
        versions = [
            version(
                each,
                PATTERNS[(each + ord(name)) % len(PATTERNS)],
                key_by=KEYS[ord(name) % len(KEYS)],
                on_update="drain" if each % 2 else "drop",
            )
            for each in range(1, number + 1)
        ]
        paused = draw(st.sampled_from([False, False, True]))
        published.append(processor(name, *versions[-1:], paused=paused))
    return published


batches = st.lists(
    st.tuples(
        st.none() | publications(),
        st.lists(
            st.tuples(
                st.sampled_from("abx"),
                st.sampled_from([0, 1, 1, 2, 3]),
                st.sampled_from("uv"),
                st.integers(0, 1),
            ),
            max_size=6,
        ),
    ),
    min_size=2,
    max_size=6,
)


@given(batches)
def test_updates_find_the_same_whatever_was_taken_over(
    steps: list[tuple[list[SnapshotProcessor] | None, list[tuple[str, int, str, int]]]],
) -> None:
    jobs = [Pipeline(STREAM, Options(takes_over=takes_over)) for takes_over in (True, False)]
    time_ms = 1_000
    for published, names in steps:
        events = []
        for name, after_ms, user, price in names:
            time_ms += after_ms
            events.append(event(name, time_ms, user=user, price=price))
        for job in jobs:
            if published is not None:
                job.publish(*published)
            job.batch(events)
    for job in jobs:
        job.advance(time_ms + 100)
    taking_over, compiling = jobs
    assert contents(taking_over.rows) == contents(compiling.rows)
    assert taking_over.timeline == compiling.timeline


# What is kept


def test_what_a_group_keeps_of_very_many_kinds_of_events_is_bounded() -> None:
    tests = 12
    rules = [processor(name, version(1, sequence(name + "z"))) for name in LETTERS[: tests - 1]]
    (group,) = compiled(*rules).groups.values()
    assert len(group.compiled.matcher.tests) == tests
    for count in range(tests + 1):
        for true_tests in combinations(range(tests), count):
            kind = group.kind(0, true_tests)
            # The last letter goes on with what any of the rules has begun.
            concerned = {rule.partition("@")[0] for rule in kind.rules} if kind else set()
            assert len(concerned) == (tests - 1 if 1 in true_tests else count)
    assert group._kinds.clears > 0
    assert group._kinds.size <= group._kinds.capacity


def test_parsed_patterns_are_kept_up_to_a_length_of_text(monkeypatch: pytest.MonkeyPatch) -> None:
    patterns = loading._patterns
    monkeypatch.setattr(patterns, "capacity", 2_000)
    patterns.clear()
    rules = [processor(name, version(1, sequence(name + name.upper()))) for name in LETTERS]
    assert len(compiled(*rules).groups) == 1
    assert patterns.clears > 0
    assert 0 < patterns.size <= 2_000
    assert patterns.size == sum(len(document) for document, _ in patterns)
