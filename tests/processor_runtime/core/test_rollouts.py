"""A version tried beside the published one: what each finds, and whose finds count for which key.

Both are compared with jobs that run one of them alone over the same batches.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import from_json

from contract.snapshot import KEY_SHARES, SnapshotProcessor, SnapshotRollout, SnapshotVersion
from processor_runtime.alerting import live_finds
from processor_runtime.alerting.live_finds import LiveFinds, _was_promoted_after
from processor_runtime.driver.batch_record import BatchRecord
from processor_runtime.driver.job_progress import JobProgress
from processor_runtime.driver.pinning import Pin
from processor_runtime.rows.key_hashing import key_bytes, key_part
from processor_runtime.rows.output_rows import OutputRow
from processor_runtime.rows.shard_status import ShardStatus
from processor_runtime.schedule.changes import timeline_changes
from processor_runtime.schedule.interval import BEGINNING_MS, END_MS, EndReason, Interval
from processor_runtime.schedule.rollouts import sharing
from processor_runtime.schedule.timeline_document import read_timeline, write_timeline
from processor_runtime.stages.shard_matcher import MatchSettings
from tests.letters import (
    Document,
    absence,
    event,
    followed,
    job_of,
    letters,
    processor,
    sequence,
    spelled,
    version,
)
from tests.processor_runtime.core.pipeline import Event, Pipeline
from tests.processor_runtime.core.random_rules import KEYS, arrivals, rule_patterns
from tests.properties import slow_property

ALL_KINDS = frozenset({"match", "timeout", "side", "shadow", "late", "error"})
AB, AC = sequence("ab"), sequence("ac")
USERS = "tuvwxyz"


def pipeline(*rules: SnapshotProcessor | SnapshotVersion, **options: Any) -> Pipeline:
    return job_of(*rules, matching=MatchSettings(ALL_KINDS), **options)


def rollout(tried: SnapshotVersion, share: int = 0) -> SnapshotRollout:
    return SnapshotRollout(id="p", version=tried, share=share)


def part_of(*key: str) -> int:
    return key_part(key_bytes(key))


RECORD = BatchRecord(0, 1, 0, 50_000, 0, "", "")
V1, V2 = version(1, AB), version(2, AC)


class TestShadow:
    def test_what_a_version_in_shadow_finds_is_of_kind_shadow_and_counted_apart(self) -> None:
        job = pipeline(V1, rollouts=[rollout(V2)])
        job.batch(letters("abc", 1_000), until_ms=2_000)
        assert sorted(spelled(job.rows)) == ["p1 match a1000 b1001", "p2 shadow a1000 c1002"]
        versions = {each.version: each for each in job.job_status.versions}
        assert versions[2].state == "shadow"
        assert (versions[2].totals.matches, versions[2].totals.shadow) == (0, 1)
        assert (job.job_status.totals.matches, job.job_status.totals.shadow) == (1, 1)

    def test_a_rule_may_be_in_shadow_before_anything_of_it_is_published(self) -> None:
        job = pipeline(rollouts=[rollout(V2)])
        job.batch(letters("ac", 1_000))
        job.publish(processor("p", V2))
        job.batch(letters("ac", 1_010), until_ms=2_000)
        assert spelled(job.rows) == ["p2 shadow a1000 c1001", "p2 match a1010 c1011"]

    def test_promoted_it_is_told_from_when_it_is_published_however_long_ago(self) -> None:
        job = pipeline(V1, rollouts=[rollout(V2)])
        job.batch(letters("a", 1_000))
        job.publish(processor("p", V2))
        told: list[str] = []
        for batch in range(3):
            before = job.timeline
            job.batch(letters("b", 2_000 + batch), until_ms=10_000 * (batch + 1))
            told += timeline_changes(before, job.timeline)
            (interval,) = (each for each in job.timeline.intervals if each.version == 2)
            assert (interval.published_from_ms, interval.active_from_ms) == (1_001, BEGINNING_MS)
            status = JobProgress(1).add(Pin(RECORD, job.timeline, b"", 1), [ShardStatus(0)], 10)
            (version_told,) = (each for each in status.versions if each.version == 2)
            assert (version_told.state, version_told.active_from_ms) == ("active", 1_001)
            timeline, _ = read_timeline(write_timeline(job.timeline, job.stream))
            assert timeline == job.timeline
        assert "p v2: active from 1970-01-01T00:00:01.001Z" in told
        # What was before all that is still to come is forgotten; when it was promoted is not.
        (later,) = sharing([interval], [], 0, 100_000, 90_000)
        assert (later.live_keys, later.published_from_ms) == ((), 1_001)

    def test_taken_back_it_ends_and_the_published_version_has_missed_nothing(self) -> None:
        job = pipeline(V1, rollouts=[rollout(V2, KEY_SHARES - 1)])
        job.batch(letters("a", 1_000))
        job.publish(processor("p", V1))
        job.batch(letters("bc", 1_001), until_ms=2_000)
        assert spelled(job.rows) == ["p1 match a1000 b1001"]
        (ended,) = [item for item in job.timeline.intervals if item.version == 2]
        assert ended.end_reason is EndReason.REMOVED

    def test_timeouts_and_side_rows_of_a_shadow_say_so_in_their_tag(self) -> None:
        job = pipeline(V1, rollouts=[rollout(version(2, sequence("ac", within_ms=5)))])
        job.batch(letters("a", 1_000), until_ms=2_000)
        assert [(row.kind, row.tag) for row in job.rows] == [("shadow", "timeout")]
        assert job.job_status.totals.shadow == 0  # as those that are compared, it counts matches

    def test_no_output_that_does_not_ask_for_shadows_gets_any(self) -> None:
        job = job_of(V1, rollouts=[rollout(V2)])
        job.batch(letters("abc", 1_000), until_ms=2_000)
        assert spelled(job.rows) == ["p1 match a1000 b1001"]
        assert job.job_status.totals.shadow == 1

    def test_what_windows_of_a_shadow_count_still_counts_once_it_is_promoted(self) -> None:
        window = "COUNT(*) OVER (PARTITION BY user LAST INTERVAL '10' MILLISECOND)"
        often = [version(n, followed(("a", f"name = 'a' AND {window} >= {n + 1}"))) for n in (1, 2)]
        job = pipeline(often[0], rollouts=[rollout(often[1])])
        job.batch(letters("aa", 1_000))
        job.publish(processor("p", often[1]))
        job.batch(letters("a", 1_002), until_ms=2_000)
        assert spelled(job.rows) == ["p1 match a1001", "p2 match a1002"]

    def test_a_paused_rule_has_no_shadow_either(self) -> None:
        job = pipeline(processor("p", V1, paused=True), rollouts=[rollout(V2)])
        job.batch(letters("abc", 1_000), until_ms=2_000)
        assert job.rows == []

    @pytest.mark.parametrize("share", [0, KEY_SHARES - 1])
    def test_a_version_that_fails_leaves_its_keys_to_the_published_one(self, share: int) -> None:
        failing = version(2, AB, limits={"partial_matches_per_key": 1})
        user = next(each for each in USERS if part_of(each) < KEY_SHARES - 1)
        job = pipeline(V1, rollouts=[rollout(failing, share)])
        job.batch(letters("aaa b", 1_000, user=user), until_ms=1_500)
        job.batch(letters("ab", 1_600, user=user), until_ms=2_000)
        kinds = Counter((row.version, row.kind) for row in job.rows)
        assert (kinds[1, "match"], kinds[1, "shadow"], kinds[2, "error"]) == (3 + 1, 0, 1)
        assert job.job_status.versions[-1].state == "quarantined"


class TestCanary:
    def test_every_key_is_under_one_version_and_a_greater_share_keeps_its_keys(self) -> None:
        counted: list[set[str]] = []
        for share in (0, 2_000, 5_000, KEY_SHARES - 1):
            job = pipeline(V1, rollouts=[rollout(version(2, AB), share)])
            events = [
                each
                for number in range(200)
                for each in letters("ab", 1_000 + 2 * number, user=f"user {number}")
            ]
            job.batch(events, until_ms=9_000)
            matches = [row for row in job.rows if row.kind == "match"]
            assert len(matches) == len({row.key for row in matches}) == 200
            assert sum(row.kind == "shadow" for row in job.rows) == 200
            counted.append({f"{row.key}" for row in matches if row.version == 2})
        assert counted[0] <= counted[1] <= counted[2] <= counted[3]
        assert 20 <= len(counted[1]) <= 60  # a fifth of 200, by chance
        assert len(counted[3]) >= 198

    def test_windows_of_both_versions_count_all_events_of_their_keys(self) -> None:
        window = "COUNT(*) OVER (PARTITION BY user LAST INTERVAL '10' MILLISECOND)"
        often = followed(("a", f"name = 'a' AND {window} = 2"))
        job = pipeline(version(1, often), rollouts=[rollout(version(2, often), KEY_SHARES // 2)])
        for begin_ms in (1_000, 1_001):
            job.batch([each for user in USERS for each in letters("a", begin_ms, user=user)])
        job.batch([], until_ms=2_000)
        kinds = [row.kind for row in job.rows]
        assert (kinds.count("match"), kinds.count("shadow")) == (len(USERS), len(USERS))
        assert {row.version for row in job.rows if row.kind == "match"} == {1, 2}

    def test_the_share_of_its_own_part_is_not_enough_for_a_key(self) -> None:
        counted = {}
        for more in (0, 1):
            job = pipeline(V1, rollouts=[rollout(version(2, AB), part_of("u") + more)])
            job.batch(letters("ab", 1_000), until_ms=2_000)
            counted[more] = {row.kind: row.version for row in job.rows}
        assert counted == {0: {"match": 1, "shadow": 2}, 1: {"match": 2, "shadow": 1}}

    def test_what_comes_out_at_the_very_end_counts_for_one_version(self) -> None:
        waiting = absence("a", "b", 6)
        user = min(USERS, key=part_of)
        tried = rollout(version(2, waiting), KEY_SHARES - 1)
        job = pipeline(version(1, waiting), rollouts=[tried])
        job.batch([event("a", 1_000, user=user), event("x", 1_005, user=user)])
        job.publish(processor("p", version(1, waiting)))
        job.batch([event("x", 1_006, user=user)], until_ms=2_000)
        assert {row.kind: row.version for row in job.rows} == {"match": 1, "shadow": 2}

    def test_each_change_is_told_in_a_line(self) -> None:
        job = pipeline()
        told = []
        for rollouts in ([rollout(V2)], [rollout(V2, 500)], []):
            before = job.timeline
            job.publish(processor("p", V1), rollouts=rollouts)
            job.batch(letters("a", 1_000 + job.batch_id))
            told.append(list(timeline_changes(before, job.timeline)))
        assert told == [
            ["p v1: active from the first event", "p v2: in shadow from the first event"],
            ["p v2: active for 5 % of the keys from 1970-01-01T00:00:01.001Z"],
            ["p v2: removed at 1970-01-01T00:00:01.002Z"],
        ]


@dataclass(frozen=True, slots=True)
class Story:
    """What arrives, in batches, and what becomes of a rollout before each of them.

    `shares` is the share from a batch on; the rollout begins with the first of them, and ends, or
    is promoted, before the batch `end`.
    """

    delay_ms: int
    batches: Sequence[Sequence[Event]]
    shares: dict[int, int]
    end: int
    is_promoted: bool
    patterns: tuple[Document, Document]
    key_by: Sequence[str] | None
    on_update: str
    replayed: set[int] = field(default_factory=set)


PATTERNS = [
    (AB, AC),
    (sequence("ab", within_ms=6), sequence("ab", within_ms=12)),
    (absence("a", "b", 7), absence("a", "c", 9)),
    (
        sequence("ab", within_ms=8, after_match_skip={"strategy": "skip_past_last_event"}),
        sequence("abc", within_ms=8),
    ),
]
RANDOM = st.tuples(rule_patterns(), rule_patterns())


@st.composite
def stories(draw: st.DrawFn) -> Story:
    users, passing = draw(st.sampled_from(["u", "tv", USERS])), [1, 0, 1, 2, 3]
    drawn = arrivals(delays=[0, 3, 20], users=users, sizes=(8, 50), passing=passing)
    delay_ms, events = draw(drawn)
    cuts = sorted(draw(st.sets(st.integers(1, len(events)), min_size=1, max_size=6)))
    batches = [events[begin:end] for begin, end in pairwise([0, *cuts, len(events)])]
    begin = draw(st.just(0) | st.integers(0, len(batches) - 1))
    # Most go on for as long as anything arrives, and the simplest of them.
    end = len(batches) + 1 - draw(st.integers(0, len(batches) - begin))
    key_by = draw(KEYS)
    parts = sorted({part_of(*(each[name] for name in key_by or ())) for each in events})
    # With the share of a key's own part the key is not yet under the version that is tried.
    edge = st.tuples(st.sampled_from(parts), st.integers(0, 1)).map(sum)
    share = edge.filter(lambda each: each < KEY_SHARES) | st.integers(0, KEY_SHARES - 1)
    shares = {begin: draw(st.one_of(st.just(0), share, share))}
    for number in range(begin + 1, min(end, len(batches))):
        if draw(st.booleans()):
            shares[number] = draw(share)
    return Story(
        delay_ms,
        batches,
        shares,
        end,
        draw(st.booleans()),
        draw(st.one_of(st.sampled_from(PATTERNS), RANDOM, RANDOM)),
        key_by,
        draw(st.sampled_from(["drop", "drain"])),
        draw(st.sets(st.integers(0, len(batches) - 1), max_size=2)),
    )


Found = tuple[int | None, str, str | None, int | None, int | None, str]
"""Version, match or timeout, key, begin, end, events and output."""


def found(rows: Iterable[OutputRow], number: int) -> Counter[Found]:
    """Return what a version has found, whether it counts or not."""
    return Counter(
        (
            row.version,
            "timeout" if "timeout" in {row.kind, row.tag} else "match",
            row.key,
            row.start_ms,
            row.end_ms,
            f"{row.events} {row.output} {row.match_id}",
        )
        for row in rows
        if row.version == number and row.kind in {"match", "timeout", "shadow"}
    )


def run(
    story: Story,
    publish: Sequence[tuple[list[SnapshotProcessor], list[SnapshotRollout]]],
    *,
    replays: bool = False,
) -> list[OutputRow]:
    """Run the batches of a story, with what is published before each of them."""
    job = pipeline(delay_ms=story.delay_ms)
    last: Any = None
    for number, events in enumerate(story.batches):
        if publish[number] != last:
            processors, rollouts = last = publish[number]
            job.publish(*processors, rollouts=rollouts)
        job.batch(events)
        if replays and number in story.replayed:
            job.replay()
    if publish[-1] != last:
        job.publish(*publish[-1][0], rollouts=publish[-1][1])
        job.batch()
    job.advance(3_000)
    return job.rows


@slow_property()
@given(stories())
def test_each_finds_what_it_would_alone_and_one_counts_for_each_key(story: Story) -> None:
    """Run a story, and each of its versions alone."""
    first = version(1, story.patterns[0], key_by=story.key_by)
    second = version(2, story.patterns[1], key_by=story.key_by, on_update=story.on_update)
    begin, places = min(story.shares), range(len(story.batches) + 1)
    share: dict[int, int] = {}
    for place in places:
        share[place] = story.shares.get(place, share.get(place - 1, 0))
    is_tried = {place: begin <= place < story.end for place in places}
    after = second if story.is_promoted else first
    published = {place: after if place >= story.end else first for place in places}
    rows = run(
        story,
        [
            (
                [processor("p", published[place])],
                [rollout(second, share[place])] if is_tried[place] else [],
            )
            for place in places
        ],
        replays=True,
    )
    alone: list[tuple[list[SnapshotProcessor], list[SnapshotRollout]]] = [
        ([processor("p", second)], [])
        if is_tried[place] or (place >= story.end and story.is_promoted)
        else ([], [])
        for place in places
    ]
    assert found(rows, 2) == found(run(story, alone), 2)
    assert found(rows, 1) == found(
        run(story, [([processor("p", published[place])], []) for place in places]), 1
    )
    # Whose finds count: the share that holds at an event time is the newest of those that were
    # set while only earlier events had been read.
    newest_ms = 0
    switches = [(0, 0)]
    for place in places:
        now = share[place] if is_tried[place] else 0
        if place >= story.end and story.is_promoted:
            now = KEY_SHARES
        switches.append((newest_ms + 1, now))
        if place < len(story.batches):
            newest_ms = max([newest_ms, *(each["ts"] for each in story.batches[place])])
    for row in rows:
        if row.kind not in {"match", "timeout", "shadow"}:
            continue
        end_ms = row.end_ms or 0
        first_part = [now for from_ms, now in switches if from_ms <= end_ms][-1]
        is_newer = part_of(*from_json(row.key or "[]")) < first_part
        if story.is_promoted and row.version == 1 and first_part == KEY_SHARES:
            # What it had begun before the other one ran it finishes; the rest is the other one's.
            begun_before = (row.start_ms or 0) < switches[1 + begin][0]
            assert (row.kind != "shadow") == begun_before, row
            continue
        assert (row.kind != "shadow") == (is_newer == (row.version == 2)), row


def test_versions_are_compared_with_others_of_their_rule_alone() -> None:
    """It is done in every batch of every shard: of a thousand rules, not a million times."""
    intervals = [Interval(f"r{number}", 1, BEGINNING_MS, END_MS, "", {}) for number in range(200)]
    before = Interval("p", 1, BEGINNING_MS, 50, "", {})
    after = Interval("p", 2, 10, END_MS, "", {})
    group: Any = SimpleNamespace(
        intervals={each.rule_id: each for each in [*intervals, before, after]}
    )
    with patch.object(live_finds, "_was_promoted_after", wraps=_was_promoted_after) as compared:
        finds = LiveFinds(group)
    assert compared.call_count == 2
    assert [finds.may_be_shadow(each.rule_id) for each in (before, after)] == [True, False]
    assert not any(finds.may_be_shadow(each.rule_id) for each in intervals)
