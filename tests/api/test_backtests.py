"""Backtests are asked for, given to workers in turns, told of, ended, cancelled and forgotten."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from api.backtests.service import WORKER_SEEN_MS
from api.backtests.turns import TURN_MS
from api.store.waits import CLOCKS_APART_MS
from contract.service.tokens import Role
from tests.api.documents import PATTERN, processor_document
from tests.api.running import START_MS, Service
from tests.api.triage import bulk, found, post, selected

PATH = "/v1/backtests"
WIDER = PATTERN | {"within": "1 hour"}


def request(service: Service, status: int = 202, **body: Any) -> Any:
    return service.post(PATH, Role.AUTHOR, body, expect=status)


def read(service: Service, path: str) -> Any:
    return service.get(f"{PATH}{path}")


def of_job(service: Service, path: str, status: int = 200, **body: Any) -> Any:
    return service.post(f"{PATH}{path}", Role.JOB, body, expect=status)


def claim(service: Service, worker: str = "one", streams: tuple[str, ...] = ("logins",)) -> Any:
    return of_job(service, "/workers/claim", worker=worker, streams=list(streams))["task"]


def report(matches: int = 3, **of_rule: Any) -> dict[str, Any]:
    begin, end = "2026-11-01T08:00:00.000Z", "2026-11-01T09:00:00.000Z"
    nothing = {"timeouts": 0, "suppressed": 0, "left_out": 0, "partial_matches_at_the_end": 0}
    rule = {
        "rule": "failed-logins",
        "matches": matches,
        "partial_matches_at_most": 2,
        "error": None,
        "by_hour": {begin: matches},
        "keys": 1,
        "top_keys": {"eve": matches},
        "samples": [],
    }
    read = {"events": 10, "unusable_events": 0, "first_event": begin, "last_event": end}
    took = {"seconds": 0.5, "events_per_second": 20, "peak_state_bytes": 100}
    return read | took | {"problems": [], "rules": [nothing | rule | of_rule]}


def outcome(service: Service, task: Any, status: int = 200, **ended: Any) -> Any:
    its_turn = {"worker": ended.pop("worker", "one"), "attempt": task["attempt"]}
    return of_job(service, f"/{task['number']}/outcome", status, **its_turn, **ended)


def asked(service: Service, status: int = 202, **options: Any) -> Any:
    """Ask for a backtest of the rule as it is."""
    return request(service, status, processor_id="failed-logins", **options)


def progress(service: Service, number: int) -> Any:
    """Let the worker `one` tell how far it is, and return what it is told."""
    counts: dict[str, Any] = {"attempt": 1, "events_done": 5, "events_total": 20}
    return of_job(service, f"/{number}/progress", worker="one", **counts)


def test_a_rule_is_run_as_it_is_or_as_a_document(with_rule: Service) -> None:
    with_rule.publish(pattern=WIDER)
    newest = asked(with_rule, against=1)
    assert (newest["version"], newest["against_version"], newest["state"]) == (2, 1, "queued")
    draft = request(with_rule, document=processor_document(key_by=None), against="published")
    assert (draft["version"], draft["against_version"]) == (None, 2)
    unknown = request(with_rule, document=processor_document(id="new"), against="published")
    assert (unknown["processor_id"], unknown["against_version"]) == ("new", None)
    tasks = [claim(with_rule) for _ in range(3)]
    numbers = [each["number"] for each in (newest, draft, unknown)]
    assert [task["number"] for task in tasks] == numbers
    assert tasks[0]["document"]["pattern"] == WIDER
    assert tasks[0]["against"]["pattern"] == PATTERN
    assert tasks[0]["stream"]["event_time_column"] == "ts"
    assert (tasks[2]["against"], claim(with_rule)) == (None, None)
    same = read(with_rule, f"?content_hash={newest['content_hash']}")["items"]
    assert [each["number"] for each in same] == [newest["number"]]


def test_a_proposal_says_which_backtests_are_of_what_it_proposes(with_stream: Service) -> None:
    example = {"events": [{"action": "fail", "ts": "2026-11-01T08:00:00Z"}], "matches": []}
    for more in (
        {},
        {"effective_from": "2030-01-01T00:00:00Z", "description": "labels do not count"},
        {"examples": [example], "severity": "high"},
    ):
        document = processor_document(**more)
        proposal = with_stream.done("POST", "/v1/proposals", {"document": document})
        backtest = request(with_stream, document=document)
        assert proposal["content_hash"] == backtest["content_hash"], more


def test_what_cannot_be_run_is_refused_and_so_many_may_wait(with_rule: Service) -> None:
    document = processor_document()
    for status, body in (
        (422, {}),
        (422, {"processor_id": "failed-logins", "document": document}),
        (422, {"document": document, "version": 1}),
        (404, {"processor_id": "nowhere"}),
        (404, {"processor_id": "failed-logins", "version": 7}),
        (404, {"processor_id": "failed-logins", "against": 7}),
        (404, {"document": document | {"stream": "nowhere"}}),
    ):
        request(with_rule, status, **body)
    times: dict[str, Any] = {"since": "2026-11-02T00:00:00Z", "until": "2026-11-01T00:00:00Z"}
    assert "/until" in str(asked(with_rule, 422, **times))
    assert "nobody" in str(request(with_rule, 422, document=document | {"key_by": ["nobody"]}))
    assert read(with_rule, "")["items"] == []
    for _ in range(20):
        asked(with_rule)
    assert "20 backtests" in asked(with_rule, 409)["detail"]
    outcome(with_rule, claim(with_rule), report=report())
    asked(with_rule)
    with_rule.done("DELETE", "/v1/processors/failed-logins")
    asked(with_rule, 404)


def test_progress_and_result_are_shown(with_rule: Service) -> None:
    number = asked(with_rule, against="published")["number"]
    task = claim(with_rule)
    assert progress(with_rule, number) == {"goes_on": True}
    running = read(with_rule, f"/{number}")
    shown = [running[name] for name in ("state", "events_done", "events_total", "worker", "report")]
    assert shown == ["running", 5, 20, "one", None]
    compared = {"both": 2, "gained": 1, "lost": 4, "first_gained": [], "first_lost": []}
    ended = outcome(with_rule, task, report=report(against=compared))
    assert [ended[name] for name in ("state", "matches", "gained", "lost")] == ["done", 3, 1, 4]
    whole = read(with_rule, f"/{number}")
    assert whole["report"]["rules"][0]["by_hour"] == {"2026-11-01T08:00:00.000Z": 3}
    assert whole["document"]["id"] == "failed-logins"
    outcome(with_rule, task, 409, report=report())
    asked(with_rule)
    outcome(with_rule, claim(with_rule), error="row 7: no number")
    (failed,) = read(with_rule, "?state=failed")["items"]
    assert (failed["number"], failed["error"]) == (number + 1, "row 7: no number")


def test_a_cancelled_backtest_stops(with_rule: Service) -> None:
    number = asked(with_rule)["number"]
    task = claim(with_rule)
    for _ in range(2):
        cancelled = with_rule.post(f"{PATH}/{number}/cancel", Role.AUTHOR)
        assert cancelled["state"] == "cancelled"
    assert progress(with_rule, number) == {"goes_on": False}
    outcome(with_rule, task, 409, report=report())
    assert claim(with_rule) is None
    log = with_rule.log(action="backtest.cancel")
    assert [each["subject"] for each in log] == [f"{number}"]


def test_a_silent_worker_loses_its_turn_also_after_the_clock_was_set_back(
    with_rule: Service,
) -> None:
    number = asked(with_rule)["number"]
    claim(with_rule, "one")
    with_rule.clock.time_ms -= CLOCKS_APART_MS
    assert claim(with_rule, "two") is None
    with_rule.clock.time_ms -= 3_600_000
    assert claim(with_rule, "two")["number"] == number


def test_a_silent_worker_loses_its_turn_three_times(with_rule: Service) -> None:
    number = asked(with_rule)["number"]
    first = claim(with_rule, "one")
    with_rule.clock.time_ms += TURN_MS // 2
    progress(with_rule, number)
    with_rule.clock.time_ms += TURN_MS // 2 + 1
    assert claim(with_rule, "two") is None  # it was told of in between
    with_rule.clock.time_ms += TURN_MS
    second = claim(with_rule, "two")
    assert (second["number"], second["attempt"]) == (number, 2)
    assert progress(with_rule, number) == {"goes_on": False}
    outcome(with_rule, first, 409, report=report())
    with_rule.clock.time_ms += TURN_MS + 1
    assert claim(with_rule, "one")["attempt"] == 3
    with_rule.clock.time_ms += TURN_MS + 1
    assert claim(with_rule, "one") is None
    failed = read(with_rule, f"/{number}")
    assert (failed["state"], "3 workers" in failed["error"]) == ("failed", True)


def test_a_worker_that_stops_gives_its_backtest_back(with_rule: Service) -> None:
    number = asked(with_rule)["number"]
    for _ in range(5):
        task = claim(with_rule, "one")
        assert (task["number"], task["attempt"]) == (number, 1)
        of_job(with_rule, f"/{number}/release", 409, worker="two", attempt=1)
        back = of_job(with_rule, f"/{number}/release", worker="one", attempt=1)
        assert (back["state"], back["started_at"], back["worker"]) == ("queued", None, "")
        of_job(with_rule, f"/{number}/release", 409, worker="one", attempt=1)
        outcome(with_rule, task, 409, report=report())
    outcome(with_rule, claim(with_rule, "two"), worker="two", report=report())
    assert read(with_rule, f"/{number}")["state"] == "done"


def test_each_backtest_goes_to_one_of_many_workers(with_rule: Service) -> None:
    numbers = {asked(with_rule)["number"] for _ in range(12)}
    with ThreadPoolExecutor(6) as threads:
        tasks = list(threads.map(lambda place: claim(with_rule, f"w{place % 4}"), range(18)))
    # One that asks while another one is given its turn may get nothing, and asks again.
    tasks += [claim(with_rule) for _ in range(12)]
    assert sorted(task["number"] for task in tasks if task) == sorted(numbers)


def test_a_worker_gets_backtests_of_its_streams_alone(with_rule: Service) -> None:
    def workers() -> list[str]:
        seen = read(with_rule, "/workers?stream=logins")["workers"]
        return [each["name"] for each in seen]

    asked(with_rule)
    assert claim(with_rule, streams=("payments",)) is None
    assert workers() == []
    assert claim(with_rule, streams=("payments", "logins")) is not None
    assert workers() == ["one"]
    with_rule.clock.time_ms += WORKER_SEEN_MS + 1
    assert workers() == []


def test_what_people_decided_about_matches_goes_with_it(with_rule: Service) -> None:
    post(with_rule, found(1), found(2, version=2), found(3), found(4, kind="timeout"))
    bulk(with_rule, {"status": "resolved", "matches": selected(1, 4)})
    bulk(with_rule, {"status": "false_positive", "matches": selected(2)})
    asked(with_rule)
    asked(with_rule, takes_labels=False)
    labels = claim(with_rule)["labels"]
    assert [(each["is_true"], each["key"], each["end_ms"]) for each in labels] == [
        (False, ["eve"], START_MS + 2),
        (True, ["eve"], START_MS + 1),
    ]
    assert claim(with_rule)["labels"] == []


def test_labels_are_of_the_time_of_a_backtest(
    with_rule: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = enumerate(((1, 1_000), (2_000, 3_000), (2_500, 4_000), (4_000, 5_000)), start=1)
    matches = (
        found(number, start_ms=START_MS + start, end_ms=START_MS + end)
        for number, (start, end) in places
    )
    post(with_rule, *matches)
    bulk(with_rule, {"status": "resolved", "matches": selected(1, 2, 3, 4)})

    def labels(**times: int) -> tuple[list[int], bool]:
        asked(with_rule, **times)
        task = claim(with_rule)
        ends = [each["end_ms"] - START_MS for each in task["labels"]]
        return ends, task["labels_are_complete"]

    assert labels() == ([5_000, 4_000, 3_000, 1_000], True)
    assert labels(since=START_MS + 2_000, until=START_MS + 4_000) == ([3_000], True)
    assert labels(since=START_MS + 2_500) == ([5_000, 4_000], True)
    monkeypatch.setattr("api.backtests.turns._MOST_LABELS", 2)
    assert labels() == ([5_000, 4_000], False)
    assert labels(since=START_MS + 2_500) == ([5_000, 4_000], True)


@pytest.mark.parametrize(("size", "status"), [(1_100_000, 422), (3_000_000, 413)])
def test_a_report_that_is_too_large_is_refused(with_rule: Service, size: int, status: int) -> None:
    asked(with_rule)
    task = claim(with_rule)
    outcome(with_rule, task, status, report=report(top_keys={"x" * size: 1}))
    outcome(with_rule, task, report=report())


def test_old_ones_are_forgotten(service: Service) -> None:
    service.begin_with_stream(backtests_per_stream=2)
    service.publish()
    numbers = []
    for _ in range(5):
        numbers.append(asked(service)["number"])
        outcome(service, claim(service), report=report())
    kept = [asked(service)["number"], *reversed(numbers[-2:])]
    for limit in (1, 9):
        pages = service.pages(PATH, limit=limit)
        assert [each["number"] for page in pages for each in page["items"]] == kept
