"""What is done with matches: outputs, side outputs, timeouts."""

from collections.abc import Iterable
from typing import Any

import pytest

from cep.expression import ExpressionError
from cep.processor import Steps
from percept import (
    Match,
    Output,
    Pattern,
    PatternProcessFunction,
    ProcessContext,
    SelectExpressions,
    TimedOutMatch,
    TimedOutPartialMatchHandler,
    find_matches,
    flat_select,
    process,
    select,
)

MATCH: dict[str, list[Any]] = {
    "fail": [{"user": "u", "n": 1}, {"user": "u", "n": 4}],
    "login": [{"user": "u"}],
}


def outputs(function: PatternProcessFunction, *, timed_out: bool = False) -> list[Output]:
    found = TimedOutMatch(MATCH, 5, None) if timed_out else Match(MATCH, None, 5)
    return list(process(function, found, processing_time_ms=7))


class Alerts(PatternProcessFunction, TimedOutPartialMatchHandler):
    def process_match(self, match: Steps, context: ProcessContext) -> Iterable[Any]:
        context.output("log", f"at {context.event_time_ms}, seen {context.processing_time_ms}")
        for event in match["fail"]:
            yield event["n"]

    def process_timed_out_match(self, match: Steps, context: ProcessContext) -> None:
        context.output("late", len(match["fail"]))


def test_a_process_function_gives_outputs_and_side_outputs() -> None:
    assert outputs(Alerts()) == [Output(1), Output(4), Output("at 5, seen 7", "log")]


def test_timed_out_matches_go_to_side_outputs_of_who_handles_them() -> None:
    assert outputs(Alerts(), timed_out=True) == [Output(2, "late")]
    assert outputs(select(len), timed_out=True) == []  # it does not handle them


def test_select_gives_one_output_and_flat_select_any_number() -> None:
    assert outputs(select(lambda match: match["login"][0]["user"])) == [Output("u")]
    assert outputs(flat_select(lambda match: [e["n"] for e in match["fail"]])) == [
        Output(1),
        Output(4),
    ]


def test_select_with_a_timeout_function_tags_its_outputs() -> None:
    function = select(len, timeout_tag="late", on_timeout=lambda match, time_ms: time_ms)
    assert outputs(function, timed_out=True) == [Output(5, "late")]
    assert outputs(function) == [Output(2)]
    each = flat_select(
        lambda match: [], timeout_tag="late", on_timeout=lambda match, time_ms: [1, 2]
    )
    assert outputs(each, timed_out=True) == [Output(1, "late"), Output(2, "late")]


def test_a_timeout_tag_without_function_is_refused() -> None:
    with pytest.raises(ValueError, match="belong together"):
        select(len, timeout_tag="late")


def test_declarative_output_computes_named_expressions_over_the_match() -> None:
    columns = {
        "user": "login.user",
        "total": "SUM(fail.n)",
        "first": "FIRST(fail.n)",
        "last": "fail.n",
        "many": "COUNT(fail.*) > 1",
        "absent": "other.n",
    }
    three_steps = Pattern.begin("fail").followed_by("login").followed_by("other").optional()
    function = SelectExpressions(columns, three_steps)
    assert outputs(function) == [
        Output({"user": "u", "total": 5, "first": 1, "last": 4, "many": True, "absent": None})
    ]


def test_the_first_and_the_last_of_no_events_are_null() -> None:
    columns = {"first": "FIRST(other.n)", "last": "other.n", "many": "COUNT(other.*)"}
    pattern = Pattern.begin("fail").followed_by("other").optional()
    function = SelectExpressions(columns, pattern)
    assert function.row({**MATCH, "other": []}) == {"first": None, "last": None, "many": 0}
    assert function.row(MATCH) == {"first": None, "last": None, "many": 0}


def test_matches_found_can_be_processed() -> None:
    pattern = Pattern.begin("fail").where("n = 1")
    (match,) = find_matches(pattern, [{"ts": 3, "n": 1}]).matches
    function = SelectExpressions({"n": "fail.n"}, pattern)
    assert list(process(function, match, processing_time_ms=0)) == [Output({"n": 1})]


def test_a_function_for_timeouts_that_would_get_none_is_refused_where_it_is_written() -> None:
    methods = {"process_match": lambda *_: None, "process_timed_out_match": lambda *_: None}
    with pytest.raises(TypeError, match="Late has process_timed_out_match and is no Timed"):
        type("Late", (PatternProcessFunction,), methods)
    type("Late", (PatternProcessFunction, TimedOutPartialMatchHandler), methods)


class Returning(PatternProcessFunction):
    def __init__(self, value: Any) -> None:
        self.value = value

    def process_match(self, match: Steps, context: ProcessContext) -> Any:
        del match, context
        return self.value


@pytest.mark.parametrize(
    ("value", "kind"), [("ab", "str"), ({"a": 1}, "dict"), (b"x", "bytes"), (3, "int")]
)
def test_one_value_in_place_of_outputs_is_refused(value: Any, kind: str) -> None:
    refusal = f"returned one {kind} instead of its outputs; write `yield value`, or return a list"
    with pytest.raises(TypeError, match=f"process_match of Returning {refusal}"):
        outputs(Returning(value))
    with pytest.raises(TypeError, match=f"the function of flat_select {refusal}"):
        outputs(flat_select(lambda match: value))
    on_timeout = flat_select(
        lambda match: (), timeout_tag="t", on_timeout=lambda match, time_ms: value
    )
    with pytest.raises(TypeError, match=f"on_timeout of flat_select {refusal}"):
        outputs(on_timeout, timed_out=True)


@pytest.mark.parametrize("made", [select, flat_select])
def test_functions_of_other_arguments_are_refused_before_any_match(made: Any) -> None:
    def two(match: Steps, time_ms: int) -> list[int]:
        return [len(match), time_ms]

    with pytest.raises(TypeError, match=r"cannot be called with 1 argument: \(match\)"):
        made(two)
    with pytest.raises(TypeError, match=r"2 arguments: \(match, time_ms\)"):
        made(len, timeout_tag="late", on_timeout=len)
    assert made(len, timeout_tag="late", on_timeout=two)


@pytest.mark.parametrize("text", ["zz.user", "user", "n.x", "COUNT(zz.x)", "SUM(a.n"])
def test_outputs_name_steps_that_accept_events(text: str) -> None:
    pattern = Pattern.begin("a").not_followed_by("n").where("x = 9").followed_by("b")
    with pytest.raises(ExpressionError, match=r"there is no step|needs a step in front|\("):
        SelectExpressions({"u": text}, pattern)
