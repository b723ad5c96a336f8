"""What Python code of a rule may raise and give out: it stops its rule alone, and is told."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
import pytest
from pydantic_core import from_json

from cep import Pattern, PatternProcessFunction, ProcessContext
from cep.pattern.durations import LONGEST_MS
from cep.processor import Steps
from cep.signing.code import CodeUse, sign
from cep.signing.keys import SigningKey, SigningKeys
from contract.snapshot import SnapshotVersion
from processor_runtime.rules.loading import RuleDefaults
from tests.processor_runtime.core.pipeline import Event, Options, Pipeline
from tests.processor_runtime.core.published import (
    contents,
    letters,
    processor,
    sequence,
    spelled,
    stream,
    version,
)

KEY = SigningKey("k1", b"k" * 32)
KEYS = SigningKeys((KEY,))
OTHER = processor("other", version(1, sequence("ab")))


class Unspeakable(Exception):
    """Fails even when it is asked what it says."""

    def __str__(self) -> str:
        raise ValueError("no")


class Raising(PatternProcessFunction):
    """Raises an error, made by a function."""

    def __init__(self, error: Callable[[], Exception]) -> None:
        self.error = error

    def process_match(self, match: Steps, context: ProcessContext) -> Iterable[Any]:
        del match, context
        raise self.error()


class Giving(PatternProcessFunction):
    """Gives out one value, made by a function."""

    def __init__(self, value: Callable[[], Any]) -> None:
        self.value = value

    def process_match(self, match: Steps, context: ProcessContext) -> Iterable[Any]:
        del match, context
        return [self.value()]


class Tagging(PatternProcessFunction):
    """Gives one value to a side output."""

    def __init__(self, tag: Any) -> None:
        self.tag = tag

    def process_match(self, match: Steps, context: ProcessContext) -> None:
        del match
        context.output(self.tag, 1)


class Answering:
    """A condition that returns what it holds for b."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def __call__(self, event: Event, context: Any) -> Any:
        del context
        return self.answer if event["name"] == "b" else False


def with_function(function: PatternProcessFunction) -> SnapshotVersion:
    return version(1, sequence("ab"), function=sign(function, KEY, CodeUse.FUNCTION).to_document())


def with_condition(condition: Callable[[Event, Any], Any]) -> SnapshotVersion:
    pattern = Pattern.begin("a").where("name = 'a'").followed_by("b").where(condition)
    return version(1, pattern.sign_code(KEYS).to_document())


def run(*versions: SnapshotVersion) -> Pipeline:
    """Run a rule, beside another one, until its quarantine has come to the driver and back."""
    job = Pipeline(stream(), Options(shards=1, defaults=RuleDefaults(signing_keys=KEYS)))
    job.publish(OTHER, *(processor("odd", each) for each in versions))
    job.batch(letters("ab", 1_000))
    job.advance(1_100)
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
    assert stopped_with(run(with_function(Raising(error))), "function") == told

    def raising(event: Event, context: Any) -> bool:
        del event, context
        raise error()

    assert told[:500] in stopped_with(run(with_condition(raising)), "condition")


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (object, "a value of the type object cannot be written as JSON"),
        (lambda: {"x": [{1: ValueError()}]}, "a value of the type ValueError cannot be written"),
        (lambda: [[]] * 3 + [nested(400)], "it cannot be written as JSON"),
    ],
    ids=["object", "inside", "deep"],
)
def test_an_output_that_is_no_json_stops_its_rule(value: Callable[[], Any], told: str) -> None:
    assert told in stopped_with(run(with_function(Giving(value))), "function")


def nested(depth: int) -> Any:
    """Return a list in a list in a list …"""
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def test_numbers_of_numpy_are_numbers() -> None:
    job = run(with_function(Giving(lambda: {"n": np.int64(3), "x": np.array([1.5]), "t": {1}})))
    assert {row.output for row in job.rows_of("match", "odd")} == {'{"n":3,"x":[1.5],"t":[1]}'}


def test_half_a_surrogate_pair_in_an_output_is_replaced() -> None:
    job = run(with_function(Giving(lambda: {"x\ud800": ["\udfff", b"\xff", ("y",)]})))
    assert {row.output for row in job.rows_of("match", "odd")} == {'{"x?":["?","_w==",["y"]]}'}


@pytest.mark.parametrize("tag", [5, "\ud800", b"log"])
def test_a_tag_that_is_no_text_stops_its_rule(tag: Any) -> None:
    stopped_with(run(with_function(Tagging(tag))), "function")


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
    job = Pipeline(stream(), Options(shards=1, defaults=RuleDefaults(signing_keys=KEYS)))
    job.publish(processor("odd", with_condition(condition)))
    job.batch(letters("a", 1_000))
    job.advance(1_001)
    job.restart()
    job.batch(letters("b", 1_002))
    job.advance(1_003)
    assert spelled(job.rows) == ["odd1 match a1000 b1002"]


def test_nobody_waits_for_the_end_of_a_window_that_no_time_reaches() -> None:
    # By the clock: there it is a timer that would wait.
    job = Pipeline(stream(), Options(shards=1, by_clock=True))
    job.publish(processor("odd", version(1, sequence("ab", within_ms=LONGEST_MS))))
    job.batch(letters("a", 1), clock_ms=1_000)
    assert [status.partial_matches for status in job.statuses.values()] == [
        {"odd@1@" + str(-(2**63)): 1}
    ]
    assert job.next_wakes == [None]
    job.batch(letters("b", 1), clock_ms=1_200)
    assert len(job.rows_of("match")) == 1
