"""Why no match for a key in a span: asked at the service, answered by workers with the archive."""

import json
import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import Result

from api.backtests.service import WORKER_SEEN_MS
from api.client import Client, NotExplained, explanations
from cep.signing.keys import SigningKey, SigningKeys
from contract.service.tokens import Role
from percept import Pattern
from tests.api.archives import run, working, write_archive
from tests.api.commands import ended
from tests.api.documents import processor_document
from tests.api.listening import KEYS, ListeningService
from tests.api.running import Service
from tests.api.test_backtests import claim, of_job, outcome, report, request
from tests.patience import PATIENCE_SECONDS

PATH = "/v1/processors/failed-logins/explanations"
MINUTE = 60_000
HOUR = 60 * MINUTE
SPAN = {"since": 0, "until": HOUR}


def ask(service: Service, status: int = 202, path: str = PATH, **body: Any) -> Any:
    return service.post(path, Role.AUTHOR, {"key": "eve"} | SPAN | body, expect=status)


def read(service: Service, number: int, status: int = 200) -> Any:
    return service.get(f"{PATH}/{number}", expect=status)


def span_report() -> dict[str, Any]:
    found = {"read": 9, "unusable": 0, "event_count": 0, "fits": {"fail": 0}}
    told = {"conditions": {"fail": "action = 'fail'"}, "columns": ["action"]}
    nothing = {"match_count": 0, "matches": [], "attempts": [], "left_out": 0}
    ends = {"begun_at": None, "ended_at": HOUR, "is_exact": True, "nearest_start": None}
    return {"key": ["eve"], "events": {}} | SPAN | ends | found | told | nothing


def answered(service: Service) -> None:
    """Let a worker answer what waits for one."""
    outcome(service, claim(service), report=span_report())


def progress(service: Service, number: int) -> Any:
    """Let the worker tell how far it is, and return what it is told."""
    counts: dict[str, Any] = {"attempt": 1, "events_done": 0, "events_total": 0}
    return of_job(service, f"/{number}/progress", worker="one", **counts)


# --- the queue


def test_without_a_worker_it_says_how_to_give_the_archive(with_rule: Service) -> None:
    told = ask(with_rule, 409)["detail"]
    assert "No worker has the archive of the stream 'logins'" in told
    assert "percept work --archive logins=PATH" in told
    claim(with_rule)
    asked = ask(with_rule)
    assert (asked["state"], asked["not_regarded"]) == ("queued", [])
    with_rule.clock.time_ms += WORKER_SEEN_MS + 1
    ask(with_rule, 409)


def test_a_worker_that_is_busy_counts(with_rule: Service) -> None:
    request(with_rule, processor_id="failed-logins")
    task = claim(with_rule)
    for _ in range(3):
        with_rule.clock.time_ms += WORKER_SEEN_MS // 2
        progress(with_rule, task["number"])
    assert ask(with_rule)["state"] == "queued"


def test_a_question_goes_before_backtests_and_its_answer_is_shown_in_words(
    with_rule: Service,
) -> None:
    claim(with_rule)
    request(with_rule, processor_id="failed-logins")
    number = ask(with_rule, attempts=5)["number"]
    task = claim(with_rule)
    assert (task["number"], task["question"]) == (number, {"key": '["eve"]', "attempts": 5})
    assert (task["from_ms"], task["until_ms"]) == (0, HOUR)
    told = read(with_rule, number)
    assert (told["state"], told["worker"], told["lines"]) == ("running", "one", [])
    outcome(with_rule, task, report=span_report())
    told = read(with_rule, number)
    assert (told["state"], told["report"]["read"]) == ("done", 9)
    assert told["lines"][0] == {"text": "failed-logins, key eve: no match", "style": "bold"}


def test_it_is_no_backtest(with_rule: Service) -> None:
    claim(with_rule)
    number = ask(with_rule)["number"]
    assert with_rule.get("/v1/backtests")["items"] == []
    with_rule.get(f"/v1/backtests/{number}", expect=404)
    with_rule.post(f"/v1/backtests/{number}/cancel", Role.AUTHOR, expect=404)
    backtest = request(with_rule, processor_id="failed-logins")["number"]
    read(with_rule, backtest, 404)
    with_rule.publish(id="other")
    with_rule.get(f"/v1/processors/other/explanations/{number}", expect=404)


def test_an_answer_of_another_release_fails_and_what_has_ended_stays(with_rule: Service) -> None:
    claim(with_rule)
    number = ask(with_rule)["number"]
    outcome(with_rule, claim(with_rule), report=report())
    told = read(with_rule, number)
    assert (told["state"], told["report"]) == ("failed", None)
    assert "another release" in told["error"]
    number = ask(with_rule)["number"]
    answered(with_rule)
    assert cancel(with_rule, number)["state"] == "done"
    backtest = request(with_rule, processor_id="failed-logins")["number"]
    for absent in (backtest, number + 100):
        cancel(with_rule, absent, 404)


def test_a_question_that_nobody_begins_fails_and_so_many_may_wait(with_rule: Service) -> None:
    claim(with_rule)
    first = ask(with_rule)["number"]
    for _ in range(19):
        ask(with_rule)
    assert "20 questions" in ask(with_rule, 409)["detail"]
    with_rule.clock.time_ms += 10 * MINUTE + 1
    ask(with_rule, 409)  # no worker any more
    claim(with_rule, "two")  # takes the first of them
    ask(with_rule)
    assert read(with_rule, first)["state"] == "running"
    assert "within ten minutes" in read(with_rule, first + 1)["error"]


def cancel(service: Service, number: int, status: int = 200) -> Any:
    return service.post(f"{PATH}/{number}/cancel", Role.AUTHOR, expect=status)


def test_a_question_that_waits_or_runs_is_cancelled(with_rule: Service) -> None:
    claim(with_rule)
    waiting = ask(with_rule)["number"]
    assert cancel(with_rule, waiting)["state"] == "cancelled"
    asked = ask(with_rule)["number"]
    task = claim(with_rule)
    assert task["number"] == asked  # the other one waits no more
    cancelled = cancel(with_rule, asked)
    assert (cancelled["state"], cancelled["ended_at"] is None) == ("cancelled", False)
    assert progress(with_rule, asked)["goes_on"] is False
    outcome(with_rule, task, status=409, report=span_report())
    assert read(with_rule, asked)["state"] == "cancelled"


def test_it_says_what_it_does_not_regard(with_stream: Service) -> None:
    alert = {"suppress": {"for": "1 hour"}, "budget": {"at_most": 9, "for": "1 hour"}}
    with_stream.publish(alert=alert)
    claim(with_stream)
    snoozes = "/v1/processors/failed-logins/snoozes"
    for key in ({}, {"key": "eve"}, {"key": "bob"}):
        with_stream.post(snoozes, Role.PUBLISHER, {"for": "1 hour"} | key, expect=201)
    number = ask(with_stream)["number"]
    answered(with_stream)
    told = read(with_stream, number)
    begins = [text.partition(":")[0].partition(" from ")[0] for text in told["not_regarded"]]
    assert begins == [
        "`alert.suppress` of the rule",
        "`alert.budget` of the rule",
        "a snooze of the key",
        "a snooze of all keys",
    ]
    lines = [line["text"] for line in told["lines"] if "not regarded" in line["text"]]
    assert lines == [f"  not regarded: {text}" for text in told["not_regarded"]]
    later = ask(with_stream, since=2**45, until=2**45 + 1)
    assert len(later["not_regarded"]) == 2  # the snoozes are over by then


def test_what_cannot_be_asked_is_refused(with_rule: Service) -> None:
    claim(with_rule)
    assert "does not come after" in json.dumps(ask(with_rule, 422, since=HOUR))
    wrong = (
        {"attempts": 51},
        {"attempts": 0},
        {"since": None},
        {"unknown": 1},
        {"key": "x" * 2_001},
    )
    for each in wrong:
        ask(with_rule, 422, **each)
    assert "instead of 1 values" in ask(with_rule, 422, key='["a", "b"]')["detail"]
    assert "begins like a JSON array" in ask(with_rule, 422, key="[1")["detail"]
    assert "Version '7'" in ask(with_rule, 404, version=7)["detail"]
    ask(with_rule, 404, path="/v1/processors/none/explanations")


# --- the worker


@pytest.fixture
def client(client_with_rule: Client) -> Client:
    return client_with_rule


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return write_archive(tmp_path / "archive", 0)


Told = Callable[..., Any]


@pytest.fixture
def explained(listening: ListeningService, client: Client, archive: Path) -> Told:
    """Ask about a key of the rule, and return what a worker with the archive tells."""
    assert client.get("failed-logins")

    def told(key: str, **limits: Any) -> Any:
        claim(listening.service)
        number = ask(listening.service, key=key)["number"]
        assert run(listening, archive, **limits) == 1
        return read(listening.service, number)

    return told


@pytest.mark.long
def test_it_is_told_from_the_archive_of_a_worker(explained: Told) -> None:
    told = explained("bob")
    assert (told["state"], told["error"]) == ("done", "")
    assert (told["report"]["match_count"], told["report"]["event_count"]) == (0, 4)
    attempt = told["report"]["attempts"][0]
    assert (attempt["outcome"], attempt["counts"]) == ("timed_out", {"fail": 1})
    words = "\n".join(line["text"] for line in told["lines"])
    assert "until its window closed at 1970-01-01T00:01:00.000Z" in words
    found = explained("eve")
    assert found["report"]["match_count"] == 1
    assert any("match 1, found at" in line["text"] for line in found["lines"])


@pytest.mark.long
def test_more_events_than_a_worker_may_read_are_refused(explained: Told) -> None:
    told = explained("bob", most_events=3)
    assert (told["state"], told["report"]) == ("failed", None)
    assert "there are more than 3 events in the time that bears on the span" in told["error"]


@pytest.mark.long
def test_lists_and_clauses_are_answered_too(client: Client, explained: Told) -> None:
    lists = client.lists("logins")
    lists.create("vip")
    lists.change("vip", add=["bob"])
    clause = (
        "MATCH_RECOGNIZE (PARTITION BY user ORDER BY ts PATTERN (f l) WITHIN INTERVAL '1' HOUR "
        "DEFINE f AS action = 'fail' AND user IN LIST('vip'), l AS action = 'login')"
    )
    document = processor_document(pattern={"match_recognize": clause}, key_by=None)
    client.replace(document, if_match="*")
    assert explained("bob")["report"]["match_count"] == 1
    assert explained("eve")["report"]["match_count"] == 0


def is_cheap(event: Any, context: Any) -> bool:
    return len(context.events("fail")) < 3 and event["amount"] < 1.0


def is_third_failure(event: Any, context: Any) -> bool:
    assert event["ts"].tzinfo is not None  # typed as in a job
    return event["action"] == "fail" and len(context.events("fail")) < 2


def publish(client: Client, pattern: Pattern) -> None:
    client.publish("logins", "failed-logins", pattern=pattern, key_by=["user"])


@pytest.mark.long
def test_signed_conditions_in_python_are_run(client: Client, explained: Told) -> None:
    failing = Pattern.begin("fail").where(is_third_failure).times(2)
    pattern = failing.followed_by("login").where("action = 'login'").where(is_cheap)
    publish(client, pattern.within("1 hour"))
    told = explained("eve")
    report = told["report"]
    assert (told["state"], told["error"], report["match_count"]) == ("done", "", 0)
    assert report["fits"] == {"fail": 4, "login": 1}
    assert report["conditions"] == {
        "fail": "is_third_failure (Python)",
        "login": "action = 'login' AND is_cheap (Python)",
    }
    attempt = report["attempts"][0]
    assert attempt["counts"] == {"fail": 2}
    (nearest,) = [each for each in attempt["nearest"] if each["step"] == "login"]
    assert [part["text"] for part in nearest["unmet"]] == ["is_cheap (Python)"]
    assert any("is_cheap (Python)" in line["text"] for line in told["lines"])


@pytest.mark.long
def test_code_that_raises_or_ends_the_process_fails_the_question_alone(
    client: Client, explained: Told
) -> None:
    conditions: list[tuple[Callable[[Any, Any], bool], str]] = [
        (lambda event, _context: bool(event["none"]), "KeyError"),
        (lambda _event, _context: os._exit(3), "ended with code 3"),
    ]
    for condition, said in conditions:
        publish(client, Pattern.begin("fail").where(condition))
        told = explained("eve")
        assert (told["state"], said in told["error"]) == ("failed", True), told["error"]


@pytest.mark.long
def test_without_the_key_of_its_code_a_worker_runs_none(
    client: Client, explained: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(client, Pattern.begin("fail").where(is_third_failure))
    stranger = SigningKeys((SigningKey(KEYS.newest.id, secrets.token_bytes(32)),))
    for keys, said in ((None, "no signing keys are set here"), (stranger, "signature")):
        monkeypatch.setattr("tests.api.archives.KEYS", keys)
        told = explained("eve")
        assert (told["state"], said in told["error"]) == ("failed", True), told["error"]


# --- client and command line


@pytest.fixture
def worker(listening: ListeningService, archive: Path) -> Iterator[None]:
    """A worker that runs meanwhile, as `percept work` does."""
    claim(listening.service)
    with working(listening, archive, KEYS):
        yield


@pytest.mark.long
@pytest.mark.usefixtures("worker")
def test_client_and_command_line_wait_for_the_answer(
    listening: ListeningService, client: Client
) -> None:
    told = client.why_no_match(
        "failed-logins", "bob", since=0, until=HOUR, attempts=1, timeout_seconds=PATIENCE_SECONDS
    )
    assert told.report is not None
    assert [attempt.outcome for attempt in told.report.attempts] == ["timed_out"]
    said = why(listening, "bob", code=0)
    assert "failed-logins, key bob: no match" in said.stdout
    assert "until its window closed at 1970-01-01T00:01:00.000Z" in said.stdout
    shown = json.loads(why(listening, "eve", "--json", code=0).stdout)
    assert shown["report"]["match_count"] == 1
    assert "failed-logins" in why(listening, "eve", rule="failed-login").stderr


@pytest.mark.usefixtures("client")
def test_the_command_line_says_how_to_give_an_archive(listening: ListeningService) -> None:
    assert "percept work --archive logins=PATH" in why(listening, "eve").stderr


@pytest.mark.usefixtures("client")
def test_a_worker_that_is_gone_is_not_waited_for_without_end(
    listening: ListeningService, client: Client
) -> None:
    claim(listening.service)
    with pytest.raises(NotExplained, match=r"is queued after 0\.1 s"):
        client.why_no_match("failed-logins", "eve", since=0, until=1, timeout_seconds=0.1)


@pytest.mark.usefixtures("client")
def test_a_wait_that_is_given_up_cancels_the_question(
    listening: ListeningService, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim(listening.service)

    def interrupted(_seconds: float) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(explanations, "time", SimpleNamespace(sleep=interrupted, monotonic=lambda: 0))
        with pytest.raises(KeyboardInterrupt):
            client.why_no_match("failed-logins", "eve", since=0, until=1)
    number = ask(listening.service)["number"]
    assert read(listening.service, number - 1)["state"] == "cancelled"
    assert client.cancel_explanation("failed-logins", number).state == "cancelled"


def why(
    listening: ListeningService, key: str, *more: str, rule: str = "failed-logins", code: int = 1
) -> Result:
    where = ["--url", listening.url, "--token", listening.service.token_of[Role.AUTHOR]]
    asked = ["--from", 0, "--to", HOUR, "--only", key, "--seconds", PATIENCE_SECONDS]
    return ended(code, "why", rule, *asked, *where, *more)
