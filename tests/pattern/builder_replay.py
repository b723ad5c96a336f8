"""A document acted out on the builder, in the order in which the reference run called Flink's."""

from collections.abc import Mapping
from typing import Any

from cep.pattern import Pattern, SkipStrategy
from cep.pattern.tree import SkipKind

Document = Mapping[str, Any]


def replayed(document: Document) -> Pattern:
    """Return the pattern of a document, made call by call; the call that is refused raises."""
    pattern = _sequence(document["steps"])
    if "within_ms" in document:
        pattern = _within(pattern, document)
    if skip := document.get("after_match_skip"):
        strategy = SkipStrategy(
            SkipKind(skip["strategy"]), skip.get("step"), skip.get("throw_on_miss", False)
        )
        pattern = pattern.after_match(strategy)
    return pattern.flink_quirks()


def _sequence(steps: list[Document]) -> Pattern:
    pattern: Pattern | None = None
    for step in steps:
        made_of = _sequence(step["group"]["steps"]) if "group" in step else step["name"]
        if pattern is None:
            pattern = Pattern.begin(made_of)
        else:
            pattern = getattr(pattern, step["contiguity"])(made_of)
        pattern = _described(pattern, step)
    assert pattern is not None
    return pattern


def _described(pattern: Pattern, step: Document) -> Pattern:
    if "where" in step:
        pattern = pattern.where(step["where"])
    if "times" in step:
        pattern = _repeated(pattern, step["times"], step.get("times_within_ms"))
    if step.get("inner", "relaxed") != "relaxed":
        pattern = getattr(pattern, step["inner"])()
    for option in ("greedy", "optional"):
        if step.get(option):
            pattern = getattr(pattern, option)()
    if "until" in step:
        pattern = pattern.until(step["until"])
    return _within(pattern, step) if "within_ms" in step else pattern


def _repeated(pattern: Pattern, times: int | Document, within_ms: int | None) -> Pattern:
    if isinstance(times, int):
        return pattern.times(times, within=within_ms)
    minimum, maximum = times["from"], times["to"]
    if maximum is not None:
        return pattern.times(minimum, maximum, within=within_ms)
    if minimum == 1:
        return pattern.one_or_more(within=within_ms)
    return pattern.times_or_more(minimum, within=within_ms)


def _within(pattern: Pattern, document: Document) -> Pattern:
    return pattern.within(document["within_ms"], document.get("within_type", "first_and_last"))
