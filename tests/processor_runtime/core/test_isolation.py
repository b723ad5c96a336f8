"""A rule that fails stops alone: the others find what they find without it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from pydantic_core import from_json

from cep.nfa.limits import Limits
from cep.processor import Steps
from cep.signing.code import CodePlace, CodeUse, sign
from cep.signing.keys import SigningKey
from contract.snapshot import SnapshotProcessor
from percept import Pattern, PatternProcessFunction, ProcessContext, TimedOutPartialMatchHandler
from processor_runtime.driver.job_status import VersionStatus
from processor_runtime.rows.key_hashing import key_bytes, key_hash, shard_of
from processor_runtime.rules.compiled_group import group_id
from processor_runtime.rules.loading import RuleDefaults
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
    stream,
    taken,
    version,
    with_step,
    without,
)
from tests.processor_runtime.core.code_signing import KEY, KEYS, WITH_KEYS, signed_function
from tests.processor_runtime.core.pipeline import Event, Options, Pipeline

STRANGER = SigningKey("k1", b"s" * 32)


class Fussy(PatternProcessFunction, TimedOutPartialMatchHandler):
    """Gives out prices, but raises on an event of price 13; the log has timeouts."""

    def process_match(self, match: Steps, context: ProcessContext) -> Iterable[Any]:
        del context
        prices = [event["price"] for step in match.values() for event in step]
        if 13 in prices:
            raise ArithmeticError("thirteen")
        return prices

    def process_timed_out_match(self, match: Steps, context: ProcessContext) -> None:
        del match
        context.output("log", context.event_time_ms)


def python_pattern(condition: Callable[[Event, Any], bool]) -> Document:
    pattern = Pattern.begin("a").where("name = 'a'").followed_by("b").where(condition)
    return pattern.sign_code(KEYS).to_document()


def refuses_thirteen(event: Event, context: Any) -> bool:
    del context
    if event["price"] == 13:
        raise ArithmeticError("thirteen")
    return bool(event["name"] == "b")


FUSSY = signed_function(Fussy)
LIMITED: Document = {"partial_matches_per_key": 5}
THROWING = sequence(
    "ab", after_match_skip={"strategy": "skip_to_first", "step": "a", "throw_on_miss": True}
)
FAILING = {
    "condition": version(1, python_pattern(refuses_thirteen)),
    "function": version(1, sequence("ab"), function=FUSSY),
    "limit": version(1, sequence("ab"), limits=LIMITED),
    "skip": version(1, THROWING),
}
OTHERS = (
    processor("absence", version(1, absence("a", "b", 12))),
    # These share their machine with the failing ones.
    processor("same", version(1, sequence("ab"))),
    processor("same-limits", version(1, sequence("ba"), limits=LIMITED)),
    processor("same-skip", version(1, THROWING | {"steps": sequence("az")["steps"]})),
)
EVENTS = [
    *letters("ab  a", 1_000),
    *letters("aaaaaa", 1_010, user="v"),
    event("b", 1_020, price=13),
    event("b", 1_020, user="v", price=14),
    *letters("ab ab", 1_030),
]

MORE_COLUMNS = "tags ARRAY<STRING>, place STRUCT<city: STRING>, blob BINARY"


def run(
    rules: Sequence[SnapshotProcessor],
    events: Sequence[Event] = EVENTS,
    *,
    batches: int = 1,
    options: Options | None = None,
) -> Pipeline:
    wide = stream().model_copy(update={"ddl": f"{stream().ddl}, {MORE_COLUMNS}"})
    job = Pipeline(wide, options or Options(shards=1, defaults=WITH_KEYS))
    job.publish(*rules)
    return run_in_batches(job, events, batches, until_ms=1_100)


def told_of_others(job: Pipeline) -> list[VersionStatus]:
    """Return what is told of other rules, but for bytes: what is compressed differs a little.

    Nor what runs them: rules of one shape are one machine, compiled or not.
    """
    others = (each for each in job.job_status.versions if each.processor_id != "failing")
    return [replace(each, state_bytes=0, interpreted_reason="") for each in others]


@pytest.mark.parametrize("batches", [1, 3, len(EVENTS)])
@pytest.mark.parametrize("reason", FAILING)
def test_only_the_rule_that_fails_stops(reason: str, batches: int) -> None:
    job = run([processor("failing", FAILING[reason]), *OTHERS], batches=batches)
    alone = run(OTHERS, batches=batches)
    assert [error["reason"] for error in errors(job, "failing")] == [reason]
    assert contents(without(job.rows, "failing")) == contents(alone.rows)
    assert {row.kind for row in alone.rows} == {"match"}
    assert {row.processor_id for row in alone.rows} == {"absence", "same", "same-limits"}
    assert told_of_others(job) == told_of_others(alone)
    (quarantine,) = job.timeline.quarantined
    assert (quarantine.processor_id, quarantine.version) == ("failing", 1)


EXPECTED = {
    # What was found before it failed; the failing event is price 13 for user u.
    "condition": (["a1000 b1001"], "ArithmeticError: thirteen", 1_020),
    "function": (["a1000 b1001"] * 2, "ArithmeticError: thirteen", 1_020),
    "limit": (["a1000 b1001"], "LimitExceeded", 1_015),
    "skip": ([], "SkipTargetMissing", 1_001),
}


@pytest.mark.parametrize("reason", FAILING)
def test_a_failed_rule_keeps_what_it_has_found_and_tells_why(reason: str) -> None:
    job = run([processor("failing", FAILING[reason])])
    found, told, failed_ms = EXPECTED[reason]
    assert [taken(row) for row in job.rows_of("match", "failing")] == found
    (row,) = job.rows_of("error", "failing")
    (error,) = errors(job, "failing")
    assert told in error["traceback"]
    assert error["message"]
    if reason == "condition":
        assert "refuses_thirteen" in error["traceback"]
        assert "raised ArithmeticError: thirteen" in error["message"]
    assert (row.version, row.epoch, row.end_ms) == (1, 1, failed_ms)
    assert row.key in ('["u"]', '["v"]')
    if reason != "function":
        assert from_json(row.events or "")["ts"] == failed_ms
    (quarantine,) = job.timeline.quarantined
    assert told in quarantine.traceback
    assert quarantine.since_ms == failed_ms


def test_a_rule_that_has_failed_holds_no_state_and_begins_nothing() -> None:
    events = [event("a", 1_000), event("b", 1_001, price=13), *letters("aaaa", 1_002)]
    events += letters("aaaa", 1_002, user="v")
    job = run([processor("failing", FAILING["condition"])], events)
    assert len(errors(job, "failing")) == 1
    assert sum(status.keys for status in job.statuses.values()) == 0
    assert job.job_status.partial_matches == 0


def test_a_rule_that_has_failed_stays_out_until_its_quarantine_is_lifted() -> None:
    job = run([processor("failing", FAILING["condition"])])
    (state,) = job.job_status.versions
    assert (state.state, state.totals.errors) == ("quarantined", 1)
    assert "thirteen" in state.error
    before = len(job.rows)
    job.batch(letters("ab", 1_200))
    job.restart()
    job.batch(letters("ab", 1_300), until_ms=1_400)
    assert job.rows[before:] == []
    job.publish(processor("failing", version(2, sequence("ab"))))
    job.batch(letters("ab", 1_500), until_ms=1_600)
    assert spelled(job.rows[before:]) == ["failing2 match a1500 b1501"]


def test_code_signed_for_one_rule_runs_there_and_in_no_other() -> None:
    place = CodePlace(stream=stream().name, processor="mine")
    code = sign(Fussy, KEY, CodeUse.FUNCTION, place=place).to_document()
    condition = Pattern.begin("a").where(lambda event, _context: event["name"] == "a")
    pattern = condition.sign_code(KEYS, place=place).to_document()
    mine = version(1, pattern, function=code)
    job = run([processor("mine", mine), processor("moved", mine)], letters("ab", 1_000))
    assert spelled(job.rows_of("match")) == ["mine1 match a1000"]
    (quarantine,) = job.timeline.quarantined
    assert quarantine.processor_id == "moved"
    assert "this is rule 'moved' of stream 'letters'" in quarantine.reason


def test_pausing_and_resuming_lifts_a_quarantine_even_while_old_events_wait() -> None:
    failing = processor("failing", FAILING["condition"])
    job = job_of(failing, delay_ms=500, shards=1, defaults=WITH_KEYS)
    job.batch([event("a", 1_000), event("b", 1_001, price=13), event("x", 1_400)], until_ms=1_010)
    assert len(errors(job, "failing")) == 1
    job.batch(letters("x", 1_511))
    assert [item.processor_id for item in job.timeline.quarantined] == ["failing"]
    job.publish(failing.model_copy(update={"paused": True}))
    job.batch(letters("x", 1_512))
    job.publish(failing)
    job.batch(letters("x", 1_513))
    job.batch(letters("ab", 1_520))
    job.batch(letters("x", 1_521))
    assert job.timeline.quarantined == ()
    job.advance(2_000)
    assert spelled(job.rows_of("match")) == ["failing1 match a1520 b1521"]


def test_a_rule_that_failed_in_one_shard_ends_in_all_with_the_next_batch() -> None:
    job = job_of(processor("failing", FAILING["condition"]), shards=4, defaults=WITH_KEYS)
    shard = {
        user: shard_of(key_hash(group_id(["user"]), key_bytes((user,))), 4)
        for user in (f"u{number}" for number in range(12))
    }
    elsewhere = [f'["{user}"]' for user in shard if shard[user] != shard["u0"]]
    job.batch([event("a", 1_000, user=user) for user in shard])
    job.batch([event("b", 1_001, user="u0", price=13)])
    job.batch([event("b", 1_002, user=user) for user in shard], until_ms=1_003)
    assert len(errors(job, "failing")) == 1
    assert elsewhere
    # Elsewhere it went on up to the newest event that was read before the failure was known.
    assert sorted(row.key or "" for row in job.rows_of("match")) == sorted(elsewhere)
    job.batch([one for user in shard for one in letters("ab", 1_010, user=user)], until_ms=1_100)
    assert len(job.rows_of("match")) == len(elsewhere)


@pytest.mark.parametrize(
    ("definition", "told"),
    [
        pytest.param(
            {"function": signed_function(Fussy, STRANGER)}, "does not have the signature", id="key"
        ),
        pytest.param({"function": signed_function(print)}, "no PatternProcessFunction", id="type"),
        pytest.param({"function": FUSSY}, "no signing keys are set here", id="no keys"),
        pytest.param({"select": {"x": "SUM(a.price"}}, "expecting )", id="select"),
        pytest.param({"key_by": ["nobody + 1"]}, "nobody", id="key_by"),
        pytest.param({"key_by": ["user = 3"]}, "user", id="key_by type"),
        pytest.param({"key_by": ["tags"]}, "ARRAY<STRING> cannot be a key", id="array key"),
        pytest.param({"key_by": ["place"]}, "cannot be a key", id="struct key"),
        pytest.param({"key_by": ["blob"]}, "cannot be a key", id="unreadable key"),
        pytest.param({"pattern": sequence("ab", steps=[])}, "steps", id="pattern"),
        pytest.param({"future key": 1}, "future key", id="unknown key"),
    ],
)
def test_a_version_that_cannot_run_is_kept_out_and_told(
    definition: dict[str, Any], told: str
) -> None:
    broken = version(1, **{"pattern": sequence("ab"), **definition})
    options = Options(shards=1) if definition.get("function") is FUSSY else None
    job = run([processor("failing", broken), *OTHERS], options=options)
    assert contents(without(job.rows, "failing")) == contents(run(OTHERS).rows)
    (quarantine,) = job.timeline.quarantined
    assert told in quarantine.reason
    assert [item for item in job.timeline.intervals if item.processor_id == "failing"] == []


def test_code_that_fails_to_load_in_a_running_job_is_told_once_per_shard() -> None:
    rules = (processor("failing", FAILING["function"]), *OTHERS)
    job = run(rules, EVENTS[:2])
    # The job is started again, without its keys.
    job.options = Options(shards=1)
    job.restart()
    for number in range(4):
        job.batch(letters("ab", 1_200 + 10 * number))
    job.advance(1_300)
    (error,) = errors(job, "failing")
    assert (error["reason"], "signing keys" in error["message"]) == ("code", True)
    assert [item.processor_id for item in job.timeline.quarantined] == ["failing"]
    assert len(job.rows_of("match", "same")) == 5


def test_a_select_that_fails_on_a_match_stops_its_rule_alone() -> None:
    selecting = version(1, sequence("ab"), select={"x": "b.name + 1"})
    job = run([processor("failing", selecting), *OTHERS])
    assert [error["reason"] for error in errors(job, "failing")] == ["function"]
    assert contents(without(job.rows, "failing")) == contents(run(OTHERS).rows)


def test_a_process_function_gives_outputs_and_side_outputs() -> None:
    windowed = version(1, sequence("ab", within_ms=5), function=FUSSY)
    job = run([processor("p", windowed)], letters("ab a", 1_000))
    rows = [(row.kind, row.tag, row.output) for row in job.rows]
    assert rows == [
        ("match", None, "0"),
        ("match", None, "1"),
        ("side", "log", "1008"),
        ("timeout", None, None),
    ]
    assert len({row.match_id for row in job.rows}) == len(job.rows)


class Vandal(PatternProcessFunction):
    """Gives out the user, and takes him out of the events it was given."""

    def process_match(self, match: Steps, context: ProcessContext) -> Iterable[Any]:
        del context
        users = [event.pop("user") for step in match.values() for event in step]
        return users[:1]


def test_what_a_process_function_does_to_its_events_is_seen_by_no_other() -> None:
    vandal = version(1, sequence("ab"), function=signed_function(Vandal))
    selecting = version(1, sequence("ab"), select={"user": "a.user", "times": "COUNT(a.*)"})
    job = run([processor("p", vandal), processor("q", vandal), processor("r", selecting)])
    assert job.rows_of("error") == []
    for row in job.rows_of("match", "r"):
        assert from_json(row.output or "")["times"] == 1
    by_rule = [[taken(row) for row in job.rows_of("match", name)] for name in "pqr"]
    assert by_rule[0] == by_rule[1] == by_rule[2] != []
    assert {row.output for row in job.rows_of("match", "q")} == {'"u"', '"v"'}


@pytest.mark.parametrize("reason", FAILING)
def test_a_job_that_is_set_to_fail_fails_with_the_first_rule(reason: str) -> None:
    options = Options(shards=1, defaults=WITH_KEYS, matching=MatchSettings(fails_on_error=True))
    with pytest.raises(RuleFailed, match="rule failing, version 1: "):
        run([processor("failing", FAILING[reason])], options=options)


def test_the_limit_on_events_holds_across_batches() -> None:
    waits = sequence("ac", after_match_skip={"strategy": "skip_past_last_event"})
    loop = with_step(waits, 0, times={"from": 1, "to": None}, until="name = 'b'")
    defaults = RuleDefaults(limits=Limits(partial_matches=10_000, events=50))
    for size in (100, 7):
        job = job_of(processor("failing", version(1, loop)), shards=1, defaults=defaults)
        for begin in range(0, 100, size):
            job.batch(letters("a" * min(size, 100 - begin), 1_000 + begin))
        job.advance(1_200)
        assert [error["reason"] for error in errors(job, "failing")] == ["limit"], size


@pytest.mark.parametrize("batches", [1, 3])
@pytest.mark.parametrize("by", ["rule", "job"])
def test_a_rule_that_holds_too_much_over_all_keys_is_stopped_alone(by: str, batches: int) -> None:
    waits = sequence("ax")
    limits: Document = {"limits": {"partial_matches_per_shard": 3}} if by == "rule" else {}
    rules = [processor("failing", version(1, waits, **limits)), OTHERS[0]]
    defaults = RuleDefaults(partial_matches_per_shard=3 if by == "job" else None)
    events = [one for n in range(6) for one in letters("ab", 1_000 + 10 * n, user=f"u{n}")]
    job = run(rules, events, batches=batches, options=Options(shards=1, defaults=defaults))
    (error,) = errors(job, "failing")
    assert error["reason"] == "limit"
    assert "partial matches of one shard, the limit is 3" in error["message"]
    assert [item.processor_id for item in job.timeline.quarantined] == ["failing"]
    assert job.job_status.partial_matches == 0
    alone = run([OTHERS[0]], events, batches=batches)
    assert contents(without(job.rows, "failing")) == contents(alone.rows)


def test_as_many_as_a_shard_may_hold_are_no_failure() -> None:
    limited = version(1, sequence("ax"), limits={"partial_matches_per_shard": 6})
    events = [one for n in range(6) for one in letters("a", 1_000 + 10 * n, user=f"u{n}")]
    job = run([processor("limited", limited)], events)
    assert job.rows_of("error") == []
    assert job.job_status.partial_matches == 6
