"""When versions are active: one test per promise."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract import canonical
from contract.snapshot import Snapshot, SnapshotProcessor
from processor_runtime.schedule import timeline
from processor_runtime.schedule.interval import BEGINNING_MS, END_MS, EndReason, Interval
from processor_runtime.schedule.phases import Phases
from processor_runtime.schedule.pruning import without_ended
from processor_runtime.schedule.timeline import Quarantine, Timeline, resolve
from processor_runtime.schedule.timeline_document import read_timeline, write_timeline
from tests.letters import processor, sequence, stream, version

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


def spans(timeline: Timeline) -> list[str]:
    """Return each interval as `v1 101..501 replaced, drains to 801`."""
    return [
        f"v{item.version} "
        + ("" if item.active_from_ms == BEGINNING_MS else f"{item.active_from_ms}")
        + (".." if item.active_until_ms == END_MS else f"..{item.active_until_ms}")
        + (f" {item.end_reason}" if item.end_reason else "")
        + (", drains" if item.drains else "")
        + (f" to {item.drains_until_ms}" if item.drains_until_ms != END_MS else "")
        for item in timeline.intervals
    ]


def failed(item: Interval) -> Quarantine:
    return Quarantine(item.processor_id, item.version, item.digest, "it raised", 90)


V1 = processor("p", version(1, AB))
V2 = processor("p", version(2, AC))
PAUSED = processor("p", version(1, AB), paused=True)
SCHEDULED = processor("p", version(1, AB), version(2, AC, from_ms=1_000))
LATER = processor("p", version(1, AB), version(2, AC, from_ms=2_000))
IN_THE_PAST = processor("p", version(1, AB), version(2, AC, from_ms=300))
EXPIRING = processor("p", version(1, AB, until_ms=1_000))
SUPERSEDED = processor(
    "p", version(1, AB), version(2, AC, from_ms=1_000), version(3, AB, from_ms=800)
)
AT_ONE_INSTANT = processor(
    "p", version(1, AB), version(2, AC, from_ms=800, on_update="drain"), version(3, AB, from_ms=800)
)
EXPIRING_AT_THE_NEXT = processor(
    "p", version(1, AB, until_ms=800), version(2, AC, from_ms=800, on_update="drain")
)
DRAINING = processor("p", version(2, AC, on_update="drain"))
DRAINS = version(1, AB, on_update="drain")
SCHEDULED_DRAIN = processor("p", version(1, AB), version(2, AC, from_ms=1_000, on_update="drain"))
SWITCH = ["v1 101..1000 replaced", "v2 1000.."]
DRAINING_PAUSED = DRAINING.model_copy(update={"paused": True})
OTHER_CONTENT = processor("p", version(1, AC))
DROP_SCHEDULED = processor("p", *DRAINING.versions, version(3, AB, from_ms=2_000))


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        pytest.param([(None, [V1])], ["v1 .."], id="before the first event: from the beginning"),
        pytest.param([(100, [V1])], ["v1 101.."], id="added: after the newest event read"),
        pytest.param(
            [(100, [V1]), (500, [V2])],
            ["v1 101..501 replaced", "v2 501.."],
            id="a newer version replaces the older one at one instant",
        ),
        pytest.param(
            [(100, [V1]), (500, [DRAINING])],
            ["v1 101..501 replaced, drains", "v2 501.."],
            id="a newer version that drains lets the older one finish",
        ),
        pytest.param(
            [(100, [processor("p", DRAINS)]), (500, [])],
            ["v1 101..501 removed"],
            id="removed: partial matches are dropped",
        ),
        pytest.param([(100, [V1]), (500, [PAUSED])], ["v1 101..501 paused"], id="paused"),
        pytest.param(
            [(100, [V1]), (500, [PAUSED]), (700, [V1])],
            ["v1 101..501 paused", "v1 701.."],
            id="resumed: a new interval",
        ),
        pytest.param([(100, [SCHEDULED])], SWITCH, id="scheduled: at its instant"),
        pytest.param([(100, [V1]), (500, [SCHEDULED])], SWITCH, id="scheduled later"),
        pytest.param(
            [(100, [V1]), (500, [SCHEDULED]), (2_000, [SCHEDULED])], SWITCH, id="over by now"
        ),
        pytest.param(
            [(100, [SCHEDULED_DRAIN])],
            ["v1 101..1000 replaced, drains", "v2 1000.."],
            id="a scheduled version that drains",
        ),
        pytest.param(
            [(100, [V1]), (500, [IN_THE_PAST])],
            ["v1 101..501 replaced", "v2 501.."],
            id="scheduled in the past: after the newest event read",
        ),
        pytest.param([(100, [EXPIRING])], ["v1 101..1000 expired"], id="expires where it says"),
        pytest.param([(1_000, [EXPIRING])], [], id="has expired"),
        pytest.param(
            [(100, [processor("p", version(1, AB, until_ms=1_000, on_update="drain"))])],
            ["v1 101..1000 expired, drains"],
            id="expires and drains if it says so",
        ),
        pytest.param(
            [(100, [processor("p", version(1, AB, from_ms=300, until_ms=400))])],
            ["v1 300..400 expired"],
            id="begins and ends in the future",
        ),
        pytest.param(
            [(100, [SUPERSEDED])],
            ["v1 101..800 replaced", "v3 800.."],
            id="superseded before it began: never begins",
        ),
        pytest.param(
            [(100, [AT_ONE_INSTANT])],
            ["v1 101..800 replaced", "v3 800.."],
            id="of two for one instant the higher begins and decides what drains",
        ),
        pytest.param(
            [(100, [EXPIRING_AT_THE_NEXT])],
            ["v1 101..800 replaced, drains", "v2 800.."],
            id="expires where the next begins: replaced by it",
        ),
        pytest.param(
            [(100, [V2]), (500, [V1])],
            ["v2 101..501 replaced", "v1 501.."],
            id="a number that goes back after a restored store replaces nonetheless",
        ),
        pytest.param(
            [(100, [V1]), (500, [OTHER_CONTENT])],
            ["v1 101..501 replaced", "v1 501.."],
            id="another content under the same number is another version",
        ),
    ],
)
def test_when_versions_are_active(history: list[Any], expected: list[str]) -> None:
    timeline = after(*history)
    assert spans(timeline) == expected
    assert len({item.rule_id for item in timeline.intervals}) == len(expected)
    assert timeline.paused == ((("p", 1),) if history[-1][1] == [PAUSED] else ())


@pytest.mark.parametrize(
    ("now", "to"),
    [
        pytest.param([(800, [DRAINING_PAUSED])], " to 801", id="pause"),
        pytest.param([(800, [])], " to 801", id="delete"),
        pytest.param([(800, [processor("p", version(3, AB))])], " to 801", id="drop"),
        pytest.param([(800, [DROP_SCHEDULED])], " to 2000", id="scheduled drop"),
        pytest.param(
            [(800, [processor("p", version(3, AB, on_update="drain"))])], "", id="drain again"
        ),
        pytest.param([(800, [DRAINING])], "", id="nothing"),
        pytest.param(
            [(800, [DRAINING_PAUSED]), (900, [DRAINING])], " to 801", id="over, not begun again"
        ),
        pytest.param([(800, [DROP_SCHEDULED]), (900, [DRAINING])], "", id="schedule taken back"),
    ],
)
def test_draining_ends_where_partial_matches_are_dropped(now: list[Any], to: str) -> None:
    old, *_ = spans(after((100, [V1]), (500, [DRAINING]), *now))
    assert old == f"v1 101..501 replaced, drains{to}"


@pytest.mark.parametrize(
    ("now", "as_if"),
    [
        pytest.param([(100, [V1]), (500, [V1])], V1, id="still published"),
        pytest.param([(100, [SCHEDULED]), (500, [V1])], V1, id="a schedule taken back"),
        pytest.param([(100, [SCHEDULED]), (500, [LATER])], LATER, id="a schedule moved"),
    ],
)
def test_what_has_not_begun_leaves_no_trace(now: list[Any], as_if: SnapshotProcessor) -> None:
    assert after(*now) == after((100, [as_if]))


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


def test_resolving_the_same_snapshot_again_changes_nothing() -> None:
    timeline = after((100, [SCHEDULED]))
    for newest_ms in (100, 700, 999, 1_000, 5_000):
        timeline = resolve(timeline, snapshot(SCHEDULED), newest_ms)
        assert spans(timeline) == SWITCH


def test_processors_do_not_concern_each_other() -> None:
    other = processor("q", version(1, AC))
    timeline = after((100, [V1]), (500, [V2, other]), (900, [V2]))
    assert [item for item in timeline.intervals if item.processor_id == "p"] == list(
        after((100, [V1]), (500, [V2])).intervals
    )


# Quarantine


FAILED = failed(after((100, [V1])).intervals[0])
QUARANTINED = after((100, [V1]), (500, [V1]), failures=(FAILED,))


def test_a_failed_version_ends_is_told_with_its_first_reason_and_stays_out() -> None:
    again = replace(FAILED, reason="it raised elsewhere, too")
    timeline = after((100, [V1]), (500, [V1]), failures=(FAILED, again))
    assert spans(timeline) == ["v1 101..501 quarantined"]
    assert timeline.quarantined == (FAILED,)
    assert timeline == QUARANTINED == resolve(timeline, snapshot(V1), 900)


def test_a_version_that_cannot_run_leaves_the_one_it_would_replace_running() -> None:
    refused = failed(after((100, [V2])).intervals[0])
    timeline = after((100, [V1]), (500, [V2]), failures=(refused,))
    assert spans(timeline) == ["v1 101.."]
    assert timeline.quarantined == (refused,)
    # … until one comes that can.
    third = resolve(timeline, snapshot(processor("p", version(3, AB))), 900)
    assert spans(third) == ["v1 101..901 replaced", "v3 901.."]
    later = processor("p", *V2.versions, version(3, AB, from_ms=1_000))
    timeline = after((100, [V1]), (500, [later]), failures=(refused,))
    assert spans(timeline) == ["v1 101..1000 replaced", "v3 1000.."]


@pytest.mark.parametrize("before", [V1, SCHEDULED])
def test_a_version_that_failed_before_it_began_never_begins(before: SnapshotProcessor) -> None:
    refused = failed(after((100, [SCHEDULED])).intervals[1])
    timeline = after((100, [before]), (500, [SCHEDULED]), failures=(refused,))
    assert spans(timeline) == ["v1 101.."]


@pytest.mark.parametrize(
    ("lifting", "then"),
    [
        pytest.param([V2], V1, id="replaced"),
        pytest.param([PAUSED], V1, id="paused"),
        pytest.param([], V1, id="deleted"),
        pytest.param([OTHER_CONTENT], OTHER_CONTENT, id="another content under the number"),
    ],
)
def test_a_quarantine_is_lifted_when_the_version_is(
    lifting: list[SnapshotProcessor], then: SnapshotProcessor
) -> None:
    lifted = resolve(QUARANTINED, snapshot(*lifting), 700)
    assert lifted.quarantined == ()
    begins_ms = 701 if lifting == [then] else 901
    assert spans(resolve(lifted, snapshot(then), 900))[-1] == f"v1 {begins_ms}.."


# Pruning


def test_an_interval_goes_when_its_events_are_processed_and_no_shard_holds_any_of_it() -> None:
    timeline = after((100, [V1]), (500, [V2]))
    idle = frozenset({timeline.intervals[0].rule_id})
    assert without_ended(timeline, 500, idle) is timeline
    assert without_ended(timeline, 501) is timeline
    assert [item.version for item in without_ended(timeline, 501, idle).intervals] == [2]


def test_a_draining_interval_stays_until_no_shard_has_partial_matches_of_it() -> None:
    timeline = after((100, [V1]), (500, [DRAINING]))
    old = timeline.intervals[0].rule_id
    assert without_ended(timeline, 9_000) is timeline
    assert without_ended(timeline, 500, frozenset({old})) is timeline
    assert [i.version for i in without_ended(timeline, 501, frozenset({old})).intervals] == [2]


def test_a_draining_interval_with_a_window_goes_when_its_last_partial_match_has_ended() -> None:
    windowed = processor("p", version(1, AB | {"within": "1 second"}))
    timeline = after((100, [windowed]), (500, [DRAINING]))
    assert without_ended(timeline, 501 + 999) is timeline
    assert [i.version for i in without_ended(timeline, 501 + 1_000).intervals] == [2]


# The document


def test_a_timeline_comes_back_from_its_document_as_it_was() -> None:
    both = SCHEDULED_DRAIN
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
    intervals = after((100, [SCHEDULED_DRAIN])).intervals
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


def test_a_rule_is_hashed_once_for_a_timeline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of ten thousand rules of which one has changed, each hash more takes a third of a second."""
    hashed: list[Any] = []

    def content_hash(value: Any) -> str:
        hashed.append(value)
        return canonical.content_hash(value)

    monkeypatch.setattr(timeline, "content_hash", content_hash)
    rules = [processor(f"p{number}", version(1, AB)) for number in range(9)]
    before = resolve(Timeline(), snapshot(*rules), None)
    assert len(hashed) == len(rules)
    hashed.clear()
    resolve(before, snapshot(processor("p0", version(2, AC)), *rules[1:]), 100)
    assert len(hashed) == len(rules)
