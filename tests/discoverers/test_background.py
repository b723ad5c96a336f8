"""One thread, and the newest snapshot at any time."""

import threading

import pytest

from discoverers import (
    BackgroundDiscovery,
    Backoff,
    DiscovererHealth,
    FoundProcessors,
    HealthStatus,
    NoSnapshotError,
    PatternProcessorDiscoverer,
    PatternProcessorManager,
    PeriodicPatternProcessorDiscoverer,
)
from tests.discoverers.sources import ScriptedDiscoverer, document, found
from tests.patience import FAR_LONGER_SECONDS, PATIENCE_SECONDS, eventually


class Discoverer(PeriodicPatternProcessorDiscoverer):
    """Waits to be let go, then reads one document or fails."""

    def __init__(self, *, fails: bool = False) -> None:
        super().__init__(
            interval_seconds=FAR_LONGER_SECONDS,
            backoff=Backoff(FAR_LONGER_SECONDS, limit_seconds=FAR_LONGER_SECONDS),
        )
        self.may_answer = threading.Event()
        self._fails = fails

    def get_processors(self) -> FoundProcessors:
        self.may_answer.wait(PATIENCE_SECONDS)
        if self._fails:
            raise ConnectionError("refused")
        return found(document("a"))


def test_the_newest_snapshot_is_read_without_waiting_for_the_source() -> None:
    discoverer = Discoverer()
    (before,) = ScriptedDiscoverer(found()).snapshots()
    with BackgroundDiscovery(discoverer, before) as job:
        assert job.latest() is before
        discoverer.may_answer.set()


def test_the_first_snapshot_is_waited_for() -> None:
    discoverer = Discoverer()
    with BackgroundDiscovery(discoverer) as job:
        assert job.latest() is None
        threading.Timer(0.1, discoverer.may_answer.set).start()
        assert [each.id for each in job.first(PATIENCE_SECONDS).processors] == ["a"]


def test_a_refusal_that_waiting_does_not_mend_ends_the_wait() -> None:
    class Refused(Exception):
        needs_mending = True

    class Refusing(Discoverer):
        def get_processors(self) -> FoundProcessors:
            raise Refused("401 Unauthorized")

    (before,) = ScriptedDiscoverer(found()).snapshots()
    with (
        BackgroundDiscovery(Refusing()) as job,
        pytest.raises(NoSnapshotError, match="401 Unauthorized"),
    ):
        job.first(FAR_LONGER_SECONDS)
    with BackgroundDiscovery(Refusing(), before) as job:
        assert job.first(FAR_LONGER_SECONDS) is before


@pytest.mark.parametrize(
    ("seconds", "failures", "told"),
    [
        (0.2, {}, r"after 0\.2 s: ConnectionError: refused"),
        (FAR_LONGER_SECONDS, {"most_failures": 1}, "refused"),  # of a check
    ],
)
def test_a_source_that_gives_nothing_in_time_is_an_error_that_says_why(
    seconds: float, failures: dict[str, int], told: str
) -> None:
    discoverer = Discoverer(fails=True)
    discoverer.may_answer.set()
    with BackgroundDiscovery(discoverer) as job, pytest.raises(NoSnapshotError, match=told):
        job.first(seconds, **failures)


def test_waiting_can_be_ended() -> None:
    discoverer = Discoverer()
    with BackgroundDiscovery(discoverer) as job:
        threading.Timer(0.1, job.stop_waiting).start()
        with pytest.raises(NoSnapshotError):
            job.first(FAR_LONGER_SECONDS)
        discoverer.may_answer.set()


def test_without_a_source_the_snapshot_of_the_checkpoint_does() -> None:
    discoverer = Discoverer(fails=True)
    discoverer.may_answer.set()
    (before,) = ScriptedDiscoverer(found(document("a"))).snapshots()
    with BackgroundDiscovery(discoverer, before) as job:
        assert job.first(0.1) is before


@pytest.mark.parametrize("fails", [False, True], ids=["a pause", "a backoff"])
def test_a_close_in_the_middle_of_a_pause_is_prompt(*, fails: bool) -> None:
    discoverer = Discoverer(fails=fails)
    discoverer.may_answer.set()
    with BackgroundDiscovery(discoverer) as job:
        eventually(lambda: job.health.consecutive_failures if fails else job.latest())
        job.close(PATIENCE_SECONDS)
        assert not job._thread.is_alive()


def test_a_source_that_hangs_does_not_keep_a_close_waiting_for_ever() -> None:
    discoverer = Discoverer()
    job = BackgroundDiscovery(discoverer)
    with job:
        job.close(timeout_seconds=0.1)
        assert job._thread.is_alive()
        discoverer.may_answer.set()


def test_a_discoverer_that_gives_up_is_seen_in_its_health() -> None:
    class GivesUp(PatternProcessorDiscoverer):
        health = DiscovererHealth(status=HealthStatus.OK)

        def discover_pattern_processor_updates(self, manager: PatternProcessorManager) -> None:
            manager.on_pattern_processors_updated(ScriptedDiscoverer(found()).snapshots()[0])
            raise KeyError("offset")

        def close(self) -> None:
            pass

    with BackgroundDiscovery(GivesUp()) as job:
        job.first(PATIENCE_SECONDS)
        eventually(lambda: job.health.status is HealthStatus.FAILING)
        assert job.health.last_error == "KeyError: 'offset'"
        assert job.latest() is not None
