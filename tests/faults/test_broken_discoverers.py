"""Whatever a source of rules answers, the last good set stays, and good answers are taken again.

First the discoverer alone, with a few dozen ways to be broken; then a real job, which goes through
all of them while it finds its matches.
"""

import json
import resource
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from discoverers import BackgroundDiscovery, HealthStatus
from discoverers.http import LARGEST_BYTES
from tests.discoverers.sources import running
from tests.faults.broken_service import (
    Behaviour,
    BrokenService,
    answers,
    broken_service,
    drips,
    explodes,
    hangs,
    never_ends,
    rule,
    sends,
    snapshot,
)
from tests.patience import FAR_LONGER_SECONDS, eventually
from tests.processor_runtime.resilience.job_process import (
    JobProcess,
    has_finished,
    job_document,
    write_events,
)
from tests.processor_runtime.written_rows import written

pytestmark = pytest.mark.faults

GOOD: Final = rule("good", "fail")
WHOLE: Final = json.dumps(snapshot(GOOD)).encode()

BROKEN: Final[dict[str, Behaviour]] = {
    # Transport
    "hangs": hangs,
    "drips": drips,
    "closes at once": sends(b""),
    "half a head": sends(b"HTTP/1.1 200 OK\r\nContent-"),
    "half a body": answers(WHOLE, headers={"Content-Length": str(2 * len(WHOLE))}),
    "more than it says": answers(WHOLE, headers={"Content-Length": "10"}),
    "no HTTP": sends(b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03" * 10),
    "a wrong chunk": sends(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc"),
    "a head without end": sends(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 1_000_000),
    "a body without end": never_ends,
    "a body that explodes": explodes,
    "half packed": answers(b"\x1f\x8b\x08\x00garbage", headers={"Content-Encoding": "gzip"}),
    # Statuses
    "500": answers(b"Traceback (most recent call last)", 500),
    "502 of a proxy": answers(b"<html>Bad Gateway</html>", 502),
    "503 for ever": answers(b"", 503, {"Retry-After": "9" * 400}),
    "503 until next year": answers(b"", 503, {"Retry-After": "31536000"}),
    "401": answers({"detail": ["not", "text"]}, 401),
    "204": answers(b"", 204),
    "304 unasked": answers(b"", 304),
    "307 to another place": answers(b"", 307, {"Location": "http://127.0.0.1:1/"}),
    "status 999": answers(b"", 999),
    # Texts
    "nothing": answers(b""),
    "no JSON": answers(b"<html></html>"),
    "half a JSON": answers(WHOLE[:-10]),
    "no UTF-8": answers(WHOLE.replace(b"good", b"g\xff\xfed")),
    "deep JSON": answers(b"[" * 100_000),
    "a number of many digits": answers(b'{"format": 1, "epoch": ' + b"9" * 10_000 + b"}"),
    "null": answers(None),
    "a list": answers([GOOD]),
    # Snapshots
    "of a newer format": answers(snapshot(GOOD) | {"format": 2}),
    "of another stream": answers(snapshot(rule("other", "x"), epoch=9, name="payments")),
    "with columns that are no DDL": answers(snapshot(GOOD, schema="user STRING,,", epoch=9)),
    "with no such event time": answers(snapshot(GOOD, event_time_column="when", epoch=9)),
    "with text as event time": answers(snapshot(GOOD, event_time_column="user", epoch=9)),
    "with no such order": answers(snapshot(GOOD, order_by=["nobody"], epoch=9)),
    "with a negative delay": answers(snapshot(GOOD, allowed_delay_ms=-1, epoch=9)),
    "with an endless delay": answers(snapshot(GOOD, allowed_delay_ms=10**30, epoch=9)),
    "with a negative epoch": answers(snapshot(GOOD, epoch=-1)),
    "with a huge epoch": answers(snapshot(GOOD, epoch=10**30)),
    "without rules as a list": answers(snapshot() | {"processors": {"good": GOOD}}),
}
WRONG_RULES: Final[dict[str, Any]] = {
    "an id that is a number": rule(7, "x"),
    "an id with an at": rule("other@1@2", "x"),
    "an empty id": rule("", "x"),
    "a long id": rule("x" * 100_000, "x"),
    "an id with a slash": rule("../../etc/passwd", "x"),
    "a version of 0": rule("zero", "x", 0),
    "a negative version": rule("negative", "x", -3),
    "a huge version": rule("huge", "x", 2**70),
    "no object": "rule",
    "nothing": None,
    "no versions": rule("none", "x") | {"versions": []},
    "a time beyond all": rule("late", "x", effective_from_ms=10**30),
    "no definition": rule("undefined", "x", definition={}),
}

TRIED_BY_A_JOB: Final = (
    *("hangs", "no HTTP", "half a body", "a body without end", "500", "no JSON", "deep JSON"),
    *("of another stream", "with columns that are no DDL", "with no such event time"),
    *("with an endless delay", "with a huge epoch"),
)


@pytest.fixture
def service() -> Iterator[BrokenService]:
    with broken_service() as running_service:
        yield running_service


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discoverers.http._LONGEST_ASKED_SECONDS", 0.2)
    monkeypatch.setattr("discoverers.clock.Backoff.seconds", lambda _self, _failures: 0.05)


def of_service(service: BrokenService) -> dict[str, Any]:
    return {"type": "http", "url": service.url, "token_env": "TOKEN"}


def discovery_of(service: BrokenService) -> BackgroundDiscovery:
    return running(of_service(service) | {"timeout_seconds": 2}, {"TOKEN": "secret"})


def rules_of(discovery: BackgroundDiscovery) -> set[str]:
    newest = discovery.latest()
    assert newest is not None
    return {processor.id for processor in newest.processors}


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("how", BROKEN)
def test_the_last_good_set_stays_and_the_next_good_one_is_taken(
    how: str, service: BrokenService, record_property: Callable[[str, object], None]
) -> None:
    service.behave(answers(snapshot(GOOD)))
    with discovery_of(service) as discovery:
        first = discovery.first(FAR_LONGER_SECONDS)
        before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        service.behave(BROKEN[how])
        eventually(lambda: service.asked >= 3)
        eventually(lambda: discovery.health.status is HealthStatus.FAILING or how == "304 unasked")
        assert discovery.latest() == first
        grown_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb
        service.behave(answers(snapshot(GOOD, rule("new", "login"), epoch=10)))
        eventually(lambda: rules_of(discovery) == {"good", "new"})
        assert discovery.health.status is HealthStatus.OK
    if grown_kb > 50_000:
        record_property("memory", f"{grown_kb // 1_024} MB more")
    # An answer is held twice at most, while it becomes bytes.
    assert grown_kb * 1_024 < 3 * LARGEST_BYTES


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("what", WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_others_are_taken(what: str, service: BrokenService) -> None:
    service.behave(answers(snapshot(GOOD)))
    with discovery_of(service) as discovery:
        discovery.first(FAR_LONGER_SECONDS)
        service.behave(answers(snapshot(GOOD, WRONG_RULES[what], rule("new", "login"), epoch=2)))
        eventually(lambda: "new" in rules_of(discovery))
        assert rules_of(discovery) == {"good", "new"}
        assert discovery.health.problems


@pytest.mark.nightly
@pytest.mark.spark
def test_a_job_finds_everything_while_its_source_of_rules_is_broken(
    tmp_path: Path, service: BrokenService
) -> None:
    (tmp_path / "in").mkdir()
    service.behave(answers(snapshot(GOOD)))
    document = job_document(
        stream="logins",
        discoverer=of_service(service) | {"timeout_seconds": 0.5, "wait_seconds": 0},
    )
    with JobProcess(tmp_path, document, {"TOKEN": "secret"}) as job:

        def give(number: int, *actions: str) -> None:
            begin_ms = 1_000_000 * (number + 1)
            events = [
                {"user": f"user-{number}", "action": action, "ts": begin_ms + place}
                for place, action in enumerate([*actions, "nothing"])
            ]
            write_events(tmp_path, f"{number:03}", events)
            job.wait_until(lambda: has_finished(tmp_path / "checkpoint", number + 1))

        give(0, "fail")
        for number, name in enumerate(TRIED_BY_A_JOB, start=1):
            # A good answer in between keeps the wait for the next try short.
            for how in (answers(snapshot(GOOD)), BROKEN[name]):
                service.behave(how)
                job.wait_until(lambda: service.asked >= 1)
            give(number, "fail")
        service.behave(answers(snapshot(GOOD, rule("new", "login"), epoch=10)))
        number = len(TRIED_BY_A_JOB) + 1
        while not any(row["processor_id"] == "new" for row in written(tmp_path)):
            give(number, "fail", "login")
            number += 1
        give(number, "nothing")
        assert job.stop() == 0
    found = [row["key"][0] for row in written(tmp_path) if row["processor_id"] == "good"]
    assert sorted(found) == sorted(f"user-{each}" for each in range(number))
