"""The exact program of small patterns: states, transitions, guards."""

from cep import Pattern
from cep.nfa import compile_pattern
from cep.nfa.program import (
    Action,
    Always,
    Both,
    Guard,
    IsTrue,
    Not,
    Program,
    State,
    StateKind,
)
from tests.nfa.letters import letter


def program_of(pattern: Pattern) -> Program:
    return compile_pattern(pattern.tree).program


def shown(state: State) -> list[str]:
    return [
        f"{transition.action.name.lower()} {transition.target} if {guard(transition.guard)}"
        for transition in state.transitions
    ]


def guard(node: Guard) -> str:
    match node:
        case Always():
            return "true"
        case IsTrue(condition):
            return f"c{condition}"
        case Not(inner):
            return f"not {guard(inner)}"
        case Both(left, right):
            return f"({guard(left)} and {guard(right)})"


def a_then_b() -> Pattern:
    return Pattern.begin("a").where(letter("a")).followed_by("b").where(letter("b"))


def test_followed_by_waits_only_through_events_its_own_condition_refuses() -> None:
    final, b, a = program_of(a_then_b()).states
    assert final.kind is StateKind.FINAL
    assert shown(b) == ["take 0 if c1", "ignore 1 if not c1"]
    assert shown(a) == ["take 1 if c0"]


def test_next_has_no_way_to_ignore() -> None:
    program = program_of(Pattern.begin("a").where(letter("a")).next("b").where(letter("b")))
    assert shown(program.states[1]) == ["take 0 if c1"]


def test_followed_by_any_may_ignore_every_event() -> None:
    pattern = Pattern.begin("a").where(letter("a")).followed_by_any("b").where(letter("b"))
    assert shown(program_of(pattern).states[1]) == ["take 0 if c1", "ignore 1 if true"]


def test_an_optional_step_loses_its_way_past_once_an_event_was_ignored() -> None:
    pattern = a_then_b().optional().followed_by("c").where(letter("c"))
    _, c, b, waiting, _ = program_of(pattern).states
    assert shown(c) == ["take 0 if c2", "ignore 1 if not c2"]
    assert shown(b) == ["take 1 if c1", "proceed 1 if true", "ignore 3 if not c1"]
    assert shown(waiting) == ["take 1 if c1", "ignore 3 if not c1"]


def test_a_loop_takes_itself_and_proceeds() -> None:
    pattern = Pattern.begin("a").where(letter("a")).one_or_more().next("b").where(letter("b"))
    _, _, loop, waiting, first = program_of(pattern).states
    assert shown(loop) == ["proceed 1 if true", "take 2 if c0", "ignore 3 if not c0"]
    assert shown(waiting) == ["take 2 if c0", "ignore 3 if not c0"]
    assert shown(first) == ["take 2 if c0"]


def test_greedy_forbids_what_follows_to_touch_its_events() -> None:
    pattern = Pattern.begin("a").where(letter("a")).one_or_more().greedy()
    b = program_of(pattern.followed_by("b").where(letter("b"))).states[1]
    assert shown(b) == ["take 0 if (c1 and not c0)", "ignore 1 if (not c1 and not c0)"]


def test_a_trailing_not_followed_by_waits_in_a_pending_state() -> None:
    pattern = Pattern.begin("a").where(letter("a")).not_followed_by("b").where(letter("b"))
    program = program_of(pattern.within(10))
    pending = program.states[1]
    assert pending.kind is StateKind.PENDING
    assert shown(pending) == ["proceed 2 if c1", "ignore 1 if not c1"]
    assert program.states[2].kind is StateKind.STOP
    assert program.window_ms == 10


def test_an_unbounded_group_closes_its_loop_through_a_state_without_events() -> None:
    group = Pattern.begin("a").where(letter("a")).followed_by("b").where(letter("b"))
    pattern = Pattern.begin(group).one_or_more().followed_by("c").where(letter("c"))
    states = program_of(pattern).states
    loops = [
        index
        for index, state in enumerate(states)
        if state.step < 0 and state.kind is StateKind.NORMAL
    ]
    assert [shown(states[index]) for index in loops] == [["proceed 4 if true"]]
    assert shown(states[4]) == ["take 3 if c0", "ignore 4 if not c0", "proceed 1 if true"]


def test_patterns_that_differ_in_names_and_conditions_only_share_a_program() -> None:
    other = Pattern.begin("x").where("price > 2").followed_by("y").where("price < 1")
    assert program_of(a_then_b()) == program_of(other)
    assert hash(program_of(a_then_b())) == hash(program_of(other))


def test_the_smallest_window_counts_for_the_whole_pattern() -> None:
    pattern = Pattern.begin("a").within(5).followed_by("b").within(20)
    assert program_of(pattern).window_ms == 5


def test_every_transition_that_takes_stands_in_a_state_with_a_step() -> None:
    for state in program_of(a_then_b().times(2, 4).followed_by("c")).states:
        takes = any(t.action is Action.TAKE for t in state.transitions)
        assert not takes or state.step >= 0
