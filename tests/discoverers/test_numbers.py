"""Epochs and version numbers of sources that have none of their own."""

from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from discoverers import FoundProcessors, Snapshot, content_hash, read_snapshot, snapshot_json
from discoverers.assembly import Reading, assemble
from discoverers.found import found_version
from tests.discoverers.sources import STREAM, ScriptedDiscoverer, actions, document, found, numbers

LATER = "2027-01-01T00:00:00Z"
MUCH_LATER = "2028-01-01T00:00:00Z"

DOCUMENTS = st.lists(
    st.builds(
        lambda name, action, start: (
            document(name, action) | ({"effective_from": start} if start else {})
        ),
        st.sampled_from("abc"),
        st.sampled_from(["fail", "login"]),
        st.sampled_from([None, LATER, MUCH_LATER]),
    ),
    max_size=4,
    unique_by=lambda each: (each["id"], each.get("effective_from")),
)


def histories() -> st.SearchStrategy[list[list[dict[str, Any]]]]:
    return st.lists(DOCUMENTS, min_size=1, max_size=6)


@given(histories())
def test_a_number_stands_for_one_content_and_what_is_later_has_the_greater_one(
    history: list[list[dict[str, Any]]],
) -> None:
    seen: dict[tuple[str, int], Any] = {}
    reading: Reading | None = None
    for documents in history:
        reading = assemble(found(*documents), reading)
        for processor in reading.snapshot.processors:
            for version in processor.versions:
                assert seen.setdefault((processor.id, version.version), version) == version
            starts = [version.effective_from_ms or 0 for version in processor.versions]
            assert starts == sorted(starts)
            assert all(one.version < next_.version for one, next_ in pairwise(processor.versions))


def test_a_version_put_in_front_of_a_scheduled_one_renumbers_that() -> None:
    scheduled = document("a", "login", effective_from=LATER)
    told = ScriptedDiscoverer(
        found(document("a"), scheduled), found(document("a", "x"), scheduled)
    ).snapshots()
    assert [numbers(each) for each in told] == [{"a": [1, 2]}, {"a": [3, 4]}]


@given(histories())
def test_epochs_grow_exactly_when_something_changes(history: list[list[dict[str, Any]]]) -> None:
    reading: Reading | None = None
    for documents in history:
        now = assemble(found(*documents), reading)
        if reading is not None:
            before, after = reading.snapshot, now.snapshot
            assert after.epoch >= before.epoch
            assert (after.epoch == before.epoch) == (content_hash(after) == content_hash(before))
            assert (after.epoch == before.epoch) == (after == before)
        reading = now


@given(histories())
def test_a_restart_from_the_snapshot_alone_changes_no_number(
    history: list[list[dict[str, Any]]],
) -> None:
    going_on: Reading | None = None
    restarted: Snapshot | None = None
    for documents in history:
        going_on = assemble(found(*documents), going_on)
        before = Reading(read_snapshot(snapshot_json(restarted))) if restarted else None
        restarted = assemble(found(*documents), before).snapshot
        assert restarted == going_on.snapshot


@given(DOCUMENTS, histories())
def test_a_content_has_one_hash_wherever_it_was_read(
    documents: list[dict[str, Any]], history: list[list[dict[str, Any]]]
) -> None:
    reading: Reading | None = None
    for earlier in history:
        reading = assemble(found(*earlier), reading)
    later = assemble(found(*reversed(documents)), reading).snapshot
    fresh = assemble(found(*documents), None).snapshot
    assert content_hash(later) == content_hash(fresh)


def test_taking_the_old_version_away_leaves_the_new_one_its_number() -> None:
    new = document("a", "login", effective_from=LATER)
    last = ScriptedDiscoverer(found(document("a"), new), found(new)).snapshots()[-1]
    assert numbers(last) == {"a": [2]}


def test_two_documents_for_one_time_are_a_problem_that_changes_nothing() -> None:
    discoverer = ScriptedDiscoverer(
        found(document("a")), found(document("a", "x"), document("a", "y"), document("b"))
    )
    assert actions(discoverer.snapshots()[-1]) == {"a": ["fail"], "b": ["fail"]}
    assert "same effective_from" in discoverer.health.problems[0].message


def numbered(action: str, number: int) -> FoundProcessors:
    """Return what a source holds that has given a rule this number."""
    version = found_version(document("a", action), "row 1", version=number)
    return FoundProcessors(stream=STREAM, versions=(version,))


def test_other_content_under_the_number_that_runs_is_a_problem_and_what_runs_goes_on() -> None:
    discoverer = ScriptedDiscoverer(numbered("fail", 1), numbered("login", 1))
    (snapshot,) = discoverer.snapshots()
    assert actions(snapshot) == {"a": ["fail"]}
    (problem,) = discoverer.health.problems
    assert "version 1 has another content than before" in problem.message
    assert problem.kept_versions == (1,)
    again = ScriptedDiscoverer(numbered("login", 1), initial=snapshot)
    assert [actions(each) for each in again.snapshots()] == [{"a": ["fail"]}]


def test_a_lower_number_runs_once_the_higher_one_is_gone() -> None:
    discoverer = ScriptedDiscoverer(numbered("login", 2), numbered("fail", 1))
    assert [numbers(each) for each in discoverer.snapshots()] == [{"a": [2]}, {"a": [1]}]
    assert discoverer.health.problems == ()
