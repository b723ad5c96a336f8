"""Limits: a pattern that asks for too much is refused, with the number given and the limit."""

from typing import Any

import pytest

from cep.pattern import Pattern, PatternError, PatternTooLarge
from cep.pattern.validation.size_limits import (
    MAXIMUM_DEPTH,
    MAXIMUM_STATES,
    MAXIMUM_STEPS,
    expanded_states,
)


def nested(depth: int) -> Pattern:
    pattern = Pattern.begin("a")
    for _ in range(depth):
        pattern = Pattern.begin(pattern)
    return pattern


def chained(steps: int) -> Pattern:
    pattern = Pattern.begin("a")
    for number in range(steps - 1):
        pattern = pattern.next(f"b{number}")
    return pattern


@pytest.mark.parametrize(
    ("fits", "too_large", "limit"),
    [
        (nested(MAXIMUM_DEPTH), nested(MAXIMUM_DEPTH + 1), MAXIMUM_DEPTH),
        (chained(MAXIMUM_STEPS), chained(MAXIMUM_STEPS + 1), MAXIMUM_STEPS),
        (
            Pattern.begin("a").times(MAXIMUM_STATES),
            Pattern.begin("a").times_or_more(MAXIMUM_STATES),
            MAXIMUM_STATES,
        ),
    ],
    ids=["depth", "steps", "states"],
)
def test_one_more_than_the_limit_is_refused(fits: Pattern, too_large: Pattern, limit: int) -> None:
    assert fits.validate() is fits
    with pytest.raises(PatternError) as refusal:
        too_large.validate()
    (problem,) = refusal.value.problems
    assert isinstance(problem, PatternTooLarge)
    assert (problem.given, problem.limit) == (limit + 1, limit)
    assert f"the limit is {limit}" in str(problem)


def test_a_document_with_too_many_steps_is_refused_for_nothing_else() -> None:
    wrong_too = [{"nmae": "a", "where": "x = = 1"} for _ in range(MAXIMUM_STEPS)]
    inner = {"group": {"steps": [{"name": "b"}]}}
    with pytest.raises(PatternError) as refusal:
        Pattern.from_document({"steps": [*wrong_too, inner]})
    (problem,) = refusal.value.problems
    assert isinstance(problem, PatternTooLarge)
    assert (problem.given, problem.limit) == (MAXIMUM_STEPS + 1, MAXIMUM_STEPS)


def test_a_document_that_holds_itself_is_refused() -> None:
    group: dict[str, Any] = {"steps": []}
    group["steps"].append({"group": group})
    with pytest.raises(PatternError, match="nested too deeply"):
        Pattern.from_document(group)


def test_repetitions_of_groups_multiply() -> None:
    inner = Pattern.begin("a").times(2, 5).next("b")
    pattern = Pattern.begin(Pattern.begin(inner).times(10)).one_or_more().next("c")
    assert expanded_states(pattern.tree.elements) == (5 + 1) * 10 * 2 + 1


def test_a_hostile_nesting_is_refused_quickly() -> None:
    pattern = Pattern.begin("a")
    for _ in range(MAXIMUM_DEPTH):
        pattern = Pattern.begin(pattern).times(1_000_000_000)
    with pytest.raises(PatternError, match="the limit is"):
        pattern.validate()


def test_a_document_nested_beyond_all_measure_is_refused() -> None:
    document: dict[str, object] = {"steps": [{"name": "a"}]}
    for _ in range(5000):
        document = {"steps": [{"group": document}]}
    with pytest.raises(PatternError, match=r"nested too deeply|levels of groups"):
        Pattern.from_document(document)
