"""A rule that floods its outputs is stopped or cut short alone, and the same in any replay."""

from collections.abc import Callable, Iterable
from functools import partial
from itertools import count
from typing import Any

import pytest

from cep.processor import Steps
from contract.snapshot import SnapshotProcessor
from percept import PatternProcessFunction, ProcessContext
from processor_runtime.output.row_chunks import CHARACTERS_PER_CHUNK, ROWS_PER_CHUNK, RowChunks
from processor_runtime.rows.output_rows import OutputRow
from processor_runtime.rows.row_limits import RowLimits
from processor_runtime.rules.loading import RuleDefaults
from processor_runtime.rules.rule_set import compile_rules
from processor_runtime.schedule.batch_clock import BatchClock
from processor_runtime.stages.rule_errors import RuleFailed
from processor_runtime.stages.shard_matcher import MatchSettings, ShardMatcher
from tests.letters import (
    Document,
    contents,
    errors,
    event,
    job_of,
    letters,
    processor,
    run_in_batches,
    sequence,
    version,
    with_step,
    without,
)
from tests.processor_runtime.core.code_signing import KEYS, signed_function
from tests.processor_runtime.core.pipeline import DictState, Event, Pipeline

EVERY_SUBSET = with_step(
    sequence("ab", within_ms=100), 0, times={"from": 1, "to": None}, inner="allow_combinations"
)
ALL = 2**14 - 1
ALL_OF_FEWER = 2**11 - 1


pytestmark = pytest.mark.usefixtures("machines")


def flood_of(events: int) -> list[Event]:
    """Return events of one user that end in a match for every subset, and a match of another."""
    return [*letters("a" * events, 1_000), event("b", 1_020), *letters("ab", 1_030, user="v")]


FLOOD = flood_of(14)


class Flood(PatternProcessFunction):
    """Gives out what is made for it for matches of price 13, and else one number."""

    def __init__(self, flood: Callable[[], Iterable[int]]) -> None:
        self.flood = flood

    def process_match(self, match: Steps, context: ProcessContext) -> Iterable[Any]:
        del context
        prices = [event["price"] for step in match.values() for event in step]
        return self.flood() if 13 in prices else [0]


def run(
    rules: Iterable[SnapshotProcessor],
    events: list[Event],
    *,
    batches: int = 1,
    limits: RowLimits | None = None,
    **options: Any,
) -> Pipeline:
    defaults = RuleDefaults(signing_keys=KEYS, row_limits=limits or RowLimits())
    job = job_of(*rules, shards=1, defaults=defaults, **options)
    return run_in_batches(job, events, batches, until_ms=1_200)


def messages(job: Pipeline, processor_id: str) -> list[str]:
    return [error["message"] for error in errors(job, processor_id)]


def left_out(job: Pipeline, processor_id: str) -> int:
    (found,) = [each for each in job.job_status.versions if each.processor_id == processor_id]
    return found.totals.left_out


def test_an_event_that_finishes_thousands_of_partial_matches_stops_the_rule_alone() -> None:
    # Fewer than the limit is by default, as there are many runs: a replay has that one.
    flood, limits = flood_of(11), {"rows_per_event": 1_000}
    flooding = processor("flooding", version(1, EVERY_SUBSET, limits=limits))
    # They share their machine and partial matches with it.
    allowed = processor(
        "allowed", version(1, EVERY_SUBSET, limits={"rows_per_event": ALL_OF_FEWER})
    )
    others = [allowed, processor("plain", version(1, sequence("ab")))]
    alone = run(others, flood)
    assert len(alone.rows_of("match", "allowed")) == ALL_OF_FEWER + 1
    seen = []
    for batches, filters in ((1, True), (1, False), (4, True)):
        job = run([flooding, *others], flood, batches=batches, filters=filters)
        assert contents(without(job.rows, "flooding")) == contents(alone.rows)
        given = [row for row in job.rows_of("match", "flooding") if row.key == '["u"]']
        assert len(given) == 1_000
        assert left_out(job, "flooding") == ALL_OF_FEWER - 1_000
        (told,) = messages(job, "flooding")
        assert told == (
            "more than 1,000 rows of output at one event of a key (rows_per_event); "
            "1,047 matches or timeouts are left out; "
            "narrow the conditions, shorten within, or choose a skip strategy"
        )
        (quarantine,) = job.timeline.quarantined
        assert (quarantine.processor_id, quarantine.since_ms) == ("flooding", 1_020)
        assert job.job_status.totals.left_out == ALL_OF_FEWER - 1_000
        seen.append(contents(given))
    assert seen[0] == seen[1] == seen[2]


def test_a_replayed_flood_is_cut_at_the_same_place() -> None:
    job = job_of(processor("flooding", version(1, EVERY_SUBSET)), shards=1)
    job.batch(FLOOD[:7])
    job.batch(FLOOD[7:])
    job.batch(letters("x", 1_100))
    first, state = list(job.rows), [dict(each) for each in job.states]
    assert len([row for row in first if row.kind == "match"]) == 10_000
    job.replay()
    assert (job.rows, [dict(each) for each in job.states]) == (first, state)


@pytest.mark.parametrize("flood", [count, partial(range, 1_000_000)], ids=["endless", "million"])
def test_a_function_that_gives_out_a_million_rows_is_cut_and_stopped(flood: Any) -> None:
    code = signed_function(Flood(flood))
    flooding = processor("flooding", version(1, sequence("ab"), function=code))
    plain = processor("plain", version(1, sequence("ab")))
    events = [*letters("ab", 1_000), event("a", 1_010, price=13), *letters("b ab", 1_020)]
    job = run([flooding, plain], events)
    assert contents(without(job.rows, "flooding")) == contents(run([plain], events).rows)
    outputs = [row.output for row in job.rows_of("match", "flooding")]
    assert outputs == ["0", *(str(number) for number in range(10_000))]
    assert left_out(job, "flooding") == 1
    assert [item.processor_id for item in job.timeline.quarantined] == ["flooding"]


@pytest.mark.parametrize("limits", [{"rows_per_key": 3}, {"rows_per_shard": 3}])
def test_a_batch_that_brings_too_much_is_cut_and_the_rule_goes_on(limits: Document) -> None:
    flooding = processor("flooding", version(1, sequence("ab"), limits=limits))
    plain = processor("plain", version(1, sequence("ab")))
    job = job_of(flooding, plain, shards=1)
    for begin_ms in (1_000, 2_000):
        job.batch(letters("ab" * 4 + "z", begin_ms), until_ms=begin_ms + 500)
    # Relaxed contiguity without skipping: n events `a` are open when the n-th `b` comes.
    all_of_them = [
        row._replace(processor_id="flooding", match_id=None)
        for row in job.rows_of("match", "plain")
    ]
    given = [row._replace(match_id=None) for row in job.rows_of("match", "flooding")]
    by_batch = [[row for row in all_of_them if (row.end_ms or 0) // 1_000 == n] for n in (1, 2)]
    assert given == [row for rows in by_batch for row in rows[:3]]
    assert left_out(job, "flooding") == len(all_of_them) - 6
    first, second = messages(job, "flooding")
    name = next(iter(limits))
    assert name in first
    assert f"{len(by_batch[0]) - 3} match" in first
    assert f"{len(by_batch[1]) - 3} match" in second
    assert job.timeline.quarantined == ()


def test_one_key_that_brings_too_much_leaves_the_others_theirs() -> None:
    limited = processor("limited", version(1, sequence("ab"), limits={"rows_per_key": 2}))
    events = [*letters("ababab", 1_000), *letters("ab", 1_020, user="v")]
    job = run([limited], events)
    assert [row.key for row in job.rows_of("match")] == ['["u"]', '["u"]', '["v"]']


def test_a_row_that_is_too_large_stops_its_rule() -> None:
    # Bytes count: it has fewer characters than the limit.
    events = [*letters("ab", 1_000), *letters("ab", 1_010, user="ä" * 150), *letters("ab", 1_020)]
    limited = version(1, sequence("ab"), limits={"bytes_per_row": 1_000})
    rules = [processor("limited", limited), processor("free", version(1, sequence("ab")))]
    job = run(rules, events)
    assert [row.end_ms for row in job.rows_of("match", "limited")] == [1_001]
    assert left_out(job, "limited") == 1
    (told,) = messages(job, "limited")
    assert told.startswith("more than 1,000 bytes in a row of output (bytes_per_row); 1 match or")
    assert [item.processor_id for item in job.timeline.quarantined] == ["limited"]
    alone = run(rules[1:], events)
    assert contents(without(job.rows, "limited")) == contents(alone.rows)
    assert len(max((row.events or "" for row in alone.rows), key=len)) < 1_000


def test_timeouts_count_as_well() -> None:
    limits = RowLimits(per_event=5)
    waits = processor("waits", version(1, sequence("ab", within_ms=20)))
    events = [event("a", 1_000) for _ in range(7)] + letters("a", 1_000, user="v")
    job = run([waits], events, limits=limits)
    assert len(job.rows_of("timeout")) == 5
    assert left_out(job, "waits") >= 2
    assert [item.processor_id for item in job.timeline.quarantined] == ["waits"]


def test_a_job_that_is_set_to_fail_fails_at_a_limit() -> None:
    matching = MatchSettings(fails_on_error=True)
    rules = [processor("p", version(1, sequence("ab")))]
    for limits in (RowLimits(per_event=1), RowLimits(per_key=1)):
        with pytest.raises(RuleFailed, match=r"rule p, version 1: more than 1 rows"):
            run(rules, letters("aabb", 1_000), limits=limits, matching=matching)


def test_rows_leave_a_shard_in_chunks_while_it_still_works() -> None:
    limits = RowLimits(per_event=ALL)
    # All events wait, so that another batch matches them.
    job = job_of(
        version(1, EVERY_SUBSET), delay_ms=1_000, shards=1, defaults=RuleDefaults(row_limits=limits)
    )
    job.batch(FLOOD)
    rules = compile_rules(job.timeline, job.stream, job.options.defaults)
    shard = ShardMatcher(0, rules, DictState(job.states[0]), BatchClock(1, 1, 1_199, 0))
    sizes = []
    for chunk in shard.match([]):
        sizes.append(len(chunk))
        assert shard.status.rule("p@1@-9223372036854775808").matches <= sum(sizes)
    assert set(sizes[:3]) == {max(sizes)} == {ROWS_PER_CHUNK}
    assert shard.status.row_kinds["match"] == ALL + 1
    assert sum(shard.status.row_kinds.values()) == sum(sizes)


def test_large_rows_make_short_chunks() -> None:
    chunks = RowChunks()
    chunks.add(OutputRow("late", events="x" * (CHARACTERS_PER_CHUNK // 3)) for _ in range(7))
    assert [len(chunk) for chunk in chunks.rest()] == [4, 3]
    assert list(chunks.rest()) == []
