"""What goes into each heartbeat: little, the most telling first, and in the end everything."""

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from contract.report_parts import ReportPart, VersionReport
from contract.reports import HeartbeatAnswer, RunningVersion

Known = dict[tuple[str, int], RunningVersion]


@dataclass
class Service:
    """What a service knows after the parts it was sent, by the rules of the heartbeat."""

    known: Known = field(default_factory=dict)

    def take(self, part: ReportPart) -> HeartbeatAnswer:
        if part.replaces_all:
            self.known.clear()
        for version in part.versions:
            key = (version.processor_id, version.version)
            self.known[key] = version
            if version.state == "superseded":
                del self.known[key]
        differs = part.held_versions is not None and part.held_versions != len(self.known)
        return HeartbeatAnswer(resend_all=differs, newest_epoch=1)


def version(name: str, state: str = "active", matches: int = 0) -> RunningVersion:
    return RunningVersion.model_validate(
        {"processor_id": name, "version": 1, "state": state, "counters": {"matches": matches}}
    )


def names(part: ReportPart) -> list[str]:
    return [each.processor_id for each in part.versions]


def told(report: VersionReport, service: Service, *running: RunningVersion) -> ReportPart:
    part = report.next_part(running)
    report.acknowledge(part, service.take(part))
    return part


def test_only_what_has_changed_is_told() -> None:
    report, service = VersionReport(), Service()
    assert names(told(report, service, version("a"), version("b"))) == ["a", "b"]
    assert names(told(report, service, version("a"), version("b", matches=1))) == ["b"]
    assert names(told(report, service, version("a"), version("b", matches=1))) == []


def test_a_version_that_runs_no_more_is_told_once_as_superseded() -> None:
    report, service = VersionReport(), Service()
    told(report, service, version("a"), version("b"))
    (gone,) = told(report, service, version("a")).versions
    assert (gone.processor_id, gone.state) == ("b", "superseded")
    assert names(told(report, service, version("a"))) == []


def test_what_is_counted_for_a_version_after_its_end_is_told_too() -> None:
    report, service = VersionReport(), Service()
    told(report, service, version("a"), version("b", "quarantined", matches=1))
    (gone,) = told(report, service, version("a"), version("b", "superseded", matches=3)).versions
    assert (gone.state, gone.counters.matches) == ("superseded", 3)
    (again,) = told(report, service, version("a"), version("b", "superseded", matches=4)).versions
    assert again.counters.matches == 4
    part = told(report, service, version("a"), version("b", "superseded", matches=4))
    assert (names(part), part.held_versions) == ([], 1)


def test_a_version_that_had_ended_before_the_service_knew_of_it_is_not_told() -> None:
    part = VersionReport().next_part([version("a"), version("b", "superseded", matches=3)])
    assert (names(part), part.held_versions) == (["a"], 1)


def test_new_states_go_before_counters_and_the_longest_untold_counters_first() -> None:
    report, service = VersionReport(versions_per_heartbeat=2), Service()
    for _ in range(2):
        told(report, service, *map(version, "abcd"))
    moved = [version(name, matches=1) for name in "abc"]
    first = told(report, service, *moved, version("d", "quarantined"))
    assert (names(first), first.held_versions) == (["d", "a"], 4)
    moved[0] = version("a", matches=2)
    assert names(told(report, service, *moved, version("d", "quarantined"))) == ["b", "c"]
    assert names(told(report, service, *moved, version("d", "quarantined"))) == ["a"]


def test_long_tracebacks_make_a_part_smaller_but_never_empty() -> None:
    report = VersionReport(bytes_per_heartbeat=9_000)
    broken = [
        version(name, "quarantined").model_copy(update={"traceback": "t" * 4_000}) for name in "abc"
    ]
    assert names(report.next_part(broken)) == ["a", "b"]
    assert names(VersionReport(bytes_per_heartbeat=1).next_part(broken)) == ["a"]


STATES = st.sampled_from(["pending", "active", "draining", "paused", "quarantined"])
RUNNING = st.dictionaries(st.sampled_from("abcdef"), st.tuples(STATES, st.integers(0, 3)))
ROUNDS = st.lists(st.tuples(RUNNING, st.sampled_from(["arrives", "lost", "answer lost", "reset"])))


@given(rounds=ROUNDS, limit=st.integers(1, 3))
def test_whatever_gets_lost_the_service_comes_to_know_what_runs(
    rounds: list[tuple[dict[str, tuple[str, int]], str]], limit: int
) -> None:
    report, service = VersionReport(versions_per_heartbeat=limit), Service()
    running: list[RunningVersion] = []
    for wanted, what_happens in rounds:
        running = [version(name, *fields) for name, fields in wanted.items()]
        part = report.next_part(running)
        assert len(part.versions) <= limit
        if what_happens == "reset":
            service.known.clear()
        if what_happens != "lost":
            answer = service.take(part)
            if what_happens != "answer lost":
                report.acknowledge(part, answer)

    for _ in range(30):
        told(report, service, *running)
    assert sorted(service.known.values(), key=str) == sorted(running, key=str)
