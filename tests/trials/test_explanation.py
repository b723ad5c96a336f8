"""Why no match for a key and a span: each reason is told, matches are those of all history."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.events.order import EventTime
from cep.events.table import EventRows
from cep.expression import Schema
from cep.trials.explanation import explained
from cep.trials.key_history import (
    BadQuestion,
    BeyondReading,
    KeySpan,
    ReadingLimits,
    key_history,
)
from cep.trials.misfits import Unfit
from cep.trials.reports import SpanReport
from cep.trials.rule import Rule, WrittenRule, read_rule
from cep.trials.words import span_lines
from percept import Pattern, find_matches

MINUTE = 60_000
SCHEMA = "ts TIMESTAMP, id BIGINT, user STRING, action STRING, amount DOUBLE"
FAIL = {"name": "fail", "where": "action = 'fail'"}
LOGIN = {"name": "login", "contiguity": "followed_by", "where": "action = 'login'"}


def rule_of(
    pattern: dict[str, Any] | str, key_by: Sequence[str] = ("user",), order_by: Sequence[str] = ()
) -> Rule:
    if isinstance(pattern, str):
        definition: dict[str, Any] = {"pattern": {"match_recognize": pattern}}
    else:
        definition = {"pattern": pattern, "key_by": list(key_by)}
    return read_rule(WrittenRule(definition, SCHEMA, EventTime("ts", tuple(order_by))))


def rows(events: list[dict[str, Any]]) -> EventRows:
    return EventRows.of_json(events, Schema.from_ddl(SCHEMA))


def event(at_ms: int, action: str, user: str = "eve", **more: Any) -> dict[str, Any]:
    return {"ts": at_ms, "user": user, "action": action, **more}


def told(
    rule: Rule,
    events: list[dict[str, Any]],
    span: tuple[int, int] = (0, 60 * MINUTE),
    key: str = "eve",
    attempts: int = 3,
) -> SpanReport:
    asked = KeySpan(key, *span)
    return explained(rule, key_history(rule, [rows(events)], asked), asked, attempts)


def words(report: SpanReport) -> str:
    return "\n".join(line for line, _ in span_lines("a-rule", report))


def steps(*items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"steps": list(items), "within": "10 minutes", **more}


# --- the reasons


def test_a_match_is_told_with_its_events() -> None:
    report = told(rule_of(steps(FAIL, LOGIN)), [event(1, "fail"), event(2, "login")])
    assert (report.match_count, report.matches[0].steps) == (1, {"fail": [0], "login": [1]})
    assert "a-rule, key eve: 1 match" in words(report)
    assert "login  event 2  1970-01-01T00:00:00.002Z" in words(report)


def test_a_window_that_was_over_is_told_with_the_event_that_came_too_late() -> None:
    late = [event(1, "fail"), event(11 * MINUTE, "login")]
    report = told(rule_of(steps(FAIL, LOGIN)), late)
    (attempt,) = report.attempts
    assert (attempt.outcome, attempt.ended_at) == ("timed_out", 10 * MINUTE + 1)
    assert "until its window closed at 1970-01-01T00:10:00.001Z" in words(report)
    assert "too late for login: event 2  1970-01-01T00:11:00.000Z" in words(report)


def test_an_event_that_broke_a_strict_step_is_named() -> None:
    rule = rule_of(steps(FAIL, LOGIN | {"contiguity": "next"}))
    report = told(rule, [event(1, "fail"), event(2, "view"), event(3, "login")])
    assert (report.attempts[0].outcome, report.attempts[0].ended_by) == ("broken", 1)
    assert "event 2 came instead, and nothing may stand there" in words(report)


def test_a_condition_that_was_false_is_told_with_the_values_it_compared() -> None:
    high = {"name": "high", "contiguity": "followed_by", "where": "amount > 2 * SUM(fail.amount)"}
    rule = rule_of(steps(FAIL, high))
    report = told(rule, [event(1, "fail", amount=10.0), event(2, "x", amount=15.0)])
    assert "not high: event 2" in words(report)
    assert (
        "not so: amount > 2 * SUM(fail.amount), with amount = 15.0, SUM(fail.amount) = 10.0"
        in words(report)
    )


def test_an_absence_that_was_violated_is_told_with_the_event() -> None:
    reset = {"name": "reset", "contiguity": "not_followed_by", "where": "action = 'reset'"}
    rule = rule_of(steps(FAIL, reset, LOGIN))
    report = told(rule, [event(1, "fail"), event(2, "reset"), event(3, "login")])
    assert (report.attempts[0].outcome, report.attempts[0].ended_by) == ("forbidden", 1)
    assert "event 2 fits reset, which must not come" in words(report)
    at_the_end = told(rule_of(steps(FAIL, reset)), [event(1, "fail"), event(2, "reset")])
    assert "event 2 fits reset, which must not come" in words(at_the_end)
    assert "ended by event 2  1970-01-01T00:00:00.002Z" in words(at_the_end)


def test_an_attempt_that_a_match_dropped_is_told_as_such() -> None:
    rule = rule_of(
        steps(FAIL, LOGIN, after_match_skip={"strategy": "skip_past_last_event"}),
    )
    report = told(rule, [event(1, "fail"), event(2, "fail"), event(3, "login")])
    assert (report.match_count, report.attempts[0].outcome) == (1, "skipped")
    assert "a match dropped it at 1970-01-01T00:00:00.003Z, as after_match_skip says" in words(
        report
    )


def test_a_complete_match_that_was_held_back_and_dropped_is_told_as_such() -> None:
    """The second `a` is complete while the first one waits; the match of the first drops it."""
    long = {"name": "x", "contiguity": "followed_by", "where": "action = 'x'", "optional": True}
    end = {"name": "z", "contiguity": "followed_by", "where": "amount > LAST(fail.amount)"}
    skip = {"strategy": "skip_past_last_event"}
    rule = rule_of(steps(FAIL, long, end, after_match_skip=skip))
    events = [event(1, "fail", amount=5.0), event(2, "fail", amount=1.0)]
    events += [event(3, "z", amount=2.0), event(4, "z", amount=9.0)]
    report = told(rule, events)
    assert [match.steps for match in report.matches] == [{"fail": [0], "z": [3]}]
    (attempt,) = [each for each in report.attempts if not each.awaited]
    assert (attempt.outcome, attempt.steps, attempt.ended_by) == (
        "skipped",
        {"fail": [1], "z": [2]},
        3,
    )
    assert "it was complete and held back; another match dropped it at" in words(report)


def test_what_is_open_at_the_end_of_the_archive_is_told() -> None:
    report = told(rule_of(steps(FAIL, LOGIN)), [event(1, "fail")])
    assert report.attempts[0].outcome == "open"
    assert "is open at 1970-01-01T00:00:00.001Z, where the time looked at ends" in words(report)
    assert "the events end at 1970-01-01T00:00:00.001Z, before the span does" in words(report)


def test_where_nothing_began_the_nearest_event_is_told() -> None:
    report = told(rule_of(steps(FAIL, LOGIN)), [event(1, "view")])
    assert "nothing began: no event fits fail; the nearest:" in words(report)
    assert "not so: action = 'fail', with action = \"view\"" in words(report)


def test_a_key_without_events_is_told_as_such() -> None:
    report = told(rule_of(steps(FAIL, LOGIN)), [event(1, "fail", "bob")])
    assert (report.event_count, report.read) == (0, 1)
    assert "no event of this key" in words(report)


def test_attempts_come_farthest_first_and_the_rest_is_counted() -> None:
    rule = rule_of(steps(FAIL | {"times": 3}, LOGIN))
    events = [event(at, "fail") for at in (1, 2, 3)] + [event(20 * MINUTE, "x")]
    report = told(rule, events, attempts=2)
    counts = [attempt.counts for attempt in report.attempts]
    assert (counts, report.left_out) == ([{"fail": 3}, {"fail": 2}], 1)


def test_a_clause_is_told_by_its_variables() -> None:
    rule = rule_of(
        "MATCH_RECOGNIZE (PARTITION BY user ORDER BY ts PATTERN (f l) WITHIN INTERVAL '10' MINUTE "
        "DEFINE f AS action = 'fail', l AS action = 'login')"
    )
    report = told(rule, [event(1, "fail"), event(2, "view")])
    assert "event 2 came instead" in words(report)
    assert "not so: action = 'login', with action = \"view\"" in words(report)


# --- the span


def test_what_began_before_the_span_is_seen_and_what_was_over_is_not() -> None:
    rule = rule_of(steps(FAIL, LOGIN))
    events = [
        event(1, "fail"),
        event(2, "login"),
        event(28 * MINUTE, "fail"),
        event(31 * MINUTE, "login"),
        event(50 * MINUTE, "fail"),
    ]
    report = told(rule, events, (30 * MINUTE, 40 * MINUTE))
    assert (report.event_count, report.match_count, report.attempts) == (1, 1, [])
    assert report.begun_at == 28 * MINUTE


def test_what_comes_behind_the_span_decides_what_began_in_it() -> None:
    rule = rule_of(steps(FAIL, LOGIN))
    events = [event(39 * MINUTE, "fail"), event(45 * MINUTE, "login"), event(99 * MINUTE, "x")]
    assert told(rule, events, (30 * MINUTE, 40 * MINUTE)).match_count == 1
    late = [event(39 * MINUTE, "fail"), event(50 * MINUTE, "login")]
    (attempt,) = told(rule, late, (30 * MINUTE, 40 * MINUTE)).attempts
    assert attempt.outcome == "timed_out"


def test_a_key_that_never_pauses_is_told_from_its_newest_events_and_it_says_so() -> None:
    rule = rule_of(steps(FAIL, LOGIN, after_match_skip={"strategy": "skip_past_last_event"}))
    events = [event(at * MINUTE, "fail") for at in range(500)]
    report = told(rule, events, (450 * MINUTE, 460 * MINUTE))
    assert (report.is_exact, report.begun_at) == (False, 250 * MINUTE)
    assert "events of the key before 1970-01-01T04:10:00.000Z were not looked at" in words(report)
    assert told(rule, [*events[:400], *events[430:]], (450 * MINUTE, 460 * MINUTE)).is_exact


CONTIGUITIES = st.sampled_from(["next", "followed_by", "followed_by_any"])
FIRST = st.sampled_from([1, 1, 1, 2, {"from": 1, "to": None}, {"from": 1, "to": 3}]).map(
    lambda times: {"name": "a", "where": "action = 'a'", "times": times}
)
B = {"name": "b", "where": "action = 'b' AND amount >= LAST(a.amount)"}
MIDDLE = st.builds(
    lambda contiguity, more: B | {"contiguity": contiguity} | more,
    CONTIGUITIES,
    st.sampled_from([{}, {"optional": True}]),
) | st.sampled_from(["not_followed_by", "not_next"]).map(
    lambda contiguity: {"name": "n", "where": "action = 'c'", "contiguity": contiguity}
)
LAST = CONTIGUITIES.map(lambda each: {"name": "z", "where": "action = 'z'", "contiguity": each})
PATTERNS = st.builds(
    lambda first, middle, last, skip, within: (
        {"steps": [first, *middle, last], "after_match_skip": {"strategy": skip}} | within
    ),
    FIRST,
    st.lists(MIDDLE, max_size=1),
    LAST,
    st.sampled_from(["no_skip", "skip_to_next", "skip_past_last_event"]),
    st.just({}) | st.integers(2, 8).map(lambda minutes: {"within": f"{minutes} minutes"}),
)
CLAUSES = st.builds(
    "MATCH_RECOGNIZE (PARTITION BY user ORDER BY ts {} PATTERN ({}){} "
    "DEFINE a AS action = 'a', b AS action = 'b' AND amount >= PREV(amount), "
    "z AS action = 'z')".format,
    st.sampled_from(["AFTER MATCH SKIP PAST LAST ROW", "AFTER MATCH SKIP TO NEXT ROW"]),
    st.sampled_from(["a b* z", "a+ b{0,1} z", "a b? z | b z", "b a z?"]),
    st.sampled_from([" WITHIN INTERVAL '4' MINUTE", ""]),
)
EVENTS = st.lists(
    st.tuples(
        st.sampled_from([1, 0, 1, 1, 2, 12]),
        st.sampled_from("abzabzc"),
        st.integers(0, 1),
        st.sampled_from([True, True, True, False]),
    ),
    min_size=12,
    max_size=40,
)


@given(
    pattern=PATTERNS | CLAUSES,
    drawn=EVENTS,
    begin=st.integers(0, 40),
    length=st.integers(1, 40),
    parts=st.integers(1, 3),
)
def test_the_matches_are_those_of_all_history_in_the_span(
    pattern: dict[str, Any] | str,
    drawn: list[tuple[int, str, int, bool]],
    begin: int,
    length: int,
    parts: int,
) -> None:
    rule = rule_of(pattern)
    events, at_ms = [], 0
    for number, (gap, action, amount, is_eve) in enumerate(drawn):
        at_ms += gap * MINUTE
        who = "eve" if is_eve else "bob"
        events.append(event(at_ms, action, who, id=number, amount=float(amount)))
    span = begin * MINUTE, (begin + length) * MINUTE
    parts = parts if len({each["ts"] for each in events}) == len(events) else 1
    files = [events[part::parts] for part in range(parts)]
    asked = KeySpan("eve", *span)
    history = key_history(rule, map(rows, files), asked)
    assert history.is_exact
    report = explained(rule, history, asked, 3)
    expected = _of_all_history(rule.pattern, events, span)
    assert report.match_count == len(expected)
    ids = [
        {step: [history.events[place]["id"] for place in places] for step, places in each.items()}
        for each in (match.steps for match in report.matches)
    ]
    shortened = [
        {step: found[:3] + found[3:][-1:] for step, found in each.items()} for each in expected
    ]
    assert ids == shortened[:20]


def _of_all_history(
    pattern: Pattern, events: list[dict[str, Any]], span: tuple[int, int]
) -> list[dict[str, list[int]]]:
    is_endless = "within" not in f"{pattern.to_document()}".lower()
    if is_endless:  # what began in it may go on for ever; what comes behind it is not looked at
        events = [each for each in events if each["ts"] < span[1]]
    found = find_matches(pattern, events, key_by="user", warn=False).matches
    return [
        {step: [each["id"] for each in taken] for step, taken in match.steps.items()}
        for match in found
        if match.key == "eve"
        and min(each["ts"] for taken in match.steps.values() for each in taken) < span[1]
        and max(each["ts"] for taken in match.steps.values() for each in taken) >= span[0]
    ]


# --- what is refused


def test_too_many_events_are_refused() -> None:
    rule = rule_of(steps(FAIL, LOGIN))
    events = [event(at, "fail") for at in range(30)]
    asked = KeySpan("eve", 0, MINUTE)
    with pytest.raises(BeyondReading, match="more than 29 events in the time that bears on"):
        key_history(rule, [rows(events)], asked, ReadingLimits(read=29))
    with pytest.raises(BeyondReading, match="the key eve has more than 29 events"):
        key_history(rule, [rows(events)], asked, ReadingLimits(of_key=29))
    assert len(key_history(rule, [rows(events)], asked, ReadingLimits(30, 30)).events) == 30
    others = [event(at + 99 * MINUTE, "fail") for at in range(30)]
    assert key_history(rule, [rows(others)], asked, ReadingLimits(read=1)).read == 0


@pytest.mark.parametrize(
    ("key", "told_of"),
    [("[1", "like a JSON array and is none"), ('["a", "b"]', "the key of the rule is user")],
)
def test_a_key_that_is_none_is_refused(key: str, told_of: str) -> None:
    with pytest.raises(BadQuestion, match=told_of):
        key_history(rule_of(steps(FAIL)), [rows([])], KeySpan(key, 0, 1))


def test_an_empty_span_is_refused() -> None:
    with pytest.raises(BadQuestion, match="must come after its beginning"):
        KeySpan("eve", 1, 1)


def test_two_keys_that_are_written_alike_are_not_mixed() -> None:
    rule = rule_of(steps(FAIL, LOGIN), ["user", "action"])
    events = [event(1, "c", "a, b"), event(2, "b, c", "a")]
    with pytest.raises(BadQuestion, match="write the values of one as a JSON array"):
        key_history(rule, [rows(events)], KeySpan("a, b, c", 0, 9))
    found = key_history(rule, [rows(events)], KeySpan('["a", "b, c"]', 0, 9))
    assert [each["user"] for each in found.events] == ["a"]


def test_events_without_a_time_are_counted() -> None:
    rule = rule_of(steps(FAIL, LOGIN))
    events = [event(1, "fail"), {"user": "eve"}, event(1, "x") | {"ts": "soon"}]
    report = told(rule, events)
    assert (report.event_count, report.unusable) == (1, 2)
    assert words(report).startswith("2 events could not be read: ts: is missing; every event needs")


def test_what_is_told_of_long_events_is_bounded() -> None:
    loop = FAIL | {"times": {"from": 1, "to": None}}
    events = [event(at, "fail", note="x" * 50_000) for at in range(60)]
    report = told(rule_of(steps(loop, LOGIN)), events, attempts=50)
    assert report.attempts[0].counts == {"fail": 60}
    assert len(report.model_dump_json()) < 300_000
    assert "… 58 more in between" in words(report)


def test_columns_order_events_of_one_millisecond() -> None:
    events = [event(1, "login", amount=2.0), event(1, "fail", amount=1.0)]
    asked = KeySpan("eve", 0, 9)
    for order_by, count in (((), 0), (("amount",), 1)):
        rule = rule_of(steps(FAIL, LOGIN), order_by=order_by)
        history = key_history(rule, [rows(events)], asked)
        assert explained(rule, history, asked, 3).match_count == count


# --- conditions in Python


def with_code(pattern: Pattern) -> Rule:
    """Return a rule as a worker has it once the code of its pattern has been loaded."""
    return replace(rule_of(steps(FAIL, LOGIN)), pattern=pattern)


def small(event: Any, _context: Any) -> bool:
    return bool(event["amount"] < 2)


OFTEN = "COUNT(*) OVER (PARTITION BY user LAST INTERVAL '1' HOUR) >= 4"


def test_windows_count_what_came_long_before_the_span_and_their_values_are_told() -> None:
    login = LOGIN | {"where": f"action = 'login' AND {OFTEN}"}
    rule = rule_of(steps(FAIL, login))
    events = [event(at * MINUTE, action) for at, action in ((1, "x"), (45, "fail"), (46, "login"))]
    report = told(rule, events, (40 * MINUTE, 60 * MINUTE))
    (attempt,) = report.attempts
    (part,) = attempt.nearest[0].unmet
    assert (part.text, list(part.values.values())) == (OFTEN, [3])
    before = event(2 * MINUTE, "x")
    assert told(rule, [before, *events], (40 * MINUTE, 60 * MINUTE)).match_count == 1


def first(event: Any, context: Any) -> bool:
    assert set(event) == {"ts", "id", "user", "action", "amount"}
    event.clear()  # it is a copy
    return not context.events("login") and context.time_ms > 0


def test_of_choices_of_which_some_are_in_python_one_is_enough() -> None:
    login = Pattern.begin("fail").where("action = 'fail'").followed_by("login")
    rule = with_code(login.where("action = 'login'").or_where(small).within("10 minutes"))
    report = told(rule, [event(1, "fail"), event(2, "other", amount=3.0)])
    assert report.conditions["login"] == "(action = 'login') OR (small (Python))"
    (attempt,) = report.attempts
    assert [part.text for part in attempt.nearest[0].unmet] == [report.conditions["login"]]
    for found in (event(2, "login", amount=3.0), event(2, "other", amount=1.0)):
        assert told(rule, [event(1, "fail"), found]).match_count == 1


def test_code_is_given_all_columns_and_what_was_taken() -> None:
    pattern = Pattern.begin("fail").where("action = 'fail'").followed_by("login").where(first)
    rule = with_code(pattern.times(2).within("10 minutes"))
    report = told(rule, [event(at, "fail") for at in (1, 2, 3)])
    assert (report.match_count, report.fits) == (0, {"fail": 3, "login": 3})
    (attempt, *_) = report.attempts
    assert attempt.counts == {"fail": 1, "login": 1}
    (nearest,) = attempt.nearest
    assert [part.text for part in nearest.unmet] == ["first (Python)"]


def test_code_that_raises_is_named_with_its_event() -> None:
    rule = with_code(Pattern.begin("fail").where(small).within("10 minutes"))
    with pytest.raises(Unfit) as unfit:
        told(rule, [event(1, "fail")])
    (misfit,) = unfit.value.misfits
    assert "event 1" in misfit.detail
    assert "small" in misfit.detail
