"""Finished matches: their queue, and what a match prunes."""

from hypothesis import given
from hypothesis import strategies as st

from cep.nfa.program import SkipPlan
from cep.nfa.runs import Cell, KeyRuns
from cep.nfa.skip import emit
from cep.pattern.tree import SkipKind

NO_SKIP = SkipPlan(SkipKind.NO_SKIP, None, throw_on_miss=False)
PAST_LAST = SkipPlan(SkipKind.SKIP_PAST_LAST_EVENT, None, throw_on_miss=False)


def cell(sequence: int, label: str = "") -> Cell:
    return (None, 0, sequence, label, None)


def test_ties_come_out_first_then_in_reverse() -> None:
    finished = [(1, 0, cell(9, label)) for label in "abcd"]
    assert [taken[3] for _, taken in emit(NO_SKIP, KeyRuns(), finished, [])] == list("adcb")


@given(st.lists(st.integers(0, 5)))
def test_earlier_starts_come_out_first(starts: list[int]) -> None:
    finished = [(1, start, cell(start)) for start in starts]
    assert [taken[2] for _, taken in emit(NO_SKIP, KeyRuns(), finished, [])] == sorted(starts)


def test_a_rule_without_an_earlier_partial_match_does_not_wait_for_another_rule() -> None:
    key = KeyRuns()
    key.runs = [(1, 0b01, 0, 0, 0, cell(0))]
    emitted = emit(PAST_LAST, key, [(0b11, 3, cell(4))], [])
    assert [rules for rules, _ in emitted] == [0b10]
    assert [rules for rules, _ in key.waiting] == [0b01]


def test_a_waiting_match_comes_out_once_the_earlier_partial_match_is_gone() -> None:
    key = KeyRuns()
    key.runs = [(1, 1, 0, 0, 0, cell(0))]
    assert emit(PAST_LAST, key, [(1, 3, cell(4))], []) == []
    key.runs = []
    assert [rules for rules, _ in emit(PAST_LAST, key, [], [])] == [1]
    assert key.is_idle


def test_a_match_prunes_only_partial_matches_of_its_own_rules() -> None:
    key = KeyRuns()
    key.runs = [(1, 0b11, 2, 0, 0, cell(2)), (1, 0b11, 9, 0, 0, cell(9))]
    emit(PAST_LAST, key, [(0b01, 1, cell(4))], [])
    assert [(run[1], run[2]) for run in key.runs] == [(0b10, 2), (0b11, 9)]
