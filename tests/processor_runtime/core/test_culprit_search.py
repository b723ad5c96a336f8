"""Who makes workers die: told by the dead, or found out by trials of the batch with part of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from processor_runtime.driver.culprit_search import Culprit, CulpritSearch, NobodyToBlame
from processor_runtime.schedule.timeline import VersionKey
from processor_runtime.watch.note import Death, RuleCode

RULES: tuple[VersionKey, ...] = tuple((f"r{number}", 1, f"d{number}") for number in range(5))
UNKNOWN = Death()


def death_of(version: VersionKey, reason: str | None = None) -> Death:
    return Death(RuleCode(*version, "the condition f"), reason)


def test_a_worker_that_was_ended_because_of_code_names_it_at_once() -> None:
    search = CulpritSearch()
    found = search.died(3, death_of(RULES[1], "it did not return"), RULES)
    assert found == Culprit(RULES[1], "the condition f: it did not return")


def test_a_worker_that_was_killed_with_code_at_work_may_have_been_killed_from_outside() -> None:
    search = CulpritSearch()
    assert search.died(3, death_of(RULES[1]), RULES) is None
    assert search.left_out is None
    assert search.died(3, death_of(RULES[2]), RULES) is None
    found = search.died(3, death_of(RULES[1]), RULES)
    assert found is not None
    assert found.version == RULES[1]


def test_deaths_in_another_batch_do_not_count() -> None:
    search = CulpritSearch()
    assert search.died(3, death_of(RULES[1]), RULES) is None
    assert search.died(4, death_of(RULES[1]), RULES) is None


def test_a_version_that_is_not_there_is_not_to_blame() -> None:
    search = CulpritSearch()
    gone = ("gone", 1, "d")
    assert search.died(3, death_of(gone, "it did not return"), RULES) is None
    assert search.died(3, death_of(gone, "it did not return"), RULES) is None
    assert search.left_out == frozenset(RULES)


def test_without_code_nobody_is_to_blame() -> None:
    search = CulpritSearch()
    assert search.died(3, UNKNOWN, ()) is None
    with pytest.raises(NobodyToBlame):
        search.died(3, UNKNOWN, ())


def test_a_worker_that_begins_late_is_nobodys_doing() -> None:
    search = CulpritSearch()
    for batch_id in (3, 4):
        for _ in range(4):
            search.began_late(batch_id)
            assert search.left_out is None
    with pytest.raises(NobodyToBlame):
        search.began_late(4)


def test_what_dies_without_any_code_is_nobodys_doing() -> None:
    search = CulpritSearch()
    assert search.died(3, UNKNOWN, RULES) is None
    assert search.died(3, UNKNOWN, RULES) is None
    assert search.left_out == frozenset(RULES)
    with pytest.raises(NobodyToBlame):
        search.died(3, UNKNOWN, RULES)


def test_what_dies_only_now_and_then_is_nobodys_doing() -> None:
    search = CulpritSearch()
    for _ in range(2):
        assert search.died(3, UNKNOWN, RULES[:1]) is None
    search.passed()
    assert search.left_out == frozenset()
    with pytest.raises(NobodyToBlame):
        search.passed()


@given(st.integers(1, 40).flatmap(lambda n: st.tuples(st.just(n), st.sets(st.integers(0, n - 1)))))
def test_trials_find_one_after_the_other_and_never_an_innocent(drawn: tuple[int, set[int]]) -> None:
    count, chosen = drawn
    rules = [(f"r{number}", 1, "d") for number in range(count)]
    guilty = {rules[number] for number in chosen}
    search = CulpritSearch()
    tries = 0
    while guilty & (set(rules) - (search.left_out or set())) or search.left_out is not None:
        tries += 1
        if not guilty & (set(rules) - (search.left_out or set())):
            search.passed()
        elif found := search.died(3, UNKNOWN, rules):
            assert found.version in guilty
            guilty.remove(found.version)
            rules.remove(found.version)
    assert guilty == set()
    assert tries <= len(chosen) * (2 + 2 + count.bit_length())
