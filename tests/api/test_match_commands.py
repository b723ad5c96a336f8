"""`percept matches`: listed, and followed over lost connections, Ctrl-C and closed pipes."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from queue import Queue
from typing import get_args

import httpx2
import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, field_serializer
from typer.testing import Result

from api.client import Client, MatchLine, NotAllowed, ServiceError, Unreachable
from api.client.following import server_events
from api.remote.readers import until_interrupted
from contract.reports import MatchKind
from contract.service.tokens import Role
from tests.api.commands import Run
from tests.api.documents import PATTERN, STREAM
from tests.api.listening import ListeningService, listening_service
from tests.api.running import START_MS
from tests.api.serving import served
from tests.api.test_match_groups import group_of
from tests.api.test_remote_commands import STEERING
from tests.api.triage import found, post
from tests.patience import PATIENCE_SECONDS, eventually

COMMAND, ROLE = ("matches",), Role.VIEWER


@pytest.fixture
def client(client: Client) -> Client:
    client.publish("logins", "failed-logins", pattern=PATTERN)
    return client


def failures(result: Result) -> list[int]:
    assert result.exit_code == 0, result.output
    return [json.loads(line)["output"]["failures"] for line in result.stdout.splitlines()]


# --- listed


def test_matches_are_listed_newest_first_and_filtered(
    run: Run, client: Client, listening: ListeningService
) -> None:
    client.publish("logins", "other", pattern=PATTERN)
    other: dict[str, object] = {"processor_id": "other"}
    parts: list[dict[str, object]] = [{}, other, {"key": ["bob", 7]}, {"kind": "timeout"}]
    post(listening.service, *(found(number, **each) for number, each in enumerate(parts)))
    cases: dict[tuple[object, ...], list[int]] = {
        (): [3, 2, 1, 0],
        ("--rule", "other"): [1],
        ("--key", "bob, 7"): [2],
        ("--kind", "timeout"): [3],
        ("--since", START_MS + 2): [3, 2],
        ("--until", START_MS + 2, "--stream", "logins"): [1, 0],
        ("--limit", 1): [3],
        ("--since", START_MS + 9): [],
    }
    for words, numbers in cases.items():
        assert failures(run(*words, "--json")) == numbers, words
    lines = run().stdout.splitlines()
    assert lines[0].split() == [
        *("TIME", "RULE", "VERSION", "KIND", "KEY", "STATUS", "STANDS", "FOR", "OUTPUT")
    ]
    assert lines[2].split()[1:6] == ["failed-logins", "1", "match", "bob,", "7"]
    assert '{"failures": 2}' in lines[2]
    assert "there are more" in run("--limit", 2).stderr
    told = group_of(2, 1_037)
    body = {"job": "main", "matches": [], "groups": [told]}
    assert listening.service.client.post("/v1/streams/logins/matches", json=body).is_success
    assert "1,037 matches in 1 hour" in run().stdout.splitlines()[2]
    (line,) = run("--key", "bob, 7", "--json").stdout.splitlines()
    assert json.loads(line)["stands_for"]["matches"] == 1_037
    assert "no matches" in run("--since", START_MS + 9).stderr
    assert failures(run("--since", "1h 30m", "--json")) == [3, 2, 1, 0]


def test_what_is_wrong_is_told(run: Run, client: Client) -> None:
    assert run("--rule", "faild-logins").exit_code == 1
    assert "Did you mean 'failed-logins'?" in run("--rule", "faild-logins").stderr
    assert run("--stream", "nowhere").exit_code == 1
    assert "--since: 'soon' is no time" in run("--since", "soon").stderr
    assert run("--kind", "neither").exit_code == 2
    assert run("--follow", "--stream", "nowhere").exit_code == 1
    client.register_stream(STREAM | {"name": "payments"})
    asked = run()
    assert (asked.exit_code, "--stream or --rule: logins, payments" in asked.stderr) == (2, True)
    assert run("--rule", "failed-logins", "--stream", "payments").exit_code == 1
    client.delete("failed-logins")
    assert run("--rule", "failed-logins").exit_code == 0


def test_output_of_rules_does_not_steer_the_terminal(
    run: Run, client: Client, listening: ListeningService
) -> None:
    del client
    hostile = "\x1b[2J[red]\u202e\x9b\n"
    post(listening.service, found(1, key=[hostile], output={hostile: hostile * 100}))
    for words in ((), ("--json",)):
        result = run(*words)
        assert result.exit_code == 0
        assert not re.search(STEERING, result.output)
    assert json.loads(run("--json").stdout)["key"] == [hostile]


# --- followed, by the client


def numbers_of(matches: Iterator[MatchLine], count: int) -> list[int]:
    return [match.output["failures"] for match in islice(matches, count)]


def test_every_match_comes_once_over_many_connections(migrated_store: Callable[[str], str]) -> None:
    url = migrated_store("sqlite")
    with listening_service(url, max_wait_seconds=0.3) as listening, listening.client() as client:
        post(listening.service, found(0))
        seen: Queue[int] = Queue()

        def follow() -> None:
            for match in islice(client.follow_matches("logins", after=0), 40):
                seen.put(match.output["failures"])

        follower = threading.Thread(target=follow)
        follower.start()
        for number in range(1, 40):
            post(listening.service, found(number))
            time.sleep(0.05)
        follower.join(PATIENCE_SECONDS)
        assert list(seen.queue) == list(range(40))


@pytest.mark.parametrize("kind", get_args(MatchKind))
def test_matches_of_every_kind_are_followed(
    kind: MatchKind, client: Client, listening: ListeningService
) -> None:
    post(listening.service, found(1, kind=kind), found(2))
    followed = client.follow_matches("logins", after=0, kind=kind)
    assert next(followed).kind == kind


@pytest.mark.long
def test_a_service_that_was_away_is_found_again_and_nothing_missed(
    tmp_path: Path, sqlite_store: str, free_port: int
) -> None:
    troubles: list[ServiceError] = []
    with served(tmp_path, sqlite_store, free_port) as service:
        client = Client(service.url, service.token)
        client.register_stream(STREAM)
        post_by_http(service.url, service.token, 1)
        followed = client.follow_matches("logins", after=0, on_trouble=troubles.append)
        assert numbers_of(followed, 1) == [1]
        service.stop()
    with served(tmp_path, sqlite_store, free_port) as again:
        post_by_http(again.url, service.token, 2)
        assert numbers_of(followed, 1) == [2]
        again.process.kill()
        again.process.wait()
    with served(tmp_path, sqlite_store, free_port) as third:
        post_by_http(third.url, service.token, 3)
        assert numbers_of(followed, 1) == [3]
    client.close()
    assert troubles  # that of the service that was killed


def post_by_http(url: str, token: str, number: int) -> None:
    body = {"job": "main", "matches": [found(number)]}
    headers = {"Authorization": f"Bearer {token}"}
    path = f"{url}/v1/streams/logins/matches"
    httpx2.post(path, json=body, headers=headers).raise_for_status()


def test_a_token_that_is_revoked_ends_it(migrated_store: Callable[[str], str]) -> None:
    url = migrated_store("sqlite")
    with listening_service(url, max_wait_seconds=0.2) as listening:
        made = listening.service.client.post("/v1/tokens", json={"name": "x", "role": "viewer"})
        with Client(listening.url, made.json()["token"]) as client:
            followed = client.follow_matches("logins", after=0)
            post(listening.service, found(1))
            assert numbers_of(followed, 1) == [1]
            listening.service.client.delete(f"/v1/tokens/{made.json()['id']}").raise_for_status()
            with pytest.raises(NotAllowed):
                next(followed)


def test_the_first_connection_must_succeed(free_port: int) -> None:
    with (
        Client(f"http://127.0.0.1:{free_port}", "token") as client,
        pytest.raises(Unreachable),
    ):
        next(client.follow_matches("logins"))


@given(st.lists(st.tuples(st.sampled_from(["match", "timeout"]), st.text("ab: {}\t"))))
def test_events_are_read_as_they_were_written(events: list[tuple[str, str]]) -> None:
    lines: list[str] = [": listening", "retry: 1000", ""]
    for name, data in events:
        lines += [": ping", "", f"event: {name}", f"data: {data}", "id: 7", "data:more", ""]
    read = [
        (event.name, event.data) for event in server_events([*lines, "event: match", "data: x"])
    ]
    assert read == [(name, f"{data}\nmore") for name, data in events]


# --- followed, on the command line


@contextmanager
def following(listening: ListeningService, *words: str) -> Iterator[subprocess.Popen[str]]:
    """Run `percept matches --follow` as a process of its own; it has begun to listen."""
    environment = os.environ | {
        "PERCEPT_URL": listening.url,
        "PERCEPT_TOKEN": listening.service.token_of[Role.VIEWER],
    }
    process = subprocess.Popen(  # noqa: S603 - our own command
        [sys.executable, "-m", "percept", "matches", "--follow", *words],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        listeners = listening.service.app.state.runtime.match_listeners
        eventually(lambda: listeners.open == 1)
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.long
def test_it_shows_the_last_ones_and_those_that_come(
    client: Client, listening: ListeningService
) -> None:
    del client
    post(listening.service, *(found(number) for number in range(5)))
    with following(listening, "--json", "--limit", "2") as process:
        assert process.stdout is not None
        post(listening.service, found(5), found(6, key=["bob"]))
        read = [json.loads(process.stdout.readline()) for _ in range(4)]
        assert [each["output"]["failures"] for each in read] == [3, 4, 5, 6]


@pytest.mark.long
def test_ctrl_c_ends_it_without_a_traceback(client: Client, listening: ListeningService) -> None:
    del client
    with following(listening) as process:
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=PATIENCE_SECONDS)
        assert (process.returncode, output, errors) == (130, "", "")


@pytest.mark.long
def test_it_ends_at_once_when_nobody_reads_any_more(
    client: Client, listening: ListeningService
) -> None:
    del client
    post(listening.service, found(1))
    with following(listening, "--limit", "1") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        line = process.stdout.readline()
        assert "failed-logins v1  match  eve" in line
        process.stdout.close()
        assert process.wait(PATIENCE_SECONDS) == 0
        assert process.stderr.read() == ""


@pytest.mark.long
def test_a_long_list_into_a_closed_pipe_ends_in_silence(
    client: Client, listening: ListeningService
) -> None:
    del client
    post(listening.service, *(found(number, output={"x": "y" * 900}) for number in range(400)))
    command = f"{sys.executable} -m percept matches --json --limit 400 | head -n 1 | wc -l"
    environment = os.environ | {
        "PERCEPT_URL": listening.url,
        "PERCEPT_TOKEN": listening.service.token_of[Role.VIEWER],
    }
    done = subprocess.run(  # noqa: S602 - our own words
        command, shell=True, env=environment, capture_output=True, text=True, check=True
    )
    assert (done.stdout.strip(), done.stderr) == ("1", "")


def test_an_interrupt_that_pydantic_tells_as_an_error_of_its_own_ends_it_too() -> None:
    class Interrupted(BaseModel):
        @field_serializer("value", check_fields=False)
        def _interrupted(self, _value: object) -> object:
            raise KeyboardInterrupt

        value: int = 1

    with pytest.raises(typer.Exit) as ended, until_interrupted():
        Interrupted().model_dump()
    assert ended.value.exit_code == 130
