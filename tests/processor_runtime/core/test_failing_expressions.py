"""An expression at which polars raises stops the rules it belongs to, and no others.

No such expression is known, so one is made: wherever `price <> 999` or `price + 999` stands, polars
is given something that fails on the price 13, by an error or by a panic.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import polars as pl
import pytest
from pydantic_core import from_json

from cep.expression import EvaluationError, Node, Schema, compile_columnar, to_sql
from cep.keyed import equality_lookups, predicate_index
from cep.matching.batch import BatchMatcher
from cep.pattern import Pattern
from contract.snapshot import SnapshotProcessor
from processor_runtime.rows import key_columns
from processor_runtime.rules import rule_set
from processor_runtime.rules.compiled_group import CompiledGroup
from processor_runtime.rules.loading import RuleDefaults
from processor_runtime.rules.rule_set import compile_rules
from processor_runtime.stages.rule_errors import RuleFailed
from processor_runtime.stages.shard_matcher import MatchSettings
from tests.letters import (
    Document,
    absence,
    contents,
    errors,
    event,
    job_of,
    letters,
    processor,
    run_in_batches,
    sequence,
    spelled,
    taken,
    version,
    without,
)
from tests.processor_runtime.core.pipeline import Event, Pipeline


def erring(column: pl.Expr) -> pl.Expr:
    def refuse(values: pl.Series) -> pl.Series:
        if (values == 13).any():
            raise ArithmeticError("thirteen")
        return values

    return column.map_batches(refuse, return_dtype=pl.Int64)


def panicking(column: pl.Expr) -> pl.Expr:
    days = pl.when(column == 13).then(2**31 - 1).otherwise(0).cast(pl.Int32)
    return column + days.cast(pl.Date).cast(pl.Datetime).is_null().cast(pl.Int64)


@pytest.fixture(params=[erring, panicking])
def failing(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[pl.Expr], pl.Expr]]:
    """Make polars fail where it is asked for the marked expressions."""

    def compiled(node: Node, schema: Schema) -> pl.Expr:
        expression = compile_columnar(node, schema)
        if "999" not in to_sql(node):
            return expression
        marked: pl.Expr = request.param(pl.col("price"))
        if "price + 999" in to_sql(node):
            return expression + marked * 0
        return expression & (marked != 999)

    monkeypatch.setattr(predicate_index, "compile_columnar", compiled)
    monkeypatch.setattr(equality_lookups, "compile_columnar", compiled)
    monkeypatch.setattr(key_columns, "compile_columnar", compiled)
    key_columns.key_columns.cache_clear()
    yield request.param
    key_columns.key_columns.cache_clear()


def marked(pattern: Document, step: int = 1) -> Document:
    pattern["steps"][step]["where"] += " AND price <> 999"
    return pattern


EVENTS = [
    *letters("ab", 1_000),
    *letters("ab", 1_000, user="v"),
    *letters("a", 1_010),
    *letters("ab", 1_012, user="v"),
    event("b", 1_015, price=13),
    *letters("ab", 1_020),
    *letters("ab", 1_020, user="v"),
    event("x", 1_030, price=13),
]
OTHERS = [
    processor("absence", version(1, absence("a", "b", 12))),
    processor("same", version(1, sequence("ab"))),
    processor("strict", version(1, sequence("ab") | {"within_ms": 3})),
    processor("unkeyed", version(1, sequence("ba"), key_by=None)),
    processor("other-key", version(1, sequence("ab"), key_by=["price IS NULL", "user"])),
]
MANY = [
    processor(f"p{number:02}", version(1, sequence([f"n{number}", "b"]))) for number in range(70)
]


def run(rules: Sequence[SnapshotProcessor], *, batches: int = 1, **options: Any) -> Pipeline:
    return run_in_batches(job_of(*rules, **options), EVENTS, batches, until_ms=1_100)


@pytest.mark.usefixtures("failing")
@pytest.mark.parametrize("batches", [1, 3, len(EVENTS)])
@pytest.mark.parametrize("more", [[], MANY], ids=["few", "many"])
def test_a_test_that_fails_stops_its_rules_alone(
    more: list[SnapshotProcessor], batches: int
) -> None:
    bad = processor("bad", version(1, marked(sequence("ab"))))
    others = [*OTHERS, *more]
    job = run([bad, *others], batches=batches)
    alone = run(others, batches=batches)
    assert contents(without(job.rows, "bad")) == contents(alone.rows)
    (row,) = job.rows_of("error")
    assert (row.processor_id, row.version, row.key, row.end_ms) == ("bad", 1, '["u"]', 1_015)
    assert from_json(row.events or "") == event("b", 1_015, price=13)
    error = from_json(row.error or "")
    assert error["reason"] == "condition"
    assert "price <> 999" in error["message"]
    assert "polars cannot evaluate it" in error["message"]
    assert [item.processor_id for item in job.timeline.quarantined] == ["bad"]
    # What it found before is kept; in other shards it may have gone on to the end of the batch.
    found = [taken(row) for row in job.rows_of("match", "bad") if row.key == '["u"]']
    assert found == ["a1000 b1001"]


@pytest.mark.usefixtures("failing")
def test_all_rules_with_the_test_stop_and_a_replay_finds_the_same() -> None:
    rules = [
        *OTHERS,
        processor("bad", version(1, marked(sequence("ab")))),
        processor("bad-too", version(1, marked(sequence("xb")))),
        processor("worse", version(1, marked(sequence("xa"), step=0))),
    ]
    job = job_of(*rules, shards=2)
    job.batch(EVENTS, until_ms=1_100)
    first = contents(job.rows)
    job.replay()
    assert contents(job.rows) == first
    told = {row.processor_id: from_json(row.events or "")["ts"] for row in job.rows_of("error")}
    assert told == {"bad": 1_015, "bad-too": 1_015, "worse": 1_015}
    assert contents(without(job.rows, *told)) == contents(run(OTHERS).rows)


@pytest.mark.usefixtures("failing")
def test_a_rule_whose_time_has_not_come_is_not_stopped() -> None:
    later = processor("later", version(1, marked(sequence("ab")), from_ms=1_016))
    before = processor("before", version(1, marked(sequence("ab")), until_ms=1_015))
    job = run([later, before])
    assert job.rows_of("error", "before") == []
    # The test is its own, too, where an event is of its time.
    assert [row.end_ms for row in job.rows_of("error", "later")] == [1_030]
    assert "later1 match a1020 b1021" in spelled(job.rows_of("match"))


@pytest.mark.usefixtures("failing")
@pytest.mark.parametrize("batches", [1, 3])
def test_a_key_that_fails_stops_the_rules_that_have_it(batches: int) -> None:
    keyed = [
        processor("bad", version(1, sequence("ab"), key_by=["user", "price + 999 > 0"])),
        processor("untouched", version(1, sequence("xy"), key_by=["user", "price + 999 > 0"])),
    ]
    job = run([*keyed[:1], *OTHERS], batches=batches)
    alone = run(OTHERS, batches=batches)
    assert contents(without(job.rows, "bad")) == contents(alone.rows)
    (row,) = job.rows_of("error")
    error = from_json(row.error or "")
    assert (error["reason"], row.processor_id, row.key) == ("key", "bad", None)
    assert error["message"].startswith("the key (user, price + 999 > 0): polars cannot evaluate")
    assert from_json(row.events or "") == event("b", 1_015, price=13)
    assert [item.processor_id for item in job.timeline.quarantined] == ["bad"]
    both = run([*keyed, *OTHERS], batches=batches)
    assert {row.processor_id for row in both.rows_of("error")} == {"bad", "untouched"}


@pytest.mark.usefixtures("failing")
def test_a_job_that_is_set_to_fail_fails_with_the_condition() -> None:
    matching = MatchSettings(fails_on_error=True)
    bad = processor("bad", version(1, marked(sequence("ab"))))
    with pytest.raises(RuleFailed, match=r"rule bad, version 1: condition .*price <> 999"):
        run([bad], shards=1, matching=matching)


@pytest.mark.usefixtures("failing")
def test_frames_matched_without_a_job_name_the_condition() -> None:
    pattern = Pattern.begin("b").where("name = 'b' AND price <> 999")
    schema = Schema.from_ddl("name STRING, price BIGINT, ts BIGINT")
    matcher = BatchMatcher({"r": pattern}, schema=schema)
    rows: list[Event] = [{"name": "b", "price": price, "ts": price} for price in (1, 2, 13, 14)]
    with pytest.raises(EvaluationError, match=r"condition .*price <> 999.*, row 2: polars cannot"):
        matcher.process(pl.DataFrame(rows))


def test_a_rule_that_does_not_compile_keeps_no_other_back(monkeypatch: pytest.MonkeyPatch) -> None:
    class Choosy(CompiledGroup):
        def __init__(self, key_by: Any, rules: Any, *args: Any) -> None:
            if any(rule.processor_id == "bad" for rule in rules):
                raise RuntimeError("no such function")
            super().__init__(key_by, rules, *args)

    monkeypatch.setattr(rule_set, "CompiledGroup", Choosy)
    bad = processor("bad", version(1, sequence("ab")))
    job = run([bad, *OTHERS])
    assert contents(without(job.rows, "bad")) == contents(run(OTHERS).rows)
    assert {error["message"] for error in errors(job, "bad")} == {"no such function"}
    assert [item.processor_id for item in job.timeline.quarantined] == ["bad"]
    alone = job_of(bad, shards=2)
    alone.batch(EVENTS[:1])
    assert compile_rules(alone.timeline, alone.stream, RuleDefaults()).groups == {}
