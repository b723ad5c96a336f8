"""When versions are active: one test per promise."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract.snapshot import Snapshot, SnapshotProcessor
from processor_runtime.schedule.interval import BEGINNING_MS, END_MS, EndReason, Interval
from processor_runtime.schedule.phases import Phases
from processor_runtime.schedule.pruning import without_ended
from processor_runtime.schedule.timeline import Quarantine, Timeline, resolve
from processor_runtime.schedule.timeline_document import (
    read_timeline,
    write_timeline,
)
from tests.processor_runtime.core.published import processor, sequence, stream, version

AB, AC = sequence("ab"), sequence("ac")
STREAM = stream()


def snapshot(*processors: SnapshotProcessor) -> Snapshot:
    return Snapshot(format=1, epoch=1, stream=STREAM, processors=list(processors))


def after(
    *steps: tuple[int | None, list[SnapshotProcessor]], failures: tuple[Quarantine, ...] = ()
) -> Timeline:
    """Resolve these snapshots one after the other, each at its newest event time."""
    timeline = Timeline()
    for number, (newest_ms, processors) in enumerate(steps, start=1):
        told = failures if number == len(steps) else ()
        timeline = resolve(timeline, snapshot(*processors), newest_ms, failures=told)
    return timeline


def spans(timeline: Timeline) -> list[tuple[Any, ...]]:
    """Return (version, from, until, why it ends); None for the beginning and the end of time."""
    return [
        (
            item.version,
            None if item.active_from_ms == BEGINNING_MS else item.active_from_ms,
            None if item.active_until_ms == END_MS else item.active_until_ms,
            item.end_reason,
        )
        for item in timeline.intervals
    ]


def failed(item: Interval) -> Quarantine:
    return Quarantine(item.processor_id, item.version, item.digest, "it raised", 90)


V1 = processor("p", version(1, AB))
V2 = processor("p", version(2, AC))


def test_before_the_first_event_a_version_is_active_from_the_beginning() -> None:
    assert spans(after((None, [V1]))) == [(1, None, None, None)]


def test_an_added_version_begins_after_the_newest_event_read() -> None:
    assert spans(after((100, [V1]))) == [(1, 101, None, None)]


def test_a_version_that_is_still_published_is_kept_as_it_is() -> None:
    assert after((100, [V1]), (500, [V1])) == after((100, [V1]))


def test_a_newer_version_replaces_the_older_one_at_one_instant() -> None:
    timeline = after((100, [V1]), (500, [V2]))
    assert spans(timeline) == [(1, 101, 501, EndReason.REPLACED), (2, 501, None, None)]
    assert not any(item.drains for item in timeline.intervals)


def test_a_newer_version_that_drains_lets_the_older_one_finish() -> None:
    drain = processor("p", version(2, AC, on_update="drain"))
    old, new = after((100, [V1]), (500, [drain])).intervals
    assert (old.drains, new.drains) == (True, False)


DRAINING = processor("p", version(2, AC, on_update="drain"))


@pytest.mark.parametrize(
    ("now", "stops_at_ms"),
    [
        pytest.param(
            [processor("p", version(2, AC, on_update="drain"), paused=True)], 801, id="pause"
        ),
        pytest.param([], 801, id="delete"),
        pytest.param([processor("p", version(3, AB))], 801, id="replacement that drops"),
        pytest.param(
            [processor("p", version(2, AC, on_update="drain"), version(3, AB, from_ms=2_000))],
            2_000,
            id="scheduled replacement that drops",
        ),
        pytest.param([processor("p", version(3, AB, on_update="drain"))], END_MS, id="drain again"),
        pytest.param([DRAINING], END_MS, id="nothing"),
    ],
)
def test_draining_ends_where_partial_matches_are_dropped(
    now: list[SnapshotProcessor], stops_at_ms: int
) -> None:
    old, *_ = after((100, [V1]), (500, [DRAINING]), (800, now)).intervals
    assert (old.version, old.drains, old.drains_until_ms) == (1, True, stops_at_ms)


def test_draining_that_has_ended_does_not_begin_again() -> None:
    paused = processor("p", version(2, AC, on_update="drain"), paused=True)
    old, *_ = after((100, [V1]), (500, [DRAINING]), (800, [paused]), (900, [DRAINING])).intervals
    assert old.drains_until_ms == 801


def test_a_scheduled_end_of_draining_can_be_taken_back() -> None:
    scheduled = processor("p", version(2, AC, on_update="drain"), version(3, AB, from_ms=2_000))
    old, *_ = after((100, [V1]), (500, [DRAINING]), (800, [scheduled]), (900, [DRAINING])).intervals
    assert old.drains_until_ms == END_MS


def test_a_removed_processor_ends_and_drops_its_partial_matches() -> None:
    drain = processor("p", version(1, AB, on_update="drain"))
    timeline = after((100, [drain]), (500, []))
    assert spans(timeline) == [(1, 101, 501, EndReason.REMOVED)]
    assert not timeline.intervals[0].drains


def test_a_paused_processor_ends_and_is_told_as_paused() -> None:
    paused = processor("p", version(1, AB), paused=True)
    timeline = after((100, [V1]), (500, [paused]))
    assert spans(timeline) == [(1, 101, 501, EndReason.PAUSED)]
    assert timeline.paused == (("p", 1),)


def test_a_resumed_processor_begins_a_new_interval() -> None:
    paused = processor("p", version(1, AB), paused=True)
    timeline = after((100, [V1]), (500, [paused]), (700, [V1]))
    assert spans(timeline) == [(1, 101, 501, EndReason.PAUSED), (1, 701, None, None)]
    assert len({item.rule_id for item in timeline.intervals}) == 2
    assert timeline.paused == ()


def test_a_scheduled_version_replaces_at_its_instant() -> None:
    both = processor("p", version(1, AB), version(2, AC, from_ms=1_000))
    expected = [(1, 101, 1_000, EndReason.REPLACED), (2, 1_000, None, None)]
    assert spans(after((100, [both]))) == expected
    assert spans(after((100, [V1]), (500, [both]))) == expected
    assert spans(after((100, [V1]), (500, [both]), (2_000, [both]))) == expected


def test_a_scheduled_version_that_drains_lets_the_one_before_finish() -> None:
    both = processor("p", version(1, AB), version(2, AC, from_ms=1_000, on_update="drain"))
    assert [item.drains for item in after((100, [both])).intervals] == [True, False]


def test_a_schedule_in_the_past_begins_after_the_newest_event_read() -> None:
    both = processor("p", version(1, AB), version(2, AC, from_ms=300))
    timeline = after((100, [V1]), (500, [both]))
    assert spans(timeline) == [(1, 101, 501, EndReason.REPLACED), (2, 501, None, None)]


def test_a_schedule_that_is_taken_back_leaves_the_version_before_without_an_end() -> None:
    both = processor("p", version(1, AB), version(2, AC, from_ms=1_000))
    assert after((100, [both]), (500, [V1])) == after((100, [V1]))


def test_a_schedule_that_is_moved_moves_the_switch() -> None:
    early = processor("p", version(1, AB), version(2, AC, from_ms=1_000))
    late = processor("p", version(1, AB), version(2, AC, from_ms=2_000))
    assert after((100, [early]), (500, [late])) == after((100, [late]))


def test_a_version_expires_where_it_says() -> None:
    expiring = processor("p", version(1, AB, until_ms=1_000))
    timeline = after((100, [expiring]))
    assert spans(timeline) == [(1, 101, 1_000, EndReason.EXPIRED)]
    assert not timeline.intervals[0].drains
    assert spans(after((1_000, [expiring]))) == []


def test_a_version_that_expires_drains_if_it_says_so() -> None:
    expiring = processor("p", version(1, AB, until_ms=1_000, on_update="drain"))
    assert after((100, [expiring])).intervals[0].drains


def test_a_version_may_begin_and_end_in_the_future() -> None:
    booked = processor("p", version(1, AB, from_ms=300, until_ms=400))
    assert spans(after((100, [booked]))) == [(1, 300, 400, EndReason.EXPIRED)]


def test_a_version_superseded_before_it_began_never_begins() -> None:
    three = processor(
        "p", version(1, AB), version(2, AC, from_ms=1_000), version(3, AB, from_ms=800)
    )
    assert spans(after((100, [three]))) == [
        (1, 101, 800, EndReason.REPLACED),
        (3, 800, None, None),
    ]


def test_of_two_versions_for_one_instant_the_higher_begins_and_decides_what_drains() -> None:
    three = processor(
        "p",
        version(1, AB),
        version(2, AC, from_ms=800, on_update="drain"),
        version(3, AB, from_ms=800),
    )
    timeline = after((100, [three]))
    assert [span[0] for span in spans(timeline)] == [1, 3]
    assert not any(item.drains for item in timeline.intervals)


def test_a_version_that_expires_where_the_next_begins_is_replaced_by_it() -> None:
    both = processor(
        "p",
        version(1, AB, until_ms=800),
        version(2, AC, from_ms=800, on_update="drain"),
    )
    (old, _) = after((100, [both])).intervals
    assert (old.end_reason, old.drains) == (EndReason.REPLACED, True)


versions = st.builds(
    version,
    st.integers(1, 3),
    st.sampled_from([AB, AC]),
    from_ms=st.none() | st.integers(0, 60),
    until_ms=st.none() | st.integers(0, 60),
    on_update=st.sampled_from(["drop", "drain"]),
)
schedules = st.lists(
    versions, min_size=1, max_size=3, unique_by=lambda published: published.version
).map(lambda published: sorted(published, key=lambda one: one.version))
publications: st.SearchStrategy[list[SnapshotProcessor]] = st.tuples(schedules, st.booleans()).map(
    lambda drawn: [processor("p", *drawn[0], paused=drawn[1])]
) | st.just([])


@given(st.lists(st.tuples(st.integers(0, 20), publications), min_size=1, max_size=6))
def test_what_events_already_read_have_been_promised_never_changes(
    history: list[tuple[int, list[SnapshotProcessor]]],
) -> None:
    timeline, newest_ms = Timeline(), 0
    for passed_ms, published in history:
        before, newest_ms = timeline, newest_ms + passed_ms
        timeline = resolve(before, snapshot(*published), newest_ms)
        for time_ms in range(newest_ms + 1):
            assert active_at(timeline, time_ms) == active_at(before, time_ms)
            assert draining_at(timeline, time_ms) == draining_at(before, time_ms)
        for time_ms in range(newest_ms, newest_ms + 70):
            assert len(active_at(timeline, time_ms)) <= 1
        assert len({item.rule_id for item in timeline.intervals}) == len(timeline.intervals)


def active_at(timeline: Timeline, time_ms: int) -> set[str]:
    return {
        item.rule_id
        for item in timeline.intervals
        if item.active_from_ms <= time_ms < item.active_until_ms
    }


def draining_at(timeline: Timeline, time_ms: int) -> set[str]:
    return {
        item.rule_id
        for item in timeline.intervals
        if item.drains and item.active_until_ms <= time_ms < item.drains_until_ms
    }


def test_a_version_number_that_goes_back_after_a_restored_store_replaces_nonetheless() -> None:
    timeline = after((100, [V2]), (500, [V1]))
    assert spans(timeline) == [(2, 101, 501, EndReason.REPLACED), (1, 501, None, None)]


def test_another_content_under_the_same_number_is_another_version() -> None:
    other = processor("p", version(1, AC))
    timeline = after((100, [V1]), (500, [other]))
    assert spans(timeline) == [(1, 101, 501, EndReason.REPLACED), (1, 501, None, None)]
    assert timeline.intervals[0].digest != timeline.intervals[1].digest


def test_resolving_the_same_snapshot_again_changes_nothing() -> None:
    both = processor("p", version(1, AB), version(2, AC, from_ms=1_000))
    timeline = after((100, [both]))
    for newest_ms in (100, 700, 999, 1_000, 5_000):
        timeline = resolve(timeline, snapshot(both), newest_ms)
        assert spans(timeline) == spans(after((100, [both])))


def test_processors_do_not_concern_each_other() -> None:
    other = processor("q", version(1, AC))
    timeline = after((100, [V1]), (500, [V2, other]), (900, [V2]))
    assert [item for item in timeline.intervals if item.processor_id == "p"] == list(
        after((100, [V1]), (500, [V2])).intervals
    )


# Quarantine


def test_a_failed_version_ends_and_is_told_with_why() -> None:
    failure = failed(after((100, [V1])).intervals[0])
    timeline = after((100, [V1]), (500, [V1]), failures=(failure,))
    assert spans(timeline) == [(1, 101, 501, EndReason.QUARANTINED)]
    assert timeline.quarantined == (failure,)


def test_a_quarantined_version_stays_out_while_it_is_published() -> None:
    failure = failed(after((100, [V1])).intervals[0])
    timeline = after((100, [V1]), (500, [V1]), failures=(failure,))
    again = resolve(timeline, snapshot(V1), 900)
    assert again == timeline


def test_a_version_that_failed_before_it_began_never_begins() -> None:
    both = processor("p", version(1, AB), version(2, AC, from_ms=1_000))
    failure = failed(after((100, [both])).intervals[1])
    timeline = after((100, [V1]), (500, [both]), failures=(failure,))
    assert [span[0] for span in spans(timeline)] == [1]


def test_a_version_that_cannot_run_leaves_the_one_it_would_replace_running() -> None:
    refused = failed(after((100, [V2])).intervals[0])
    timeline = after((100, [V1]), (500, [V2]), failures=(refused,))
    assert spans(timeline) == [(1, 101, None, None)]
    assert timeline.quarantined == (refused,)
    # … until one comes that can.
    third = resolve(timeline, snapshot(processor("p", version(3, AB))), 900)
    assert spans(third) == [(1, 101, 901, EndReason.REPLACED), (3, 901, None, None)]


def test_a_scheduled_version_that_cannot_run_does_not_end_the_one_before_it() -> None:
    both = processor("p", version(1, AB), version(2, AC, from_ms=1_000))
    refused = failed(after((100, [both])).intervals[1])
    assert spans(after((100, [both]), (500, [both]), failures=(refused,))) == [(1, 101, None, None)]


def test_the_one_before_goes_on_to_the_next_scheduled_version() -> None:
    later = processor("p", version(2, AC), version(3, AB, from_ms=1_000))
    refused = failed(after((100, [V2])).intervals[0])
    assert spans(after((100, [V1]), (500, [later]), failures=(refused,))) == [
        (1, 101, 1_000, EndReason.REPLACED),
        (3, 1_000, None, None),
    ]


@pytest.mark.parametrize(
    "lifting",
    [
        pytest.param([V2], id="replaced"),
        pytest.param([processor("p", version(1, AB), paused=True)], id="paused"),
        pytest.param([], id="deleted"),
    ],
)
def test_a_quarantine_is_lifted_when_the_version_is(lifting: list[SnapshotProcessor]) -> None:
    failure = failed(after((100, [V1])).intervals[0])
    timeline = after((100, [V1]), (500, [V1]), failures=(failure,))
    lifted = resolve(timeline, snapshot(*lifting), 700)
    assert lifted.quarantined == ()
    assert spans(resolve(lifted, snapshot(V1), 900))[-1] == (1, 901, None, None)


def test_another_content_under_the_same_number_is_not_quarantined() -> None:
    failure = failed(after((100, [V1])).intervals[0])
    timeline = after((100, [V1]), (500, [V1]), failures=(failure,))
    other = resolve(timeline, snapshot(processor("p", version(1, AC))), 700)
    assert other.quarantined == ()
    assert spans(other)[-1] == (1, 701, None, None)


def test_the_first_reason_of_a_quarantine_is_kept() -> None:
    failure = failed(after((100, [V1])).intervals[0])
    again = replace(failure, reason="it raised elsewhere, too")
    timeline = after((100, [V1]), (500, [V1]), failures=(failure, again))
    assert timeline.quarantined == (failure,)


# Pruning


def test_an_interval_goes_when_its_events_are_processed_and_no_shard_holds_any_of_it() -> None:
    timeline = after((100, [V1]), (500, [V2]))
    idle = frozenset({timeline.intervals[0].rule_id})
    assert without_ended(timeline, 500, idle) is timeline
    assert without_ended(timeline, 501) is timeline
    assert [item.version for item in without_ended(timeline, 501, idle).intervals] == [2]


def test_a_draining_interval_stays_until_no_shard_has_partial_matches_of_it() -> None:
    drain = processor("p", version(2, AC, on_update="drain"))
    timeline = after((100, [V1]), (500, [drain]))
    old = timeline.intervals[0].rule_id
    assert without_ended(timeline, 9_000) is timeline
    assert without_ended(timeline, 500, frozenset({old})) is timeline
    assert [i.version for i in without_ended(timeline, 501, frozenset({old})).intervals] == [2]


def test_a_draining_interval_with_a_window_goes_when_its_last_partial_match_must_have_ended() -> (
    None
):
    windowed = version(1, AB | {"within": "1 second"})
    drain = processor("p", version(2, AC, on_update="drain"))
    timeline = after((100, [processor("p", windowed)]), (500, [drain]))
    assert without_ended(timeline, 501 + 999) is timeline
    assert [i.version for i in without_ended(timeline, 501 + 1_000).intervals] == [2]


# The document


def test_a_timeline_comes_back_from_its_document_as_it_was() -> None:
    both = processor("p", version(1, AB), version(2, AC, from_ms=1_000, on_update="drain"))
    failing, paused = processor("q", version(1, AB)), processor("r", version(4, AB), paused=True)
    failure = failed(after((100, [failing])).intervals[0])
    timeline = after((None, [both, failing]), (500, [both, failing, paused]), failures=(failure,))
    timeline = replace(timeline, processed_ms=77)
    document = write_timeline(timeline, STREAM)
    read, described = read_timeline(document)
    assert read == timeline
    assert [i.definition for i in read.intervals] == [i.definition for i in timeline.intervals]
    assert read.processed_ms == 77
    assert read.intervals[0].end_reason is EndReason.REPLACED
    assert described == STREAM
    assert write_timeline(read, described) == document


# Phases


def test_phases_cut_time_where_the_active_rules_change() -> None:
    drain = processor("p", version(1, AB), version(2, AC, from_ms=1_000, on_update="drain"))
    intervals = after((100, [drain])).intervals
    old, new = (item.rule_id for item in intervals)
    phases = Phases(intervals)
    assert [(phase.from_ms, phase.until_ms) for phase in phases] == [
        (BEGINNING_MS, 101),
        (101, 1_000),
        (1_000, END_MS),
    ]
    assert [phase.starting for phase in phases] == [set(), {old}, {new}]
    assert [phase.going_on for phase in phases] == [set(), {old}, {old, new}]
    assert [phases.at(t) for t in (-5, 100, 101, 999, 1_000, END_MS - 1)] == [*(0, 0, 1, 1, 2, 2)]


def test_the_past_is_one_phase() -> None:
    intervals = after((100, [V1]), (500, [V2])).intervals
    phases = Phases(intervals, past_ms=600)
    assert [(phase.from_ms, phase.until_ms) for phase in phases] == [(BEGINNING_MS, END_MS)]
    assert phases[0].starting == {intervals[1].rule_id}


@pytest.mark.long
def test_ten_thousand_rules_that_switch_together_make_two_phases() -> None:
    many = [
        processor(f"p{number:05}", version(1, AB), version(2, AC, from_ms=1_000))
        for number in range(10_000)
    ]
    intervals = after((None, many)).intervals
    phases = Phases(intervals)
    assert len(intervals) == 20_000
    assert [len(phase.starting) for phase in phases] == [10_000, 10_000]


@pytest.mark.long
def test_a_phase_is_worked_out_when_it_is_asked_for() -> None:
    many = [processor(f"p{n:05}", version(1, AB, from_ms=n)) for n in range(10_000)]
    phases = Phases(after((None, many)).intervals)
    assert len(phases) == 10_001
    assert [len(phases[n].starting) for n in (0, 1, 10_000, -1)] == [0, 1, 10_000, 10_000]
    with pytest.raises(IndexError):
        phases[10_001]
