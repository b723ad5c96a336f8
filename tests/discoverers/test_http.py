"""The rule service as a source: a real service on a real port."""

import asyncio
import json
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx2
import pytest

from cep.list_content import list_content, list_digest
from contract.service.tokens import Role
from discoverers import (
    BackgroundDiscovery,
    DiscovererSurroundings,
    HealthStatus,
    NoSnapshotError,
    Snapshot,
    create_discoverer,
    read_snapshot,
    snapshot_json,
)
from discoverers.http import HttpDiscoverer, HttpDiscovererFactory, read_answer
from tests.api.documents import STREAM
from tests.discoverers.rule_service import RuleService, serving
from tests.discoverers.sources import STREAM as SOURCE_STREAM
from tests.discoverers.sources import (
    RememberingManager,
    actions,
    document,
    newest_of,
    numbers,
    running,
    surroundings,
)
from tests.patience import FAR_LONGER_SECONDS, PATIENCE_SECONDS, eventually


@pytest.fixture
def service(tmp_path: Path) -> Iterator[RuleService]:
    with serving(tmp_path) as service:
        yield service


def discovery(
    service: RuleService, initial: Snapshot | None = None, **options: Any
) -> BackgroundDiscovery:
    config = {"type": "http", "url": service.url, "token_env": "TOKEN"} | options
    return running(config, {"TOKEN": service.token_of[Role.JOB]}, initial)


def test_a_job_gets_what_is_published_byte_for_byte(service: RuleService) -> None:
    service.publish(document("b", description="Ünïcode", owner="fraud", severity="high"))
    service.publish(document("a", key_by=["user"], select={"n": "COUNT(step.*)"}))
    with discovery(service) as job:
        snapshot = job.first(PATIENCE_SECONDS)

    served = service.request("GET", "/v1/streams/logins/snapshot").content
    assert snapshot_json(snapshot) == served
    assert read_snapshot(served) == snapshot
    assert actions(snapshot) == {"a": ["fail"], "b": ["fail"]}


def test_a_job_with_a_token_of_its_stream_reads_that_alone(service: RuleService) -> None:
    service.request("POST", "/v1/streams", json=STREAM | {"name": "payments"})
    service.request("POST", "/v1/streams/logins/lists", json={"name": "vip"})
    service.request("PUT", "/v1/streams/logins/lists/vip/values", json=["eve"])
    pattern = {"steps": [{"name": "step", "where": "action = 'fail' AND user IN LIST('vip')"}]}
    service.publish(document("a") | {"pattern": pattern})
    token = {"TOKEN": service.confined_token}
    config = {"type": "http", "url": service.url, "token_env": "TOKEN"}
    with running(config, token) as job:
        assert actions(job.first(PATIENCE_SECONDS)) == {"a": ["fail"]}  # once it has the list
        service.publish(document("b"))
        eventually(lambda: "b" in actions(job.latest()))

    of_another = DiscovererSurroundings(stream="payments", environment=token)
    with BackgroundDiscovery(create_discoverer(config, of_another), None) as job:
        eventually(lambda: job.health.status is HealthStatus.FAILING)
        assert job.latest() is None
        assert "Stream 'payments' not found" in (job.health.last_error or "")


def test_a_publish_reaches_a_waiting_job_at_once(service: RuleService) -> None:
    with discovery(service, wait_seconds=FAR_LONGER_SECONDS) as job:
        assert job.first(PATIENCE_SECONDS).processors == []
        eventually(lambda: service.waiting_readers)
        service.publish(document("a"))
        eventually(lambda: actions(job.latest()) == {"a": ["fail"]})


def test_several_changes_in_a_row_arrive_in_full(service: RuleService) -> None:
    with discovery(service) as job:
        job.first(PATIENCE_SECONDS)
        for name in ("a", "b", "c"):
            service.publish(document(name))
        service.request("POST", "/v1/processors/a/pause")
        service.request("DELETE", "/v1/processors/b")
        eventually(lambda: (newest := job.latest()) and newest.epoch == 6)
        newest = newest_of(job)
        assert [(each.id, each.paused) for each in newest.processors] == [("a", True), ("c", False)]


def test_a_set_of_changes_arrives_as_one(service: RuleService) -> None:
    service.publish(document("a"))
    with discovery(service, wait_seconds=FAR_LONGER_SECONDS) as job:
        first = job.first(PATIENCE_SECONDS)
        eventually(lambda: service.waiting_readers)
        changes = [
            {"action": "create", "document": document("b")},
            {"action": "pause", "id": "a", "based_on": 1},
            {"action": "create", "document": document("c")},
            {"action": "delete", "id": "b"},
        ]
        service.request("POST", "/v1/streams/logins/change-sets", json={"changes": changes})
        eventually(lambda: job.latest() is not first)
        newest = newest_of(job)
        assert newest.epoch == first.epoch + 1
        assert [(each.id, each.paused) for each in newest.processors] == [("a", True), ("c", False)]


def test_two_jobs_of_one_stream_get_every_change_even_if_one_was_away(
    service: RuleService,
) -> None:
    with discovery(service) as one:
        with discovery(service, wait_seconds=0.3) as other:
            service.publish(document("a"))
            eventually(lambda: actions(one.latest()) == actions(other.latest()) == {"a": ["fail"]})
            kept = other.latest()
        service.publish(document("b", effective_from="2026-06-01T00:00:00Z"))
        service.request("POST", "/v1/processors/a/pause")
        with discovery(service, kept, wait_seconds=0.3) as other:
            service.request("POST", "/v1/processors/a/resume")
            eventually(lambda: (newest := other.latest()) and newest.epoch == 5)
            eventually(lambda: one.latest() == other.latest())


def test_a_wait_without_a_change_is_a_success(service: RuleService) -> None:
    with discovery(service, wait_seconds=0.3) as job:
        first = job.first(PATIENCE_SECONDS)
        seen_ms = job.health.last_success_ms or 0
        eventually(lambda: (job.health.last_success_ms or 0) > seen_ms)
        assert job.latest() is first
        assert job.health.status is HealthStatus.OK


def test_a_service_that_goes_down_leaves_the_last_good_set_and_comes_back(
    service: RuleService,
) -> None:
    service.publish(document("a"))
    with discovery(service) as job:
        good = job.first(PATIENCE_SECONDS)
        eventually(lambda: service.waiting_readers)
        service.stop()
        eventually(lambda: job.health.status is HealthStatus.FAILING)
        assert job.latest() is good
        assert f"{service.url} did not answer" in (job.health.last_error or "")

        service.start()
        service.publish(document("b"))
        eventually(lambda: list(actions(job.latest())) == ["a", "b"])
        assert job.health.consecutive_failures == 0


def test_a_job_starts_from_its_checkpoint_while_the_service_is_down(service: RuleService) -> None:
    service.publish(document("a"))
    with discovery(service) as job:
        before = job.first(PATIENCE_SECONDS)
    service.stop()

    with discovery(service, initial=read_snapshot(snapshot_json(before))) as again:
        assert again.first(0.1) == before
        service.start()
        service.publish(document("b"))
        eventually(lambda: list(actions(again.latest())) == ["a", "b"])


def test_a_wrong_token_is_told_in_the_words_of_the_service(service: RuleService) -> None:
    config = {"type": "http", "url": service.url, "token_env": "TOKEN"}
    with running(config, {"TOKEN": "percept_wrong"}) as job:
        eventually(lambda: job.health.status is HealthStatus.FAILING)
        told = job.health.last_error or ""
        assert "401" in told
        assert "token is not valid" in told
        assert "percept_wrong" not in told
        with pytest.raises(NoSnapshotError, match="401"):
            job.first(FAR_LONGER_SECONDS)  # ends now: the variable stays as it is


def test_a_token_in_a_file_may_be_changed_while_the_job_runs(
    service: RuleService, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text("percept_wrong\n", encoding="utf-8")
    config = {"type": "http", "url": service.url, "token_file": str(file)}
    with running(config) as job:
        eventually(lambda: job.health.status is HealthStatus.FAILING)
        file.write_text(service.token_of[Role.JOB] + "\n", encoding="utf-8")
        assert job.first(PATIENCE_SECONDS).epoch == 1


def test_a_close_ends_a_long_poll_at_once(service: RuleService) -> None:
    job = discovery(service, wait_seconds=FAR_LONGER_SECONDS)
    with job:
        job.first(PATIENCE_SECONDS)
        eventually(lambda: service.waiting_readers)
        job.close(PATIENCE_SECONDS)
        assert not job._thread.is_alive()


# --- services that misbehave


def scripted(*answers: httpx2.Response) -> tuple[HttpDiscoverer, list[httpx2.Request]]:
    """Return a discoverer that is given these answers and then closed, and what it asked."""
    asked: list[httpx2.Request] = []
    left = list(answers)
    options = HttpDiscovererFactory(url="https://rules.test/percept/", token_env="TOKEN")  # type: ignore[arg-type] # noqa: S106 - pydantic makes the URL; TOKEN is a name
    discoverer = options.create_discoverer(surroundings({"TOKEN": "secret"}))

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        if len(left) == 1:
            discoverer._closed.set()
        return left.pop(0)

    discoverer._client = httpx2.AsyncClient(transport=httpx2.MockTransport(answer))
    discoverer._backoff = type(discoverer._backoff)(first_seconds=0.01, limit_seconds=0.01)
    return discoverer, asked


def answered(processors: list[Any], epoch: int = 1, lists: Sequence[Any] = ()) -> httpx2.Response:
    stream = SOURCE_STREAM.model_dump(mode="json", by_alias=True)
    body = {"format": 1, "epoch": epoch, "stream": stream, "processors": processors}
    if lists:
        body["lists"] = list(lists)
    return httpx2.Response(200, json=body, headers={"ETag": f'"x.{epoch}"'})


def entry(name: str, definition: Any = None, version: int = 1) -> dict[str, Any]:
    published = {
        "version": version,
        "effective_from_ms": None,
        "effective_until_ms": None,
        "definition": definition or {"pattern": document(name)["pattern"]},
    }
    return {"id": name, "paused": False, "versions": [published]}


def told(discoverer: HttpDiscoverer) -> list[Snapshot]:
    manager = RememberingManager()
    discoverer.discover_pattern_processor_updates(manager)
    return manager.told


def test_the_etag_is_sent_back_with_the_wait() -> None:
    discoverer, asked = scripted(answered([]), httpx2.Response(304), httpx2.Response(304))
    told(discoverer)

    assert [str(request.url) for request in asked[:2]] == [
        "https://rules.test/percept/v1/streams/logins/snapshot?wait=0.000s",
        "https://rules.test/percept/v1/streams/logins/snapshot?wait=30.000s",
    ]
    assert "If-None-Match" not in asked[0].headers
    assert asked[1].headers["If-None-Match"] == '"x.1"'
    assert {request.headers["Authorization"] for request in asked} == {"Bearer secret"}


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (httpx2.Response(200, content=b'{"format": 1, "epoch"'), "not a snapshot"),
        (httpx2.Response(200, json={"format": 2}), "format"),
        (httpx2.Response(200, content=b"null"), "not a snapshot"),
        (httpx2.Response(404, json={"detail": "There is no stream logins."}), "no stream logins"),
        (httpx2.Response(502, content=b"<html>"), "502 Bad Gateway"),
        (httpx2.Response(307, headers={"Location": "http://evil.test/"}), "not followed"),
    ],
    ids=["cut off", "newer format", "null", "unknown stream", "proxy", "redirect"],
)
def test_an_answer_that_is_no_snapshot_changes_nothing(bad: httpx2.Response, words: str) -> None:
    good = answered([entry("a")])
    discoverer, asked = scripted(good, bad, bad)
    discoverer_told = told(discoverer)

    assert [actions(each) for each in discoverer_told] == [{"a": ["fail"]}]
    assert discoverer.health.status is HealthStatus.FAILING
    assert words in (discoverer.health.last_error or "")
    assert len(asked) == 3


def test_after_a_failure_the_whole_snapshot_is_asked_for() -> None:
    discoverer, asked = scripted(answered([]), httpx2.Response(503), answered([]), answered([]))
    told(discoverer)
    assert ["If-None-Match" in request.headers for request in asked[:3]] == [False, True, False]


def test_a_malformed_processor_is_reported_and_the_others_go_on() -> None:
    before = answered([entry("a"), entry("b"), entry("c")])
    unknown_key = entry("b", {"pattern": document("b")["pattern"], "colour": "red"}, version=2)
    no_versions = {"id": "c", "paused": False, "versions": []}
    after = answered([entry("a", version=2), unknown_key, no_versions, entry("d"), 7], epoch=2)
    discoverer, _ = scripted(before, after, httpx2.Response(304))

    last = told(discoverer)[-1]
    assert numbers(last) == {"a": [2], "b": [1], "c": [1], "d": [1]}
    problems = {problem.processor_id: problem for problem in discoverer.health.problems}
    assert problems.keys() == {"b", "c", None}
    assert problems["b"].kept_versions == (1,)
    assert "colour" in problems["b"].message


def test_a_service_asks_for_patience_with_retry_after() -> None:
    body = json.dumps({"detail": "More than 200 requests a second."})
    headers = {"Retry-After": "7"}
    discoverer, _ = scripted(httpx2.Response(429, content=body, headers=headers), answered([]))
    with pytest.raises(Exception, match="200 requests a second") as raised:
        discoverer.get_processors()
    assert getattr(raised.value, "retry_after_seconds", None) == 7
    discoverer.release()


@pytest.mark.parametrize(
    ("url", "is_taken"),
    [
        ("https://rules.test", True),
        ("http://127.0.0.1:8321", True),
        ("http://localhost:8321", True),
        ("http://rules.test", False),
    ],
)
def test_the_token_leaves_the_machine_encrypted_only(url: str, is_taken: bool) -> None:  # noqa: FBT001 - a parameter of the test
    options = {"url": url, "token_env": "TOKEN"}
    HttpDiscovererFactory.model_validate(options | {"allow_plain_http": True})
    if is_taken:
        HttpDiscovererFactory.model_validate(options)
    else:
        with pytest.raises(ValueError, match="allow_plain_http"):
            HttpDiscovererFactory.model_validate(options)


def test_a_service_that_never_answers_is_given_up() -> None:
    async def hang(_request: httpx2.Request) -> httpx2.Response:
        await asyncio.sleep(FAR_LONGER_SECONDS)
        return httpx2.Response(304)

    options = {"url": "https://rules.test", "token_env": "TOKEN", "timeout_seconds": 0.05}
    factory = HttpDiscovererFactory.model_validate(options)
    discoverer = factory.create_discoverer(surroundings({"TOKEN": "secret"}))
    discoverer._client = httpx2.AsyncClient(transport=httpx2.MockTransport(hang))
    with pytest.raises(Exception, match=r"no answer within 0\.05 s"):
        discoverer.get_processors()
    discoverer.release()


@pytest.mark.parametrize("moment", [0.0, 0.001, 0.01, 0.05])
def test_a_close_at_any_moment_ends_the_thread(moment: float) -> None:
    def refuse(_request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(500)

    discoverer, _ = scripted(answered([]))
    discoverer._client = httpx2.AsyncClient(transport=httpx2.MockTransport(refuse))
    thread = threading.Thread(target=told, args=(discoverer,))
    thread.start()
    time.sleep(moment)
    discoverer.close()
    thread.join(PATIENCE_SECONDS)
    assert not thread.is_alive()


def test_a_newer_service_may_add_keys() -> None:
    body = json.loads(answered([entry("a") | {"colour": "red"}]).content) | {"more": 1}
    read = read_answer(json.dumps(body).encode(), "here")
    assert [version.processor_id for version in read.versions] == ["a"]
    assert read.problems == ()


def listed(name: str, *contents: bytes) -> dict[str, Any]:
    versions = [
        {"version": number, "effective_from_ms": None, "digest": list_digest(each), "count": 1}
        for number, each in enumerate(contents, start=1)
    ]
    return {"name": name, "type": "STRING", "versions": versions}


def test_contents_of_lists_are_there_with_the_snapshot_and_asked_for_once() -> None:
    a, b, c = (list_content([text]) for text in "abc")
    rule = entry("p", {"pattern": {"steps": [{"name": "x", "where": "user IN LIST('vip')"}]}})
    discoverer, asked = scripted(
        answered([rule], lists=[listed("vip", a, b)]),
        *(httpx2.Response(200, content=each) for each in sorted((a, b), key=list_digest)),
        answered([rule], 2, [listed("vip", b, c)]),
        httpx2.Response(200, content=c),
        httpx2.Response(304),
    )
    first, second = told(discoverer)
    assert [len(each.processors) for each in (first, second)] == [1, 1]
    assert discoverer.health.problems == ()
    for content in (a, b, c):  # a job may be about to begin with the snapshot before
        assert discoverer.list_content(list_digest(content)) == content
    with pytest.raises(LookupError):
        discoverer.list_content(list_digest(b"[]"))
    paths = [request.url.path.removeprefix("/percept/v1/streams/logins/") for request in asked]
    assert [path for path in paths if path != "snapshot"] == [
        f"lists/contents/{digest}" for digest in (*sorted(map(list_digest, (a, b))), list_digest(c))
    ]


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (httpx2.Response(200, content=b'["eve"]'), "something else than that content"),
        (httpx2.Response(404, json={"detail": "There is no such content."}), "no such content"),
    ],
)
def test_a_snapshot_waits_for_the_contents_of_its_lists(bad: httpx2.Response, words: str) -> None:
    content = list_content(["ann"])
    whole = answered([entry("a")], 2, [listed("vip", content)])
    discoverer, _ = scripted(answered([]), whole, bad, whole, bad)
    assert [each.epoch for each in told(discoverer)] == [1]
    assert words in (discoverer.health.last_error or "")
    discoverer, _ = scripted(
        answered([]), whole, bad, whole, httpx2.Response(200, content=content), httpx2.Response(304)
    )
    assert [each.epoch for each in told(discoverer)] == [1, 2]
