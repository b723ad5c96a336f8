"""Webhooks: told once of what needs attention, signed, tried again, never to private addresses."""

import base64
import contextlib
import hashlib
import hmac
import json
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from api.settings import Settings
from api.webhooks import rounds as rounds_module
from api.webhooks import sending, service
from api.webhooks.addresses import AddressRefused, checked_addresses, checked_url, is_public
from api.webhooks.rounds import PAUSES_SECONDS, WebhookRounds
from api.webhooks.sending import Answer, send
from api.webhooks.signing import new_secret, signed_headers
from contract.service.tokens import Role
from tests.api.documents import STREAM, processor_document
from tests.api.jobs import ReportingJob, running
from tests.api.people import ask_for
from tests.api.running import START_MS, Service, running_service
from tests.docs.fences import fences
from tests.patience import PATIENCE_SECONDS

WEBHOOKS = "/v1/webhooks"
EVENTS = ["rule.quarantined", "rule.throttled", "job.stale", "discovery.failing", "approval.asked"]


@dataclass
class Receiver:
    """A receiver on this machine: what came, and what it answers."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    came: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    on_request: Callable[[], object] = lambda: None
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook?team=fraud"

    @property
    def told(self) -> list[str]:
        return [json.loads(body)["type"] for _, body in self.came]


@contextmanager
def hook_server(answer: Callable[[BaseHTTPRequestHandler, bytes], None]) -> Iterator[int]:
    """Answer requests with bodies on a port of this machine, each in a thread of its own."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            answer(self, self.rfile.read(int(self.headers["Content-Length"])))

        def log_message(self, *_args: Any) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        request_queue_size = 200
        daemon_threads = True

    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    found = Receiver()

    def answer(request: BaseHTTPRequestHandler, body: bytes) -> None:
        assert request.path == "/hook?team=fraud"
        found.came.append(({k.lower(): v for k, v in request.headers.items()}, body))
        found.on_request()
        request.send_response(found.status)
        for name, value in found.headers.items():
            request.send_header(name, value)
        request.end_headers()

    with hook_server(answer) as found.port:
        yield found


@pytest.fixture
def hooked(service: Service) -> Service:
    """A service that may send to this machine; its rounds come when a test wants them."""
    service.begin_with_stream(webhook_private_addresses=True)
    return service


def rounds_of(service: Service, **settings: Any) -> WebhookRounds:
    chosen: dict[str, Any] = {"database_url": service.url, "webhook_private_addresses": True}
    return WebhookRounds(service.database, service.clock, Settings(**(chosen | settings)))


def create(service: Service, url: str, **more: Any) -> Any:
    body = {"name": "on call", "url": url, "events": EVENTS} | more
    return service.post(WEBHOOKS, Role.ADMIN, body, expect=201)


def asked(service: Service, url: str, **more: Any) -> Any:
    """Return a new webhook that was asked for a message to try it."""
    webhook = create(service, url, **more)
    service.post(f"{WEBHOOKS}/{webhook['id']}/test", Role.ADMIN, expect=202)
    return webhook


def deliveries(service: Service, webhook: Any) -> Any:
    return service.get(f"{WEBHOOKS}/{webhook['id']}/deliveries", Role.ADMIN)["items"]


def published(service: Service) -> ReportingJob:
    service.publish()
    return ReportingJob(service)


class TestEvents:
    def test_each_concern_is_told_once_and_again_after_it_was_over(
        self, hooked: Service, receiver: Receiver
    ) -> None:
        job = published(hooked)
        create(hooked, receiver.url)
        rounds = rounds_of(hooked)
        rounds.once()
        assert receiver.told == []
        broken = running(state="quarantined", error="boom")
        job.beat(broken, discovery={"status": "failing", "error": "no route"})
        for _ in range(3):
            rounds.once()
        assert sorted(receiver.told) == ["discovery.failing", "rule.quarantined"]
        bodies = {json.loads(body)["type"]: json.loads(body) for _, body in receiver.came}
        data = {"stream": "logins", "job": "main", "rule": "failed-logins", "version": 1}
        assert bodies["rule.quarantined"] == {
            "type": "rule.quarantined",
            "timestamp": "2027-01-15T08:00:00.000Z",
            "data": data | {"error": "boom"},
        }
        throttled = running(throttled_until_ms=START_MS)
        for beat, told in (
            ([running()], []),
            (
                [throttled, running(version=2, state="quarantined")],
                ["rule.quarantined", "rule.throttled"],
            ),
        ):
            receiver.came.clear()
            job.beat(*beat, discovery={"status": "ok"})
            rounds.once()
            assert sorted(receiver.told) == told
        hooked.clock.time_ms += 3_600_000
        receiver.came.clear()
        for _ in range(2):
            rounds.once()
        assert receiver.told == ["job.stale"]
        for version in (running(), broken):
            job.beat(version)
            rounds.once()
        assert receiver.told[1:] == ["rule.quarantined"]

    def test_approvals_are_asked_for_until_there_are_enough(
        self, hooked: Service, receiver: Receiver
    ) -> None:
        published(hooked)
        ask_for(hooked, 1)
        create(hooked, receiver.url)
        hooked.done("POST", "/v1/proposals", {"document": processor_document(severity="low")})
        for _ in range(2):
            rounds_of(hooked).once()
        assert receiver.told == ["approval.asked"]
        data = json.loads(receiver.came[0][1])["data"]
        assert (data["rule"], data["approvals_missing"]) == ("failed-logins", 1)

    def test_only_what_it_is_for(self, hooked: Service, receiver: Receiver) -> None:
        job = published(hooked)
        hooked.done("POST", "/v1/streams", STREAM | {"name": "payments"})
        create(hooked, receiver.url, events=["job.stale"])
        create(hooked, receiver.url, name="payments", stream="payments")
        job.beat(running(state="quarantined", error="boom"))
        rounds_of(hooked).once()
        assert receiver.told == []


class TestDelivery:
    def test_a_message_is_signed_and_its_secret_shown_once(
        self, hooked: Service, receiver: Receiver, capfd: pytest.CaptureFixture[str]
    ) -> None:
        webhook = asked(hooked, receiver.url)
        path = f"{WEBHOOKS}/{webhook['id']}"
        rounds_of(hooked).once()
        ((headers, body),) = receiver.came
        sent = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
        key = base64.b64decode(webhook["secret"].removeprefix("whsec_"))
        digest = base64.b64encode(hmac.new(key, sent, hashlib.sha256).digest()).decode()
        assert headers["webhook-signature"] == f"v1,{digest}"
        assert headers["webhook-timestamp"] == str(START_MS // 1_000)
        (delivered,) = deliveries(hooked, webhook)
        shown = (delivered["state"], delivered["status"], delivered["attempts"])
        assert shown == ("delivered", 200, 1)
        assert delivered["body"].encode() == body
        renewed = hooked.done("POST", f"{path}/secret")["secret"]
        assert renewed != webhook["secret"]
        places = (WEBHOOKS, path, f"{path}/deliveries", "/v1/changes", "/metrics")
        told = "".join([*(hooked.client.get(each).text for each in places), *capfd.readouterr()])
        for secret in (webhook["secret"], renewed):
            assert secret not in told
        assert "team=fraud" not in hooked.client.get("/v1/changes").text

    def test_it_is_tried_again_with_growing_pauses_and_given_up(
        self, hooked: Service, receiver: Receiver
    ) -> None:
        def attention(role: Role = Role.ADMIN) -> list[tuple[str, str, str]]:
            items = hooked.get("/v1/overview", role)["attention"]
            return [(item["concern"], item["webhook"], item["detail"]) for item in items]

        webhook = asked(hooked, receiver.url)
        receiver.status = 500
        for attempt, pause in enumerate([*PAUSES_SECONDS, 0], start=1):
            for _ in range(2):
                rounds_of(hooked).once()
            (found,) = deliveries(hooked, webhook)
            assert (found["attempts"], len(receiver.came)) == (attempt, attempt)
            hooked.clock.time_ms += pause * 1_000
            told = attention()
            assert [each[:2] for each in told] == [("webhook_failing", "on call")] * (attempt > 1)
        assert told[0][2] == "Its newest message was given up after 10 attempts: it answered 500"
        assert attention(Role.PUBLISHER) == []
        assert (found["state"], found["error"]) == ("failed", "it answered 500")
        assert len({headers["webhook-id"] for headers, _ in receiver.came}) == 1
        hooked.clock.time_ms += 10**9
        rounds_of(hooked).once()
        assert len(receiver.came) == len(PAUSES_SECONDS) + 1
        receiver.status = 200
        hooked.done("POST", f"{WEBHOOKS}/{webhook['id']}/test")
        rounds_of(hooked).once()
        assert attention() == []

    def test_nobody_sends_what_somebody_else_sends(
        self, hooked: Service, receiver: Receiver
    ) -> None:
        job = published(hooked)
        webhook = create(hooked, receiver.url)
        for _ in range(20):
            hooked.client.post(f"{WEBHOOKS}/{webhook['id']}/test")
        job.beat(running(state="quarantined", error="boom"))
        # While one message is on its way another instance looks for what is due.
        another = rounds_of(hooked)
        receiver.on_request = lambda: another._send(set()) if len(receiver.came) == 1 else 0
        with ThreadPoolExecutor(4) as threads:
            for done in [threads.submit(rounds_of(hooked).once) for _ in range(4)]:
                done.result()
        assert len(receiver.came) == 21
        assert len({headers["webhook-id"] for headers, _ in receiver.came}) == 21

    def test_one_that_never_answers_delays_no_other_and_nothing_new(
        self, hooked: Service, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        job, is_first = published(hooked), threading.Lock()
        with socket.create_server(("127.0.0.1", 0)) as silent:
            url = f"http://127.0.0.1:{silent.getsockname()[1]}/"

            def soon_given_up(to: str, *args: Any, **more: Any) -> Answer:
                return send(to, *args, **more, seconds=1.0 if to == url else 60.0)

            monkeypatch.setattr(rounds_module, "send", soon_given_up)
            never = create(hooked, url, name="never", events=["job.stale"])
            healthy = create(hooked, receiver.url)
            for webhook, count in ((never, 20), (healthy, 3)):
                for _ in range(count):
                    hooked.client.post(f"{WEBHOOKS}/{webhook['id']}/test")
                hooked.clock.time_ms += 1
            breaks = running(state="quarantined", error="boom")
            receiver.on_request = lambda: (
                job.beat(breaks) if is_first.acquire(blocking=False) else None
            )
            rounds_of(hooked).once()
        assert sorted(receiver.told) == ["rule.quarantined", *["webhook.test"] * 3]
        tried = [each["attempts"] for each in deliveries(hooked, never)]
        assert sorted(tried) == [0] * 18 + [1] * 2

    def test_many_that_hang_in_every_way_delay_no_other(
        self, hooked: Service, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """None of the first ends before all others have come: who waited for one would hang."""
        all_came, came, lock = threading.Event(), Counter[str](), threading.Lock()
        monkeypatch.setattr(service, "MAXIMUM_WEBHOOKS", 100)
        monkeypatch.setattr(rounds_module, "send", partial(send, seconds=PATIENCE_SECONDS))

        def answer(request: BaseHTTPRequestHandler, _body: bytes) -> None:
            kind = request.path[1:].partition("/")[0]
            with lock:
                came[request.path] += 1
                if sum(path.startswith("/healthy") for path in came) == 50:
                    all_came.set()
            if kind != "healthy":
                all_came.wait(PATIENCE_SECONDS)
            if kind == "silent":
                return
            if kind == "dripping":
                request.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
            request.send_response(302 if kind == "elsewhere" else 200)
            request.send_header("Location", f"http://{request.headers['Host']}/inside")
            request.end_headers()
            if kind == "endless":
                with contextlib.suppress(OSError):
                    while True:
                        request.wfile.write(b"x" * 65_536)

        states = {
            "silent": "pending",
            "dripping": "delivered",
            "endless": "delivered",
            "elsewhere": "pending",
        }
        with hook_server(answer) as port:
            base = f"http://127.0.0.1:{port}"
            hanging = [
                (state, asked(hooked, f"{base}/{kind}/{n}", name=f"{kind} {n}"))
                for n in range(3)
                for kind, state in states.items()
            ]
            for _, webhook in hanging:
                hooked.done("POST", f"{WEBHOOKS}/{webhook['id']}/test")
            hooked.clock.time_ms += 1
            healthy = [
                ("delivered", asked(hooked, f"{base}/healthy/{n}", name=f"healthy {n}"))
                for n in range(50)
            ]
            rounds_of(hooked).once()
        assert all_came.is_set()
        assert [came[f"/healthy/{n}"] for n in range(50)] == [1] * 50
        assert not [path for path in came if "inside" in path]
        for state, webhook in (*hanging, *healthy):
            assert {each["state"] for each in deliveries(hooked, webhook)} == {state}, webhook[
                "name"
            ]

    def test_one_whose_sender_has_died_is_sent_again_later(
        self, hooked: Service, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        webhook = asked(hooked, receiver.url)

        def dies(*_args: object, **_more: object) -> Answer:
            raise KeyboardInterrupt

        with monkeypatch.context() as dying:
            dying.setattr(rounds_module, "send", dies)
            with pytest.raises(KeyboardInterrupt):
                rounds_of(hooked).once()
        rounds_of(hooked).once()
        assert receiver.came == []
        hooked.clock.time_ms += rounds_module.CLAIM_MS
        rounds_of(hooked).once()
        (found,) = deliveries(hooked, webhook)
        assert (found["state"], found["attempts"], len(receiver.came)) == ("delivered", 2, 1)

    def test_a_pause_is_no_longer_if_the_clock_is_set_back(
        self, hooked: Service, receiver: Receiver
    ) -> None:
        asked(hooked, receiver.url)
        receiver.status = 500
        for came in (1, 2):
            rounds_of(hooked).once()
            rounds_of(hooked).once()
            assert len(receiver.came) == came
            hooked.clock.time_ms -= 3_600_000

    def test_what_is_kept_is_bounded(
        self, hooked: Service, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(rounds_module, "MAXIMUM_PENDING", 1)
        job = published(hooked)
        webhook = create(hooked, receiver.url)
        receiver.status = 503
        versions = [running(version=n, state="quarantined", error="x") for n in (1, 2, 3)]
        job.beat(*versions)
        rounds_of(hooked).once()
        assert len(deliveries(hooked, webhook)) == 1
        receiver.status = 200
        for _ in range(4):
            hooked.clock.time_ms += 6_000
            job.beat()
            rounds_of(hooked, webhook_deliveries=2).once()
        assert len(set(receiver.told)) == 1
        assert len({headers["webhook-id"] for headers, _ in receiver.came}) == 3
        assert len(deliveries(hooked, webhook)) == 2

    def test_gone_means_gone_and_metrics_tell_no_names(
        self, hooked: Service, receiver: Receiver
    ) -> None:
        webhook = asked(hooked, receiver.url, name="fraud team of the bank")
        told = hooked.client.get("/metrics", headers=hooked.as_role(Role.VIEWER)).text
        assert f'state="pending",webhook="{webhook["id"]}"' in told
        assert "fraud team" not in told
        receiver.status = 410
        rounds_of(hooked).once()
        shown = hooked.get(f"{WEBHOOKS}/{webhook['id']}", Role.ADMIN)
        assert (shown["enabled"], deliveries(hooked, webhook)[0]["state"]) == (False, "failed")
        hooked.post(f"{WEBHOOKS}/{webhook['id']}/test", Role.ADMIN, expect=409)

    def test_messages_wait_while_it_is_disabled_and_go_with_it(
        self, hooked: Service, receiver: Receiver
    ) -> None:
        path = f"{WEBHOOKS}/{asked(hooked, receiver.url)['id']}"
        assert hooked.done("PATCH", path, {"enabled": False})["pending"] == 1
        rounds_of(hooked).once()
        assert receiver.came == []
        hooked.done("PATCH", path, {"enabled": True, "name": "night"})
        hooked.done("DELETE", path)
        rounds_of(hooked).once()
        assert receiver.came == []
        hooked.get(path, Role.ADMIN, expect=404)

    def test_the_service_does_it_by_itself(self, database_url: str, receiver: Receiver) -> None:
        arrived = threading.Event()
        receiver.on_request = arrived.set
        settings: dict[str, Any] = {"webhook_private_addresses": True, "webhook_seconds": 0.02}
        with running_service(database_url, **settings) as served:
            asked(served, receiver.url)
            assert arrived.wait(30)


class TestWhereTo:
    def test_only_public_addresses_are_public(self) -> None:
        addresses = [
            *("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.0.1", "169.254.169.254"),
            *("0.0.0.0", "0.0.0.1"),  # noqa: S104 - nothing is bound
            *("100.64.0.1", "224.0.0.1", "255.255.255.255", "192.0.2.1", "240.0.0.1"),
            *("::1", "::", "fe80::1%eth0", "fc00::1", "ff02::1", "::ffff:127.0.0.1"),
            *("64:ff9b::7f00:1", "2002:7f00:1::", "2001:0:7f00:1::", "::7f00:1"),
            *("fec0::1", "fec0::1%2", "feff::1", "3fff::1", "3fff:fff::1", "2001:db8::1"),
            *("168.63.129.16", "::ffff:168.63.129.16", "192.0.0.192", "100.100.100.200"),
            *("198.51.100.1", "203.0.113.1", "161.26.0.10", "166.8.0.1", "fd00:ec2::254"),
        ]
        public = [
            "8.8.8.8",
            "168.63.129.17",
            "2606:4700::1111",
            "2a00:1450:4001::1",
            "::ffff:8.8.8.8",
        ]
        assert [address for address in addresses + public if is_public(address)] == public

    def test_what_is_no_url_for_it(self) -> None:
        urls = [
            *("http://example.com/", "ftp://example.com/", "https:///path", "example.com", ""),
            *("https://ana:pw@example.com/", "https://example.com/#a", "https://example.com:0/"),
            *("https://example.com/ä", "https://example.com/\r\nX: y", "https://exa mple.com/"),
            *("https://example.com:99999/", "https://[::1/"),
        ]
        for url in urls:
            with pytest.raises(AddressRefused):
                pytest.fail(f"{url!r} is taken as {checked_url(url, allows_private=False)}")

    def test_every_address_of_a_name_is_looked_at(self, monkeypatch: pytest.MonkeyPatch) -> None:
        found = ["8.8.8.8", "10.0.0.1"]
        monkeypatch.setattr(
            socket, "getaddrinfo", lambda *_a, **_m: [(0, 0, 0, "", (each, 443)) for each in found]
        )
        with pytest.raises(AddressRefused, match="not public"):
            checked_addresses("rebound.example", 443, allows_private=False)
        assert checked_addresses("rebound.example", 443, allows_private=True) == found

    @pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::1]"])
    def test_nothing_is_sent_to_this_machine(
        self, host: str, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def connects(*_args: object, **_more: object) -> None:
            raise AssertionError("a connection")

        monkeypatch.setattr(socket, "create_connection", connects)
        answer = send(f"https://{host}:{receiver.port}/", {}, b"{}", allows_private=False)
        assert answer.status is None
        assert "not public" in answer.error or "resolved" in answer.error

    def test_it_connects_to_what_was_looked_at(
        self, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked, real = [], socket.getaddrinfo

        def resolved_once(host: str, *_args: Any, **_more: Any) -> Any:
            asked.append(host)
            local = [(0, 0, 0, "", ("127.0.0.1", receiver.port))]
            return real(host, *_args, **_more) if host == "127.0.0.1" else local

        monkeypatch.setattr(socket, "getaddrinfo", resolved_once)
        url = f"http://receiver.example:{receiver.port}/hook?team=fraud"
        assert send(url, {}, b"{}", allows_private=True) == Answer(200)
        assert asked.count("receiver.example") == 1
        assert receiver.came[0][0]["host"] == f"receiver.example:{receiver.port}"

    def test_a_name_that_is_this_machine_a_moment_later_does_not_reach_it(
        self, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        answers, reached = iter(["8.8.8.8", "127.0.0.1"]), []

        def connects(address: tuple[str, int], **_more: object) -> None:
            reached.append(address[0])
            raise ConnectionRefusedError(0, "refused")

        monkeypatch.setattr(
            socket, "getaddrinfo", lambda *_a, **_m: [(0, 0, 0, "", (next(answers), 443))]
        )
        monkeypatch.setattr(socket, "create_connection", connects)
        url = f"https://rebound.example:{receiver.port}/hook?team=fraud"
        told = [send(url, {}, b"{}", allows_private=False).error for _ in range(2)]
        assert told[0] == "no connection: refused"
        assert "not public" in told[1]
        assert (reached, receiver.came) == (["8.8.8.8"], [])

    def test_redirects_are_not_followed_and_one_that_does_not_end_or_is_not_there_left(
        self, receiver: Receiver
    ) -> None:
        receiver.status, receiver.headers = 302, {"Location": receiver.url}
        answer = send(receiver.url, {}, b"{}", allows_private=True)
        assert answer == Answer(302, "it answered 302; redirects are not followed")
        assert len(receiver.came) == 1
        with socket.create_server(("127.0.0.1", 0)) as silent:
            url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
            answer = send(url, {}, b"{}", allows_private=True, seconds=0.2)
        assert answer == Answer(None, "it did not answer in time")
        answer = send(url, {}, b"{}", allows_private=True)
        assert (answer.status, answer.error[:13]) == (None, "no connection")

    def test_a_line_that_drips_is_cut(self) -> None:
        """Each byte comes in time, the whole never would."""
        stop = threading.Event()
        server = socket.create_server(("127.0.0.1", 0))

        def drips() -> None:
            connection, _ = server.accept()
            with connection:
                while not stop.wait(0.02):
                    try:
                        connection.sendall(b"H")
                    except OSError:
                        return

        thread = threading.Thread(target=drips, daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        answer = send(url, {}, b"{}", allows_private=True, seconds=0.3)
        stop.set()
        thread.join()
        server.close()
        assert answer.status is None
        assert sending.SEND_SECONDS > 1


class TestManaging:
    def test_names_and_numbers(
        self, hooked: Service, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = f"{WEBHOOKS}/{create(hooked, receiver.url)['id']}"
        body = {"name": "on call", "url": receiver.url, "events": EVENTS}
        hooked.post(WEBHOOKS, Role.ADMIN, body, expect=409)
        monkeypatch.setattr(service, "MAXIMUM_WEBHOOKS", 1)
        hooked.post(WEBHOOKS, Role.ADMIN, body | {"name": "b"}, expect=409)
        hooked.post(WEBHOOKS, Role.ADMIN, body | {"name": "b", "stream": "none"}, expect=404)
        assert hooked.send("PATCH", path, {"url": "ftp://x"}).status_code == 422
        assert hooked.log()[0]["action"] == "webhook.create"

    def test_names_and_numbers_and_pages(self, hooked: Service, receiver: Receiver) -> None:
        path = f"{WEBHOOKS}/{create(hooked, receiver.url)['id']}"
        for _ in range(3):
            hooked.done("POST", f"{path}/test")
        pages = list(hooked.pages(f"{path}/deliveries", Role.ADMIN, limit=2))
        numbers = [each["number"] for page in pages for each in page["items"]]
        assert [len(page["items"]) for page in pages] == [2, 1]
        assert numbers == sorted(numbers, reverse=True)
        body = {"name": "on call", "url": "https://example.com/", "events": EVENTS}
        for changes, pointer in (
            ({"url": "ftp://example.com"}, "/url"),
            ({"events": []}, "/events"),
            ({"events": ["rule.broken"]}, "/events/0"),
            ({"name": ""}, "/name"),
            ({"secret": "mine"}, "/secret"),
        ):
            answer = hooked.post(WEBHOOKS, Role.ADMIN, body | changes, expect=422)
            assert [error["pointer"] for error in answer["errors"]] == [pointer]


def test_a_signature_is_that_of_the_standard() -> None:
    """Checked with the example of the specification's own libraries."""
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"  # noqa: S105 - of the example
    body = b'{"test": 2432232314}'
    headers = signed_headers(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body)
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    (block,) = [fence.text for fence in fences("docs/webhooks.md") if fence.language == "python"]
    page: dict[str, Any] = {}
    exec(block, page)  # noqa: S102 - of our own page
    is_genuine = page["is_genuine"]
    assert is_genuine(secret, headers, body, now=1614265330 + 299)
    assert not is_genuine(secret, headers, body, now=1614265330 + 301)
    assert not is_genuine(secret, headers, body + b" ", now=1614265330)
    assert not is_genuine(new_secret(), headers, body, now=1614265330)
    assert len(base64.b64decode(new_secret().removeprefix("whsec_"))) == 32
