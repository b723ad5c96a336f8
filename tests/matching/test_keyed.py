"""Many rules on many keys: which may begin and go on, who is stopped, and keys kept apart."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.keyed.key_state import KeyRestorer, encode_keys, layout
from cep.keyed.shapes import Detection, RuleFailure
from cep.nfa.errors import ConditionFailed, LimitExceeded, SkipTargetMissing, StateEncodingError
from cep.nfa.limits import Limits
from percept import AfterMatchSkip, KeyedMatcher, Pattern
from tests.nfa.keyed_run import KeyedRun
from tests.nfa.letters import Event, events, letter, spelled


def pair(first: str, last: str) -> Pattern:
    return Pattern.begin("s").where(letter(first)).followed_by("t").where(letter(last))


class Run(KeyedRun):
    """A matcher fed with letters, one event a millisecond; `found` is `rule: letters`."""

    def __init__(self, rules: Mapping[str, Pattern], **options: Any) -> None:
        super().__init__(rules, **options)
        self.found: list[str] = []

    def feed(
        self,
        letters: str,
        *,
        begin: int = 0,
        key: object = "k",
        starting: list[str] | None = None,
        going_on: list[str] | None = None,
    ) -> None:
        select = self.matcher.select
        chosen = [None if names is None else select(names) for names in (starting, going_on)]
        for event in events(" " * begin + letters)[begin:]:
            self.note(self.fed(event, key, event["ts"], chosen))

    def note(self, detections: list[Detection]) -> None:
        self.found += [
            f"{one.rule}: {spelled(one.steps)}" + (" timeout" if one.is_timeout else "")
            for one in detections
        ]

    @property
    def keys(self) -> set[object]:
        return {key for shape in self.matcher.shapes for key in shape.keys}


# Which rules may begin, which may go on

AB_AC = {"ab": pair("a", "b"), "ac": pair("a", "c")}


def test_rules_that_may_go_on_only_finish_what_they_have_begun() -> None:
    run = Run(AB_AC)
    run.feed("a")
    run.feed("abc", begin=1, starting=["ac"], going_on=["ab", "ac"])
    assert run.found == ["ab: a0 b2", "ac: a0 c3", "ac: a1 c3"]


def test_an_event_concerns_no_rule_that_may_neither_begin_nor_go_on() -> None:
    matcher = Run(AB_AC).matcher
    everything, nothing, only = (matcher.select(names) for names in (["ab", "ac"], [], ["ab"]))
    letter_a, letter_b, letter_c = (0,), (1,), (2,)
    assert matcher.kind(letter_a, nothing, everything) == ()
    assert matcher.kind(letter_b, everything, nothing) == ()
    assert matcher.kind(letter_c, only, only) == ()
    assert matcher.kind(letter_c, nothing, everything) != ()
    ((shape, transitions),) = matcher.kind(letter_a, only, everything)
    assert shape.rules_of(transitions.concerned) == ["ab"]


def test_kept_rules_keep_their_partial_matches_and_others_lose_them() -> None:
    run = Run(AB_AC | {"window": pair("a", "b").within(50)})
    run.feed("a")
    run.feed("a", key="l")
    run.matcher.keep_only(run.matcher.select(["ac"]))
    assert run.matcher.open_partial_matches() == 2
    run.feed("bc", begin=1)
    run.note(run.matcher.advance_to(100))
    assert run.found == ["ac: a0 c2"]


def test_what_only_a_given_up_rule_held_back_is_given_up_too() -> None:
    # The match that began second waits for the loop of the first to end.
    looping = pair("a", "b").one_or_more().until(letter("z"))
    blocked = looping.after_match(AfterMatchSkip.to_first("s"))
    run = Run({"blocked": blocked, "other": pair("a", "c")})
    run.feed("aab")
    assert run.found == ["blocked: a0 b2"]
    assert run.matcher.held_back_matches() == 1
    run.matcher.keep_only(run.matcher.select(["other"]))
    assert run.matcher.held_back_matches() == 0
    run.feed("zc", begin=3)
    assert run.found[1:] == ["other: a0 c4", "other: a1 c4"]


def test_a_stopped_rule_begins_nothing_and_loses_what_it_had() -> None:
    run = Run(AB_AC)
    run.feed("a")
    run.matcher.stop(["ab"])
    run.feed("abc", begin=1)
    assert run.found == ["ac: a0 c3", "ac: a1 c3"]


def test_a_stopped_rule_that_is_alone_leaves_no_key() -> None:
    run = Run({"ab": pair("a", "b").within(5)})
    run.feed("a")
    run.matcher.stop(["ab"])
    run.feed("aaa", begin=1)
    assert run.keys == set()


def test_a_cleared_matcher_is_as_new() -> None:
    run = Run(AB_AC)
    run.feed("aaa")
    run.matcher.stop(["ab"])
    run.matcher.clear()
    assert run.matcher.time_ms is None
    run.feed("bab")
    assert run.found == ["ab: a1 b2"]


# Failures


def raising_on(name: str) -> Callable[[Event, Any], bool]:
    def condition(event: Event, context: Any) -> bool:
        del context
        if event["name"] == name:
            raise ArithmeticError(name)
        return bool(event["name"] == "b")

    return condition


def failing_run(rules: Mapping[str, Pattern], **options: Any) -> tuple[Run, list[RuleFailure]]:
    failures: list[RuleFailure] = []
    return Run(rules, on_failure=failures.append, **options), failures


def raising(name: str) -> Pattern:
    return Pattern.begin("s").where(letter("a")).followed_by("t").where(raising_on(name))


def test_a_rule_that_raises_stops_and_the_event_is_matched_for_the_others() -> None:
    run, failures = failing_run(AB_AC | {"x": raising("c"), "y": raising("z")})
    run.feed("a", key="l")
    run.feed("acb")
    assert run.found == ["ac: a0 c1", "ab: a0 b2", "y: a0 b2"]
    (failure,) = failures
    assert (failure.rule, failure.key, failure.event["name"]) == ("x", "k", "c")
    assert isinstance(failure.error, ConditionFailed)
    assert isinstance(failure.error.cause, ArithmeticError)
    run.feed("b", begin=3, key="l")
    assert sorted(run.found[3:]) == ["ab: a0 b3", "y: a0 b3"]


def test_all_rules_that_raise_on_one_event_stop() -> None:
    run, failures = failing_run({"x": raising("c"), "y": raising("c"), "z": raising("d")})
    run.feed("acb")
    assert sorted(failure.rule for failure in failures) == ["x", "y"]
    assert run.found == ["z: a0 b2"]


def test_an_event_that_is_matched_again_is_counted_once() -> None:
    run, failures = failing_run({"x": raising("c"), "y": raising("z")})
    run.feed("accb")
    assert len(failures) == 1
    steps = run.matcher.step_counts()["y"]
    assert (steps["s"].events, steps["t"].events, steps["t"].last_event_ms) == (1, 1, 3)


def test_without_a_listener_the_error_is_raised() -> None:
    with pytest.raises(ConditionFailed, match="ArithmeticError: c"):
        Run({"x": raising("c")}).feed("ac")


def test_limits_are_those_of_each_rule() -> None:
    rules = {"few": pair("a", "b"), "many": pair("a", "c"), "default": pair("a", "d")}
    limits = {"few": Limits(partial_matches=2), "many": Limits(partial_matches=5)}
    run, failures = failing_run(rules, limits=limits)
    run.feed("aabaaabcd")
    # After its match at 2, `few` begins anew and passes its limit at 5.
    assert [(failure.rule, failure.event["id"]) for failure in failures] == [("few", 5)]
    assert isinstance(failures[0].error, LimitExceeded)
    assert (failures[0].error.given, failures[0].error.limit) == (3, 2)
    by_rule = [found.partition(":")[0] for found in run.found]
    assert by_rule == ["few"] * 2 + ["many"] * 5 + ["default"] * 5


def test_of_rules_that_share_limits_only_the_one_beyond_them_stops() -> None:
    rules = {"tight": pair("a", "b"), "loose": pair("c", "b")}
    run, failures = failing_run(rules, limits=Limits(partial_matches=2))
    run.feed("ccaaab")
    assert [failure.rule for failure in failures] == ["tight"]
    assert run.found == ["loose: c0 b5", "loose: c1 b5"]


def test_a_limit_on_events_names_the_rule_that_keeps_them() -> None:
    def loop(name: str) -> Pattern:
        step = Pattern.begin("s").where(letter(name)).one_or_more().consecutive()
        return step.followed_by("t").where(letter("z"))

    run, failures = failing_run(
        {"a": loop("a"), "b": loop("b")}, limits=Limits(partial_matches=10_000, events=20)
    )
    run.feed("b" * 5 + "a" * 30)
    assert [failure.rule for failure in failures] == ["a"]
    assert isinstance(failures[0].error, LimitExceeded)
    assert failures[0].error.what == "events kept for one key"
    assert run.matcher.open_partial_matches() > 0


def throwing(last: str) -> Pattern:
    return pair("a", last).after_match(AfterMatchSkip.to_first("s", throw_on_miss=True))


def test_a_rule_that_cannot_skip_stops_alone() -> None:
    run, failures = failing_run({"x": throwing("b"), "y": throwing("c"), "ab": pair("a", "b")})
    run.feed("abx")
    assert [failure.rule for failure in failures] == ["x"]
    assert isinstance(failures[0].error, SkipTargetMissing)
    assert run.found == ["ab: a0 b1"]
    assert run.matcher.open_partial_matches() == 1


def test_a_rule_that_fails_when_a_window_closes_stops_and_others_close() -> None:
    def absence(last: str, *, throws: bool) -> Pattern:
        steps = Pattern.begin("s").where(letter("a")).not_followed_by("n").where(letter(last))
        return steps.within(3).after_match(AfterMatchSkip.to_first("s", throw_on_miss=throws))

    run, failures = failing_run({"x": absence("b", throws=True), "y": absence("c", throws=False)})
    run.feed("a")
    run.feed("a", key="l")
    run.note(run.matcher.advance_to(100))
    assert [(failure.rule, failure.event) for failure in failures] == [("x", None)]
    assert run.found == ["y: a0", "y: a0"]
    assert run.keys == set()


# Keys kept apart

RULES = {
    "ab": pair("a", "b"),
    "ac": pair("a", "c"),
    "window": pair("a", "b").within(6),
    "absence": Pattern.begin("s").where(letter("a"))
    .not_followed_by("n").where(letter("b")).within(4),
    "held back": pair("a", "b").one_or_more().until(letter("c"))
    .after_match(AfterMatchSkip.to_next()),
    "aggregate": Pattern.begin("s").where(letter("a")).one_or_more().until(letter("b"))
    .followed_by("t").where("price > SUM(s.price)"),
}  # fmt: skip


def moved(
    run: Run,
    rules: Mapping[str, Pattern],
    **options: Any,
) -> Run:
    """Write every key of a matcher on its own, and read them into one of these rules."""
    target = Run(rules, **options)
    target.found = run.found
    target.matcher.time_ms = run.matcher.time_ms
    restorer = KeyRestorer(target.matcher, layout(run.matcher))
    for key, encoded in encode_keys(run.matcher, run.keys):
        restorer.restore(key, encoded.data)
    return target


@given(
    st.lists(st.tuples(st.sampled_from("abcx"), st.sampled_from("kl")), max_size=14),
    st.sets(st.integers(0, 14)),
)
def test_keys_written_apart_go_on_as_they_were(
    letters: list[tuple[str, str]], moves: set[int]
) -> None:
    steady, shaken = Run(RULES), Run(RULES)
    for place, (name, key) in enumerate(letters):
        if place in moves:
            # In another order of rules, so that every key is translated.
            shaken = moved(shaken, dict(reversed(RULES.items())) if place % 2 else RULES)
        steady.feed(name, begin=place, key=key)
        shaken.feed(name, begin=place, key=key)
    for run in (steady, shaken):
        run.note(run.matcher.advance_to(100))
    assert sorted(shaken.found) == sorted(steady.found)
    assert shaken.keys == steady.keys


def test_a_key_tells_when_its_next_window_closes() -> None:
    run = Run(
        {"long": pair("a", "b").within(9), "short": pair("x", "b").within(3), "no": pair("a", "c")}
    )
    run.feed("a", key="k")
    run.feed("x", begin=1, key="k")
    run.feed("c", begin=2, key="l")
    encoded = dict(encode_keys(run.matcher, {"k", "l"}))
    assert set(encoded) == {"k"}
    assert encoded["k"].deadline_ms == 4


def test_many_keys_are_written_as_each_is() -> None:
    run = Run({"ab": pair("a", "b"), "cd": pair("c", "d"), "loop": RULES["aggregate"]})
    for place in range(20):
        run.feed("abc"[place % 3], begin=place, key=place)
    run.feed("c", begin=20, key=0)
    for asked in (set(range(-1, 30)), {0}, {0, 2, 99}, set[int]()):
        each: dict[Any, Any] = {}
        for key in asked:
            each |= dict(encode_keys(run.matcher, {key}))
        together = dict(encode_keys(run.matcher, asked))
        assert together == each
    assert together == {}


def test_rules_that_are_gone_or_changed_lose_their_part_of_a_key() -> None:
    run = Run({"kept": pair("a", "b"), "gone": pair("a", "c"), "changed": pair("a", "b")})
    run.feed("a")
    run = moved(run, {"new": pair("a", "b"), "changed": pair("a", "d"), "kept": pair("a", "b")})
    run.feed("bcd", begin=1)
    assert run.found == ["kept: a0 b1"]


def test_a_key_that_only_gone_rules_held_is_not_kept() -> None:
    run = Run({"gone": pair("a", "c")})
    run.feed("a")
    assert moved(run, {"kept": pair("a", "b")}).keys == set()


def test_rules_that_get_limits_of_their_own_keep_their_partial_matches() -> None:
    run = Run(AB_AC)
    run.feed("a")
    run = moved(run, AB_AC, limits={"ac": Limits(partial_matches=7)})
    assert len(run.matcher.shapes) == 2
    run.feed("bc", begin=1)
    assert run.found == ["ab: a0 b1", "ac: a0 c2"]


def test_the_events_a_key_keeps_are_counted_after_it_is_read() -> None:
    loop = Pattern.begin("s").where(letter("a")).one_or_more().followed_by("t").where(letter("b"))
    limits = Limits(partial_matches=10_000, events=20)
    run, failures = failing_run({"loop": loop}, limits=limits)
    for place in range(40):
        run.feed("a", begin=place)
        run = moved(run, {"loop": loop}, limits=limits, on_failure=failures.append)
    assert failures[0].rule == "loop"
    assert isinstance(failures[0].error, LimitExceeded)
    assert failures[0].error.what == "events kept for one key"


def test_a_key_that_is_corrupt_is_refused() -> None:
    matcher = Run(AB_AC).matcher
    restorer = KeyRestorer(matcher, layout(matcher))
    for data in (b"\xc1", b"\x91\x01", b"\x91\x92\x09\x90"):
        with pytest.raises(StateEncodingError):
            restorer.restore("k", data)


def test_rules_that_are_kept_apart_share_no_machine() -> None:
    pattern = Pattern.begin("a").where("x = 1").followed_by("b").where("x = 2")
    rules = {"one": pattern, "two": pattern, "three": pattern}
    together = KeyedMatcher(rules, kept_apart={"one": "written", "two": "written"})
    assert [[member.rule for member in shape.members] for shape in together.shapes] == [
        ["one", "two"],
        ["three"],
    ]


# What is kept grows with the keys that wait, not with those that have passed


def test_keys_that_have_become_idle_leave_nothing_behind() -> None:
    window_ms = 1_000_000
    matched_at_once = pair("a", "b").within(window_ms)
    matcher = Run({"ab": matched_at_once.after_match(AfterMatchSkip.past_last_event())}).matcher
    begin, end = matcher.kind((0,)), matcher.kind((1,))
    for time_ms in range(0, 5_000, 2):
        matcher.process("k", begin, {}, time_ms)
        (found,) = matcher.process("k", end, {}, time_ms + 1)
        assert found.time_ms == time_ms + 1
    assert matcher.open_partial_matches() == 0
    assert len(matcher._deadlines) < 200


def test_windows_still_close_on_the_keys_that_wait_once_others_have_become_idle() -> None:
    window_ms = 1_000_000
    rule = pair("a", "b").within(window_ms).after_match(AfterMatchSkip.past_last_event())
    matcher = Run({"ab": rule}).matcher
    begin, end = matcher.kind((0,)), matcher.kind((1,))
    for time_ms in range(1_000):
        matcher.process(time_ms, begin, {}, time_ms)
        if time_ms % 10:
            matcher.process(time_ms, end, {}, time_ms)
    assert len(matcher._deadlines) < 400
    waiting = range(0, 1_000, 10)
    timeouts = matcher.advance_to(2 * window_ms)
    assert [(one.key, one.time_ms) for one in timeouts] == [
        (time_ms, time_ms + window_ms) for time_ms in waiting
    ]
    assert len(matcher._deadlines) == 0


def test_deadlines_that_nearer_ones_have_overtaken_leave_nothing_behind() -> None:
    rule = (
        pair("a", "b")
        .within(1_000_000, "previous_and_current")
        .followed_by("u")
        .where(letter("c"))
        .within(10, "previous_and_current")
    )
    matcher = Run({"abc": rule}).matcher
    a, b = matcher.kind((0,)), matcher.kind((1,))
    timed_out = 0
    for time_ms in range(0, 50_000, 20):
        timed_out += len(matcher.advance_to(time_ms))
        matcher.process("k", a, {}, time_ms)
        matcher.process("k", b, {}, time_ms + 1)
    assert timed_out == 2_499
    assert len(matcher._deadlines) < 200
