"""Rules compiled for a timeline: what is kept in between is bounded."""

from itertools import combinations

import pytest

from contract.snapshot import Snapshot, SnapshotProcessor
from processor_runtime.rules import loading
from processor_runtime.rules.loading import RuleDefaults
from processor_runtime.rules.rule_set import RuleSet, compile_rules
from processor_runtime.schedule.timeline import Timeline, resolve
from tests.processor_runtime.core.published import processor, sequence, stream, version

STREAM = stream()
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def timeline_of(*published: SnapshotProcessor) -> Timeline:
    snapshot = Snapshot(format=1, epoch=1, stream=STREAM, processors=list(published))
    return resolve(Timeline(), snapshot, None)


def compiled(*published: SnapshotProcessor) -> RuleSet:
    return compile_rules(timeline_of(*published), STREAM, RuleDefaults())


def test_what_a_group_keeps_of_very_many_kinds_of_events_is_bounded() -> None:
    tests = 12
    rules = [processor(name, version(1, sequence(name + "z"))) for name in LETTERS[: tests - 1]]
    (group,) = compiled(*rules).groups.values()
    assert len(group.matcher.tests) == tests
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
