"""The Python client against a service that listens: publishing, errors, retries, waiting."""

import ssl
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from unittest.mock import Mock

import httpx2
import pytest

from api.client import (
    Client,
    Conflict,
    Invalid,
    NotAllowed,
    NotFound,
    NotRunning,
    Outdated,
    ServiceError,
    Unreachable,
    connection,
)
from api.client.retries import ATTEMPTS, RetryingTransport
from cep.signing.code import CodePlace, CodeUse, SignedCode, verify_and_load
from cep.signing.keys import SigningKeys
from contract.service.tokens import Role
from contract.snapshot import Snapshot
from percept import Pattern, PatternError, find_matches, select
from tests.api.documents import PATTERN, STREAM, processor_document
from tests.api.jobs import ReportingJob, running
from tests.api.listening import KEYS, ListeningService, listening_service

ID = "failed-logins"
OTHER_PATTERN = PATTERN | {"within": "5 minutes"}


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.client.retries._FIRST_PAUSE_SECONDS", 0)


@pytest.fixture
def listening_on_both(database_url: str) -> Iterator[ListeningService]:
    with listening_service(database_url) as running:
        yield running


def test_the_life_of_a_processor(listening_on_both: ListeningService) -> None:
    with listening_on_both.client(Role.PUBLISHER) as client:
        first = client.publish("logins", ID, pattern=PATTERN, key_by=["user"], comment="new")
        same = client.publish("logins", ID, pattern=PATTERN, key_by=["user"])
        second = client.publish("logins", ID, pattern=OTHER_PATTERN, severity="high")
        assert [each.version for each in (first, same, second)] == [1, 1, 2]

        assert client.pause(ID, if_match=second.etag).is_paused
        assert not client.resume(ID).is_paused
        assert client.label(ID, tags=["b", "a"]).tags == ["a", "b"]
        restored = client.roll_back(ID, 1)
        assert restored.document["pattern"] == PATTERN
        assert [each.restored_version for each in client.versions(ID)] == [1, None, None]
        assert client.version(ID, 1).comment == "new"

        client.delete(ID, if_match=restored.etag)
        with pytest.raises(NotFound, match="It was deleted"):
            client.get(ID)
        assert [each.id for each in client.processors("logins", state="deleted")] == [ID]
        assert client.publish("logins", ID, pattern=PATTERN).version == 4


def test_streams_are_redefined_and_times_may_be_datetimes(client: Client) -> None:
    registered = client.register_stream(STREAM | {"name": "payments"})
    document = registered.document | {"allowed_delay_ms": 7}
    redefined = client.redefine_stream(document, if_match=registered.etag)

    assert redefined.allowed_delay_ms == 7
    assert client.stream("payments") == redefined
    assert [stream.name for stream in client.streams()] == ["logins", "payments"]
    with pytest.raises(Outdated):
        client.redefine_stream(registered.document, if_match=registered.etag)
    begin = datetime(2030, 1, 1, tzinfo=UTC)
    published = client.publish("logins", ID, pattern=PATTERN, effective_from=begin)
    assert published.published[0].effective_from == begin.timestamp() * 1000
    with pytest.raises(Conflict):
        client.create(processor_document())


PLACE = CodePlace(stream="logins", processor=ID)


def test_python_code_runs_where_the_job_is(client: Client, listening: ListeningService) -> None:
    limit = 5
    pattern = Pattern.begin("a").where("action = 'pay'").where(lambda e, _c: e["amount"] > limit)
    function = select(lambda match: match["a"][0]["amount"] * 2)
    client.publish("logins", ID, pattern=pattern, function=function)
    snapshot = Snapshot.model_validate(listening.service.snapshot())
    definition = snapshot.processors[0].versions[0].definition
    loaded = Pattern.from_document(definition["pattern"]).load_code(KEYS, PLACE)
    events = [{"ts": ts, "action": "pay", "amount": amount} for ts, amount in enumerate([4, 6])]
    (match,) = find_matches(loaded, events, time_field="ts").matches
    code = SignedCode.model_validate(definition["function"])
    processor = verify_and_load(code, KEYS, CodeUse.FUNCTION, PLACE)
    assert list(processor.process_match(match.steps, None)) == [12]


def test_code_needs_a_signing_key_that_the_service_has(listening: ListeningService) -> None:
    token = listening.service.token_of[Role.PUBLISHER]
    with Client(listening.url, token) as keyless:
        with pytest.raises(PatternError, match="or sign it"):
            keyless.publish("logins", ID, pattern=Pattern.begin("a").where(lambda _e, _c: True))
        with pytest.raises(ValueError, match="give the client signing_keys"):
            keyless.publish("logins", ID, pattern=PATTERN, function=select(len))
        with pytest.raises(TypeError, match=r"`cep\.flat_select` make one"):
            keyless.publish("logins", ID, pattern=PATTERN, function=len)  # type: ignore[arg-type]
    strangers = SigningKeys.from_text("other:" + "A" * 44)
    stranger = Client(listening.url, token, signing_keys=strangers)
    with stranger, pytest.raises(Invalid, match=r"/function: .*'other', unknown here"):
        stranger.publish("logins", ID, pattern=PATTERN, function=select(len))


def test_a_change_made_from_an_old_state_or_to_another_path_is_refused_and_loses_nothing(
    client: Client,
) -> None:
    seen = client.publish("logins", ID, pattern=PATTERN)
    theirs = client.publish("logins", ID, pattern=OTHER_PATTERN)
    with pytest.raises(Outdated, match="412 It has changed since"):
        client.publish("logins", ID, pattern=PATTERN, severity="low", if_match=seen.etag)
    with pytest.raises(Outdated):
        client.delete(ID, if_match=seen.etag)
    assert client.get(ID) == theirs
    client.publish("logins", ID, pattern=PATTERN)
    with pytest.raises(ServiceError):
        client.pause(f"x/../{ID}")
    assert not client.get(ID).is_paused


def test_one_client_serves_many_threads(client: Client) -> None:
    names = [f"rule-{number}" for number in range(8)]
    with ThreadPoolExecutor(len(names)) as pool:
        list(pool.map(lambda name: client.publish("logins", name, pattern=PATTERN), names))
    assert [each.id for each in client.processors("logins")] == names


def test_mistakes_and_warnings_have_their_places_and_nothing_is_written(client: Client) -> None:
    pattern = {"steps": [{"name": "a", "where": "amuont > 10"}]}
    with pytest.raises(Invalid) as refusal:
        client.publish("logins", ID, pattern=pattern)
    (flaw,) = refusal.value.flaws
    assert (flaw.pointer, flaw.line, flaw.column) == ("/pattern/steps/0/where", 1, 1)
    told = str(refusal.value)
    assert told.startswith("422 The rule has 1 problem. (request ")
    assert "/pattern/steps/0/where (line 1, column 1): " in told
    assert "amount" in told
    assert "    ^^^^^^" in told
    loop = {"steps": [{"name": "a", "times": {"from": 1, "to": None}}]}
    warnings = client.validate(processor_document(pattern=loop))
    assert {warning.pointer for warning in warnings} == {"/pattern/steps/0/times"}
    assert list(client.processors()) == []


def test_what_may_not_be_done_is_told(listening: ListeningService) -> None:
    viewer, stranger = listening.client(Role.VIEWER), Client(listening.url, "percept_wrong")
    with viewer, pytest.raises(NotAllowed, match="author is required"):
        viewer.publish("logins", ID, pattern=PATTERN)
    with stranger, pytest.raises(NotAllowed, match="401 The token is not valid") as refusal:
        stranger.get(ID)
    assert "percept_wrong" not in str(refusal.value)


def answering(answer: Callable[[httpx2.Request], httpx2.Response], token: str = "") -> Client:
    """Return a client of what answers so."""
    return Client("http://localhost", token, transport=httpx2.MockTransport(answer))


@pytest.mark.parametrize(
    ("status", "text", "told"),
    [
        (200, "<html>", "is not a rule service this client knows"),
        (407, "who are you?", r"407 who are you\?"),
    ],
)
def test_an_answer_of_something_else_is_told(status: int, text: str, told: str) -> None:
    client = answering(lambda _request: httpx2.Response(status, text=text))
    with client, pytest.raises(ServiceError, match=told):
        client.get(ID)


def test_all_pages_of_a_list_are_read(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"rule-{number}" for number in range(5)]
    for name in names:
        client.publish("logins", name, pattern=PATTERN, tags=["odd"] if int(name[-1]) % 2 else [])
    monkeypatch.setattr(connection, "_PAGE", 2)
    assert [each.id for each in client.processors("logins")] == names
    assert [each.id for each in client.processors(tag="odd", sort="-id")] == ["rule-3", "rule-1"]
    assert list(client.processors("elsewhere")) == []


class Answers(httpx2.BaseTransport):
    """Gives one answer after the other; an exception is raised."""

    def __init__(self, *answers: int | httpx2.Response | Exception) -> None:
        self.left = list(answers)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        match self.left.pop(0):
            case Exception() as error:
                raise error
            case int(status):
                headers = {"Retry-After": "3"} if status == 429 else {}
                return httpx2.Response(status, headers=headers, request=request)
            case answer:
                return answer


Answered = int | httpx2.Response | Exception


def put_off(**headers: str) -> httpx2.Response:
    return httpx2.Response(503, headers={"Retry-After": "2", **headers})


NO_ROUTE = httpx2.ConnectError("no route")
CUT_OFF = httpx2.ReadError("cut off")
PROBLEM = {"Content-Type": "application/problem+json"}
RETRIES: dict[str, tuple[str, tuple[Answered, ...], int | None, list[float]]] = {
    "a read of a service that starts": ("GET", (NO_ROUTE, 503, 200), 200, [0.25, 0.5]),
    "a read cut off": ("GET", (CUT_OFF, 200), 200, [0.25]),
    "a read that never works": ("GET", (502, 502, 502, 504), 504, [0.25, 0.5, 1]),
    "a change that never arrived": ("PUT", (NO_ROUTE, 200), 200, [0.25]),
    "a change put off": ("POST", (429, 201), 201, [3]),
    "a change put off by the service": ("POST", (put_off(**PROBLEM), 201), 201, [2]),
    "a change put off by a proxy": ("POST", (put_off(),), 503, []),
    "a change cut off": ("POST", (CUT_OFF,), None, []),
    "a change without a good answer": ("POST", (503,), 503, []),
    "a read that is refused": ("GET", (404,), 404, []),
    "a read that failed": ("GET", (500,), 500, []),
}


@pytest.mark.parametrize("case", RETRIES)
def test_only_what_is_safe_is_sent_again(case: str) -> None:
    method, answers, status, pauses = RETRIES[case]
    slept: list[float] = []
    transport = Answers(*answers)
    request = httpx2.Request(method, "http://localhost/")
    retrying = RetryingTransport(transport, slept.append)
    if status is None:
        with pytest.raises(httpx2.ReadError):
            retrying.handle_request(request)
    else:
        assert retrying.handle_request(request).status_code == status
    assert slept == pauses
    assert transport.left == []


@pytest.mark.usefixtures("_impatient")
def test_a_change_whose_answer_was_lost_is_sent_again_and_made_once(
    listening: ListeningService,
) -> None:
    service = listening.service
    keys: list[str] = []

    def passed_on_and_lost_twice(request: httpx2.Request) -> httpx2.Response:
        keys.append(request.headers["Idempotency-Key"])
        target, content = request.url.raw_path.decode(), request.read()
        sent = {name: value for name, value in request.headers.items() if name != "host"}
        answer = service.client.request(request.method, target, headers=sent, content=content)
        if len(keys) % 3:
            raise CUT_OFF
        return httpx2.Response(answer.status_code, content=answer.content)

    with answering(passed_on_and_lost_twice, service.token_of[Role.PUBLISHER]) as losing:
        assert losing.create(processor_document()).version == 1
        assert losing.pause(ID).state == "paused"
    made = [each["action"] for each in service.log()]
    assert (made.count("processor.create"), made.count("processor.pause")) == (1, 1)
    assert (len(keys), len(set(keys))) == (6, 2)


@pytest.mark.usefixtures("_impatient")
@pytest.mark.parametrize(
    ("status", "headers", "kind"),
    [
        (503, {}, Unreachable),
        (504, {}, Unreachable),
        (503, {"Retry-After": "0"}, ServiceError),
        (500, {}, ServiceError),
    ],
)
def test_whether_a_change_may_have_been_made_is_told(
    status: int, headers: dict[str, str], kind: type[ServiceError]
) -> None:
    client = answering(lambda _request: httpx2.Response(status, headers=headers))
    with client, pytest.raises(ServiceError) as raised:
        client.delete(ID)
    assert (type(raised.value), raised.value.status) == (kind, status)


@pytest.mark.usefixtures("_impatient")
def test_a_service_that_is_not_there_is_told() -> None:
    client = Client("http://localhost:9", "t", transport=Answers(*[NO_ROUTE] * ATTEMPTS))
    with client, pytest.raises(Unreachable, match="http://localhost:9 did not answer: no route"):
        client.get(ID)


def test_a_token_does_not_cross_a_network_unencrypted_nor_follow_a_redirect() -> None:
    for url in ("http://rules.example.com", "http://10.0.0.1:8321"):
        with pytest.raises(ValueError, match="would cross the network"):
            Client(url, "secret")
        Client(url, "secret", allow_plain_http=True).close()
    for url in ("https://rules.example.com", "http://localhost:1", "http://[::1]:1"):
        with Client(url, "secret") as client:
            assert "secret" not in repr(client)
    asked: list[httpx2.URL] = []

    def redirect(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.url)
        return httpx2.Response(302, headers={"Location": "https://elsewhere.example.com/"})

    with answering(redirect) as client, pytest.raises(ServiceError, match="302"):
        client.get(ID)
    assert [url.host for url in asked] == ["localhost"]


def test_certificates_are_read_for_a_service_with_tls_only(
    listening: ListeningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = Mock()
    monkeypatch.setattr(ssl.SSLContext, "load_verify_locations", read)
    with listening.client() as connected:
        assert connected.stream("logins").name == "logins"
    read.assert_not_called()
    Client("https://rules.example.com", "token").close()
    read.assert_called()


@pytest.fixture
def job(client: Client, listening: ListeningService) -> ReportingJob:
    """A job of a stream with the rule."""
    client.publish("logins", ID, pattern=PATTERN)
    return ReportingJob(listening.service, "fraud")


def test_waiting_ends_once_the_job_runs_the_version(client: Client, job: ReportingJob) -> None:
    job.beat(running(state="pending"))
    threading.Timer(0.3, job.beat, [running()]).start()
    waited = client.wait_until_running("logins", ID, 1, timeout_seconds=10, poll_seconds=0.05)
    assert [held.state for each in waited.jobs for held in each.versions] == ["active"]


def test_waiting_ends_at_once_where_there_is_nothing_to_wait_for(
    client: Client, job: ReportingJob
) -> None:
    def told(timeout_seconds: float) -> str:
        with pytest.raises(NotRunning) as ended:
            client.wait_until_running("logins", ID, 1, timeout_seconds, poll_seconds=0.01)
        return str(ended.value)

    job.beat(running(state="pending"))
    assert client.wait_until_running("logins", ID, 1, 0, pending_is_enough=True)
    assert "does not run everywhere after 0 s; fraud: pending" in told(0)
    job.beat(running(state="quarantined", error="no number", traceback="line 3"))
    assert "fraud stopped version 1: no number\nline 3" in told(60)
    job.beat(running(state="draining"))
    assert "has replaced version 1 (draining)" in told(60)
    job.stop()
    assert "no job of stream logins is alive" in told(0.05)
