"""The builder: a new pattern with every call, and refusals at once."""

import operator
from collections.abc import Callable
from datetime import timedelta
from functools import cache, wraps
from typing import Any

import pytest

from cep.expression import Expression
from cep.pattern import AfterMatchSkip, Pattern, PatternError
from cep.pattern.tree import (
    AllOf,
    AnyOf,
    PythonCondition,
    Step,
    Subtype,
    Window,
    WithinType,
)


class Payment:
    """An event type."""


def is_big(event: object, context: object) -> bool:
    return bool(event) and bool(context)


def last(pattern: Pattern) -> Step:
    element = pattern.tree.elements[-1]
    assert isinstance(element, Step)
    return element


def where_text(pattern: Pattern) -> str:
    return str(last(pattern).where)


def test_a_call_returns_a_new_pattern_and_leaves_the_old_one() -> None:
    begun = Pattern.begin("a")
    assert begun.one_or_more() != begun
    assert begun == Pattern.begin("a")
    assert hash(begun) == hash(Pattern.begin("a"))


def test_repeated_where_means_and_while_or_where_means_or() -> None:
    begun = Pattern.begin("a").where("x = 1")
    assert where_text(begun.where("y = 2")) == "(x = 1) AND (y = 2)"
    assert where_text(begun.or_where("y = 2")) == "(x = 1) OR (y = 2)"
    assert where_text(Pattern.begin("a").or_where("y = 2")) == "y = 2"


def test_callables_are_kept_beside_expressions() -> None:
    sql, code = Pattern.begin("a").where("x = 1"), PythonCondition(is_big)
    expression = Expression.parse("x = 1")
    assert last(sql.where(is_big)).where == AllOf((expression, code))
    assert last(sql.where(is_big).where(is_big)).where == AllOf((expression, code, code))
    assert last(sql.or_where(is_big).or_where(is_big)).where == AnyOf((expression, code, code))
    assert last(sql.or_where(is_big).where(is_big)).where == AllOf(
        (AnyOf((expression, code)), code)
    )


def test_a_subtype_is_the_value_of_a_field_or_a_class() -> None:
    assert last(Pattern.begin("a").subtype("Pay")).subtype == Subtype("Pay", "type")
    assert last(Pattern.begin("a").subtype("Pay", field="kind")).subtype == Subtype("Pay", "kind")
    subtype = last(Pattern.begin("a").subtype(Payment)).subtype
    assert subtype == Subtype("Payment", python_type=Payment)


def test_windows_of_both_types_stand_side_by_side_and_the_last_of_one_type_counts() -> None:
    pattern = (
        Pattern.begin("a")
        .next("b")
        .within(5, "previous_and_current")
        .within("1 hour")
        .within(timedelta(seconds=1))
    )
    assert last(pattern).within == (Window(1000), Window(5, WithinType.PREVIOUS_AND_CURRENT))


REFUSED_AT_ONCE: dict[str, tuple[Callable[[], Pattern], str]] = {
    "two quantifiers": (lambda: begun().times(2).one_or_more(), "steps[0].times"),
    "optional twice": (lambda: begun().optional().optional(), "steps[0].optional"),
    "both inner contiguities": (
        lambda: begun().times(2).consecutive().allow_combinations(),
        "steps[0].inner",
    ),
    "two untils": (lambda: begun().one_or_more().until("x = 1").until("x = 2"), "steps[0].until"),
    "two subtypes": (lambda: begun().subtype("b").subtype("c"), "steps[0].subtype"),
    "where on a group": (lambda: begun().next(begun()).where("x = 1"), "steps[1].where"),
    "subtype on a group": (lambda: begun().next(begun()).subtype("x"), "steps[1].subtype"),
    "a where that is not SQL": (lambda: begun().where("x = = 1"), "steps[0].where"),
    "an until that is not SQL": (lambda: begun().one_or_more().until("x ="), "steps[0].until"),
    "no duration": (lambda: begun().within("ten"), "steps[0].within"),
    "an unknown type of window": (lambda: begun().within(5, "last"), "steps[0].within_type"),
    "a negative window": (lambda: begun().times(2, within="-1 s"), "steps[0].times_within"),
    "a group with a skip strategy": (
        lambda: begun().next(begun().after_match(AfterMatchSkip.to_next())),
        "steps[1].group",
    ),
}


def begun() -> Pattern:
    return Pattern.begin("a")


@pytest.mark.parametrize("case", REFUSED_AT_ONCE)
def test_what_cannot_be_said_is_refused_at_once_with_its_path(case: str) -> None:
    build, path = REFUSED_AT_ONCE[case]
    with pytest.raises(PatternError) as refusal:
        build()
    assert [problem.path for problem in refusal.value.problems] == [path]


def test_an_argument_of_another_type_is_a_type_error() -> None:
    wrong: Any = 3.5
    for call in (Pattern.begin, begun().where, begun().times, begun().after_match):
        with pytest.raises(TypeError):
            call(wrong)


def test_a_pattern_with_python_code_cannot_become_a_document() -> None:
    pattern = Pattern.begin("a").where(is_big).next("b").subtype(Payment)
    with pytest.raises(PatternError) as refusal:
        pattern.to_document()
    assert [problem.path for problem in refusal.value.problems] == [
        "steps[0].where",
        "steps[1].subtype",
    ]
    assert "Python" in str(refusal.value)


def test_validate_tells_every_problem_at_once() -> None:
    pattern = (
        Pattern.begin("a:b", skip=AfterMatchSkip.to_first("c"))
        .one_or_more(within="1 s")
        .next("a:b")
    )
    with pytest.raises(PatternError) as refusal:
        pattern.validate()
    text = str(refusal.value)
    assert text.startswith(f"The pattern has {len(refusal.value.problems)} problems:\n  1. steps[")
    assert {problem.path for problem in refusal.value.problems} == {
        "steps[0].name",
        "steps[0].times_within",
        "steps[1].name",
        "after_match_skip.step",
    }


def test_a_callable_that_does_not_take_event_and_context_is_refused() -> None:
    wrong: list[Any] = [lambda event: event, len, lambda: True, lambda a, b, c: a]
    for function in wrong:
        with pytest.raises(TypeError, match="cannot be called with two arguments, the event and"):
            Pattern.begin("a").where(function)
        with pytest.raises(TypeError, match="lambda event, context"):
            Pattern.begin("a").one_or_more().until(function)


def test_a_decorated_callable_counts_as_what_its_decorator_calls() -> None:
    def of_event(event: Any) -> bool:
        return bool(event["x"] > 1)

    @wraps(of_event)
    def of_both(event: Any, context: Any) -> bool:
        del context
        return of_event(event)

    @wraps(of_event)
    def passing_on(*arguments: Any) -> bool:
        return of_event(*arguments)

    assert Pattern.begin("a").where(of_both).tree
    for wrong in (passing_on, cache(of_event)):
        with pytest.raises(TypeError, match="cannot be called with two arguments"):
            Pattern.begin("a").where(wrong)


def test_any_callable_that_takes_two_arguments_is_a_condition() -> None:
    class Above:
        def __call__(self, event: Any, _context: Any, least: int = 1) -> bool:
            return bool(event["x"] > least)

    for right in (Above(), lambda *arguments: True, max, operator.contains):
        assert Pattern.begin("a").where(right).tree


def test_a_condition_cannot_name_a_step_that_has_no_event_yet() -> None:
    later = Pattern.begin("a").where("user = b.user").followed_by("b")
    with pytest.raises(PatternError, match="b comes later, so it has no event yet"):
        later.validate()
    watched = Pattern.begin("a").not_followed_by("n").where("x = 1").followed_by("b")
    for aggregate in ("n.x", "FIRST(n.x)", "SUM(n.x)"):
        with pytest.raises(PatternError, match="n must not occur, so it has no event"):
            watched.where(f"x = {aggregate}").validate()
    assert Pattern.begin("a").where("COUNT(b.x) = 0").followed_by("b").validate()  # Flink: 0


def test_a_condition_names_earlier_steps_its_own_and_those_of_an_earlier_repetition() -> None:
    inner = Pattern.begin("x").where("n > LAST(y.n) AND n > a.n").followed_by("y").where("n > x.n")
    pattern = Pattern.begin("a").where("n > SUM(a.n)").one_or_more().until("n < SUM(a.n)")
    assert pattern.next(inner).times(2).validate()
    with pytest.raises(PatternError, match="y comes later"):
        pattern.next(inner).validate()
    watched = Pattern.begin("x").not_followed_by("y").followed_by("z").where("n > y.n")
    with pytest.raises(PatternError, match="y must not occur, so it has no event"):
        pattern.next(watched).times(2).validate()
