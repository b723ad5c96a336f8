"""The promises of a discoverer, whatever its source does."""

import logging

import pytest

from discoverers import (
    FoundProcessors,
    HealthStatus,
    ProcessorProblem,
    Snapshot,
)
from tests.discoverers.sources import (
    STREAM,
    RememberingManager,
    ScriptedDiscoverer,
    actions,
    document,
    found,
    numbers,
)

BROKEN = document("b") | {"pattern": {"steps": [{"name": "x", "where": "acton = 'f'"}]}}


def test_a_failing_source_keeps_the_last_good_set() -> None:
    good = found(document("a"))
    discoverer = ScriptedDiscoverer(good, ConnectionError("down"), TimeoutError(), good)

    (only,) = discoverer.snapshots()
    assert actions(only) == {"a": ["fail"]}


def test_a_manager_is_never_told_of_nothing() -> None:
    discoverer = ScriptedDiscoverer(ConnectionError("down"), None, found(document("a")))

    told = discoverer.snapshots()
    assert [type(each) for each in told] == [Snapshot]


def test_an_identical_snapshot_is_not_handed_on_twice() -> None:
    same = [found(document("a"), document("b")) for _ in range(3)]
    changed = found(document("a"), document("b", "login"))

    told = ScriptedDiscoverer(*same, changed, *same[:1]).snapshots()
    assert [each.epoch for each in told] == [1, 2, 3]


def test_every_snapshot_is_the_full_set() -> None:
    a, b = document("a"), document("b")
    told = ScriptedDiscoverer(found(a), found(a, b), found(b), found()).snapshots()
    assert [list(actions(each)) for each in told] == [["a"], ["a", "b"], ["b"], []]


def test_one_malformed_processor_does_not_keep_the_others_back() -> None:
    discoverer = ScriptedDiscoverer(found(document("a"), BROKEN, document("c")))

    (only,) = discoverer.snapshots()
    assert list(actions(only)) == ["a", "c"]
    (problem,) = discoverer.health.problems
    assert (problem.processor_id, problem.origin) == ("b", "b.yaml")
    assert "pattern.steps[0].where" in problem.message
    assert "Did you mean action?" in problem.message
    assert discoverer.health.status is HealthStatus.OK


def test_a_processor_that_becomes_malformed_stays_as_it_was_last_good() -> None:
    discoverer = ScriptedDiscoverer(
        found(document("a"), document("b")), found(document("a", "login"), BROKEN)
    )

    first, last = discoverer.snapshots()
    assert actions(last) == {"a": ["login"], "b": ["fail"]}
    assert discoverer.health.problems[0].kept_versions == (1,)
    assert first.processors[1] == last.processors[1]


def test_a_processor_stays_while_one_of_its_versions_cannot_be_read() -> None:
    unreadable = ProcessorProblem("a2.yaml", "pattern: missing.", "a")
    discoverer = ScriptedDiscoverer(
        found(document("a")), found(document("a", "login"), problems=(unreadable,))
    )
    assert [actions(each) for each in discoverer.snapshots()] == [{"a": ["fail"]}]


def test_a_processor_that_was_mended_is_no_problem_any_more() -> None:
    discoverer = ScriptedDiscoverer(found(BROKEN), found(document("b")))

    assert actions(discoverer.snapshots()[-1]) == {"b": ["fail"]}
    assert discoverer.health.problems == ()


def test_a_missing_processor_stays_while_its_origin_cannot_be_read() -> None:
    half_written = ProcessorProblem("a.yaml", "not YAML")
    both = found(document("a"), document("b"))
    discoverer = ScriptedDiscoverer(both, found(document("c"), problems=(half_written,)))

    assert list(actions(discoverer.snapshots()[-1])) == ["a", "c"]


def test_a_last_good_processor_that_does_not_fit_new_columns_is_left_out() -> None:
    columns = {"ddl": "user STRING, kind STRING, ts TIMESTAMP", "version": 1}
    redefined = found(document("a"), stream=STREAM.model_copy(update=columns))
    discoverer = ScriptedDiscoverer(found(document("a")), redefined)

    last = discoverer.snapshots()[-1]
    assert (last.processors, last.stream.version) == ([], 2)
    assert discoverer.health.problems[0].processor_id == "a"


def test_health_tells_how_the_source_fares_and_remembers_the_last_error() -> None:
    discoverer = ScriptedDiscoverer(
        found(document("a")), ConnectionError("refused"), ConnectionError("still refused")
    )
    assert discoverer.health.status is HealthStatus.UNKNOWN

    discoverer.snapshots()
    health = discoverer.health
    assert health.status is HealthStatus.FAILING
    assert health.consecutive_failures == 2
    assert health.last_error == "ConnectionError: still refused"
    assert (health.last_success_ms, health.last_error_ms) == (1_000_000, 1_006_000)
    discoverer = ScriptedDiscoverer(OSError("gone"), found(document("a")))
    discoverer.snapshots()

    health = discoverer.health
    assert (health.status, health.consecutive_failures) == (HealthStatus.OK, 0)
    assert health.last_error == "OSError: gone"


def test_failures_are_waited_out_twice_as_long_each_up_to_a_limit_or_as_the_source_asks() -> None:
    discoverer = ScriptedDiscoverer(*[OSError("gone")] * 6, found(), found())
    discoverer.snapshots()
    assert discoverer.time.pauses == [1, 2, 4, 8, 8, 8, 5, 5]

    class Busy(Exception):
        retry_after_seconds = 60.0

    discoverer = ScriptedDiscoverer(Busy(), found())
    discoverer.snapshots()
    assert discoverer.time.pauses[0] == 60


def test_a_manager_that_fails_is_told_again() -> None:
    class FailsOnce(RememberingManager):
        has_failed = False

        def on_pattern_processors_updated(self, snapshot: Snapshot) -> None:
            if not self.has_failed:
                self.has_failed = True
                raise RuntimeError("not yet")
            super().on_pattern_processors_updated(snapshot)

    manager = FailsOnce()
    same = found(document("a"))
    ScriptedDiscoverer(same, same, same).discover_pattern_processor_updates(manager)
    assert manager.has_failed
    assert [list(actions(each)) for each in manager.told] == [["a"]]


def test_after_a_failure_the_source_is_read_without_asking_whether_it_changed() -> None:
    class SaysUnchanged(ScriptedDiscoverer):
        asked = 0

        def should_update(self) -> bool:
            self.asked += 1
            return self.asked > 1

    same = found(document("a"))
    discoverer = SaysUnchanged(same, OSError("gone"), found(document("b")))
    assert [list(actions(each)) for each in discoverer.snapshots()] == [["a"], ["b"]]
    assert discoverer.asked == 2


def test_a_trouble_is_logged_once_and_so_is_its_end(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "percept.discoverers")
    gone = OSError("gone")
    ScriptedDiscoverer(gone, gone, found(BROKEN), found(BROKEN)).snapshots()

    levels = [record.levelname for record in caplog.records]
    assert levels == ["WARNING", "INFO", "WARNING"]


def test_only_what_nobody_foresaw_is_logged_with_its_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ScriptedDiscoverer(OSError("gone"), found(document("a"))).snapshots()
    ScriptedDiscoverer(KeyError("x"), found(document("a"))).snapshots()

    foreseen, unforeseen = caplog.records
    assert "trying again: OSError: gone" in foreseen.getMessage()
    assert (foreseen.exc_info, unforeseen.exc_info is not None) == (None, True)


@pytest.mark.parametrize("set_by_ms", [-3_600_000, 3_600_000])
def test_readings_are_as_far_apart_as_before_if_the_clock_is_set(set_by_ms: int) -> None:
    class Setting(ScriptedDiscoverer):
        def get_processors(self) -> FoundProcessors | None:
            self.time.time_ms += set_by_ms
            return super().get_processors()

    discoverer = Setting(found(), found())
    discoverer.snapshots()
    assert discoverer.time.pauses == [5, 5]


def test_numbers_go_on_from_the_snapshot_of_the_checkpoint() -> None:
    before = ScriptedDiscoverer(
        found(document("a")), found(document("a"), document("b"))
    ).snapshots()[-1]
    after = ScriptedDiscoverer(
        found(document("a"), document("b", "login")), initial=before
    ).snapshots()[-1]

    assert numbers(before) == {"a": [1], "b": [2]}
    assert (after.epoch, numbers(after)) == (3, {"a": [1], "b": [3]})


def test_an_unchanged_source_has_the_epoch_of_the_checkpoint() -> None:
    (before,) = ScriptedDiscoverer(found(document("a"))).snapshots()
    (after,) = ScriptedDiscoverer(found(document("a")), initial=before).snapshots()
    assert before == after


def test_processors_of_the_checkpoint_stay_while_something_unknown_cannot_be_read() -> None:
    (before,) = ScriptedDiscoverer(found(document("a"), document("b"))).snapshots()
    half_written = found(document("a"), problems=(ProcessorProblem("b.yaml", "not YAML"),))
    (after,) = ScriptedDiscoverer(half_written, initial=before).snapshots()
    assert after == before


def test_connections_are_let_go_when_discovering_ends() -> None:
    class Holding(ScriptedDiscoverer):
        released = 0

        def release(self) -> None:
            self.released += 1

    discoverer = Holding(found())
    discoverer.snapshots()
    assert discoverer.released == 1
