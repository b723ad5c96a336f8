"""What Python code of a rule may raise and give out: it stops its rule alone, and is told."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
import pytest
from pydantic_core import from_json

from cep.pattern.durations import LONGEST_MS
from cep.processor import Steps
from contract.snapshot import SnapshotVersion
from percept import Pattern, PatternProcessFunction, ProcessContext
from tests.letters import contents, job_of, letters, processor, sequence, spelled, version
from tests.processor_runtime.core.code_signing import KEYS, WITH_KEYS, signed_function
from tests.processor_runtime.core.pipeline import Event, Pipeline

OTHER = processor("other", version(1, sequence("ab")))


class Unspeakable(Exception):
    """Fails even when it is asked what it says."""

    def __str__(self) -> str:
        raise ValueError("no")


class Calling(PatternProcessFunction):
    """Gives out what a function makes of a context, if it does not raise."""

    def __init__(self, function: Callable[[ProcessContext], Any]) -> None:
        self.function = function

    def process_match(self, match: Steps, context: ProcessContext) -> Iterable[Any]:
        del match
        return [self.function(context)]


class Answering:
    """A condition that returns what it holds for b."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def __call__(self, event: Event, context: Any) -> Any:
        del context
        return self.answer if event["name"] == "b" else False


def with_function(function: Callable[[ProcessContext], Any]) -> SnapshotVersion:
    return version(1, sequence("ab"), function=signed_function(Calling(function)))


def with_condition(condition: Callable[[Event, Any], Any]) -> SnapshotVersion:
    pattern = Pattern.begin("a").where("name = 'a'").followed_by("b").where(condition)
    return version(1, pattern.sign_code(KEYS).to_document())


def run(*versions: SnapshotVersion) -> Pipeline:
    """Run a rule, beside another one, until its quarantine has come to the driver and back."""
    odd = (processor("odd", each) for each in versions)
    job = job_of(OTHER, *odd, shards=1, defaults=WITH_KEYS)
    job.batch(letters("ab", 1_000), until_ms=1_100)
    job.batch(letters("ab", 1_200))
    job.restart()
    job.advance(1_300)
    return job


def stopped_with(job: Pipeline, reason: str) -> str:
    """Return what is told of the rule, which must be quarantined, the other one going on."""
    alone = run()
    (row,) = job.rows_of("error")
    error = from_json(row.error or "")
    assert (row.processor_id, error["reason"]) == ("odd", reason)
    assert contents(job.rows_of("match", "other")) == contents(alone.rows)
    (quarantine,) = job.timeline.quarantined
    assert error["message"] in quarantine.reason
    message: str = error["message"]
    return message


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (Unspeakable, "its message cannot be read"),
        (lambda: ValueError("half a pair: \ud800"), "half a pair: ?"),
        (lambda: ValueError("x" * 10_000_000), "x" * 2_000),
    ],
    ids=["unspeakable", "surrogate", "huge"],
)
def test_whatever_an_error_says_it_stops_its_rule_alone(
    error: Callable[[], Exception], told: str
) -> None:
    def raising(*_: Any) -> bool:
        raise error()

    assert stopped_with(run(with_function(raising)), "function") == told
    assert told[:500] in stopped_with(run(with_condition(raising)), "condition")


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (lambda _: object(), "a value of the type object cannot be written as JSON"),
        (lambda _: {"x": [{1: ValueError()}]}, "a value of the type ValueError cannot be written"),
        (lambda _: [[]] * 3 + [nested(400)], "it cannot be written as JSON"),
    ],
    ids=["object", "inside", "deep"],
)
def test_an_output_that_is_no_json_stops_its_rule(value: Callable[[Any], Any], told: str) -> None:
    assert told in stopped_with(run(with_function(value)), "function")


def nested(depth: int) -> Any:
    """Return a list in a list in a list …"""
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (lambda _: {"n": np.int64(3), "x": np.array([1.5])}, '{"n":3,"x":[1.5]}'),
        (lambda _: {"x\ud800": ["\udfff", b"\xff", ("y",), {1}]}, '{"x?":["?","_w==",["y"],[1]]}'),
    ],
    ids=["numbers of numpy", "half a surrogate pair"],
)
def test_what_is_no_json_but_near_is_given_out(value: Callable[[Any], Any], text: str) -> None:
    assert {row.output for row in run(with_function(value)).rows_of("match", "odd")} == {text}


@pytest.mark.parametrize("tag", [5, "\ud800", b"log"])
def test_a_tag_that_is_no_text_stops_its_rule(tag: Any) -> None:
    stopped_with(run(with_function(lambda context: context.output(tag, 1))), "function")


@pytest.mark.parametrize("answer", ["yes", "", 1, 0, None, [True]])
def test_a_condition_that_returns_neither_true_nor_false_stops_its_rule(answer: Any) -> None:
    told = stopped_with(run(with_condition(Answering(answer))), "condition")
    assert f"returned {answer!r}; it must return True or False" in told


@pytest.mark.parametrize("answer", [True, np.True_])
def test_a_truth_value_of_numpy_is_one(answer: Any) -> None:
    job = run(with_condition(Answering(answer)))
    assert spelled(job.rows_of("match", "odd")) == [
        "odd1 match a1000 b1001",
        "odd1 match a1200 b1201",
    ]


@pytest.mark.parametrize(
    "condition",
    [Answering(answer=True), partial(Answering.__call__, Answering(answer=True))],
    ids=["object", "partial"],
)
def test_partial_matches_of_any_callable_outlive_a_process(condition: Any) -> None:
    job = job_of(processor("odd", with_condition(condition)), shards=1, defaults=WITH_KEYS)
    job.batch(letters("a", 1_000), until_ms=1_001)
    job.restart()
    job.batch(letters("b", 1_002), until_ms=1_003)
    assert spelled(job.rows) == ["odd1 match a1000 b1002"]


def test_nobody_waits_for_the_end_of_a_window_that_no_time_reaches() -> None:
    # By the clock: there it is a timer that would wait.
    job = job_of(version(1, sequence("ab", within_ms=LONGEST_MS)), shards=1, by_clock=True)
    job.batch(letters("a", 1), clock_ms=1_000)
    assert job.job_status.partial_matches == 1
    assert job.next_wakes == [None]
    job.batch(letters("b", 1), clock_ms=1_200)
    assert len(job.rows_of("match")) == 1
