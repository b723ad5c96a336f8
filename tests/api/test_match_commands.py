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
from functools import partial
from itertools import islice
from pathlib import Path
from queue import Queue
from typing import Any, get_args

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
from tests.api.commands import STEERING, Run
from tests.api.documents import PATTERN, STREAM
from tests.api.listening import ListeningService, listening_service
from tests.api.running import START_MS
from tests.api.serving import served
from tests.api.test_match_groups import group_of
from tests.api.triage import found, post
from tests.patience import PATIENCE_SECONDS, eventually

COMMAND, ROLE = ("matches",), Role.VIEWER


@pytest.fixture
def client(client: Client) -> Client:
    client.publish("logins", "failed-logins", pattern=PATTERN)
    return client


def failures(result: Result) -> list[int]:
    return [json.loads(line)["output"]["failures"] for line in result.stdout.splitlines()]


@pytest.fixture
def post_matches(client: Client, listening: ListeningService) -> Callable[..., Any]:
    """Post matches of the rule."""
    assert client.get("failed-logins")
    return partial(post, listening.service)


def test_matches_are_listed_newest_first_and_filtered(
    run: Run, client: Client, listening: ListeningService
) -> None:
    client.publish("logins", "other", pattern=PATTERN)
    parts: list[dict[str, Any]] = [
        {},
        {"processor_id": "other"},
        {"key": ["bob", 7]},
        {"kind": "timeout"},
    ]
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
        ("--since", "1h 30m"): [3, 2, 1, 0],
    }
    for words, numbers in cases.items():
        assert failures(run(*words, "--json", code=0)) == numbers, words
    lines = run().stdout.splitlines()
    assert lines[0].split() == [
        *("TIME", "RULE", "VERSION", "KIND", "KEY", "STATUS", "STANDS", "FOR", "OUTPUT")
    ]
    assert lines[2].split()[1:6] == ["failed-logins", "1", "match", "bob,", "7"]
    assert '{"failures": 2}' in lines[2]
    assert "there are more" in run("--limit", 2).stderr
    body = {"job": "main", "matches": [], "groups": [group_of(2, 1_037)]}
    listening.service.done("POST", "/v1/streams/logins/matches", body)
    assert "1,037 matches in 1 hour" in run().stdout.splitlines()[2]
    (line,) = run("--key", "bob, 7", "--json").stdout.splitlines()
    assert json.loads(line)["stands_for"]["matches"] == 1_037
    assert "no matches" in run("--since", START_MS + 9).stderr


def test_what_is_wrong_is_told(run: Run, client: Client) -> None:
    assert "Did you mean 'failed-logins'?" in run("--rule", "faild-logins", code=1).stderr
    run("--stream", "nowhere", code=1)
    assert "--since: 'soon' is no time" in run("--since", "soon").stderr
    run("--kind", "neither", code=2)
    run("--follow", "--stream", "nowhere", code=1)
    client.register_stream(STREAM | {"name": "payments"})
    assert "--stream or --rule: logins, payments" in run(code=2).stderr
    run("--rule", "failed-logins", "--stream", "payments", code=1)
    client.delete("failed-logins")
    run("--rule", "failed-logins", code=0)


def test_output_of_rules_does_not_steer_the_terminal(
    run: Run, post_matches: Callable[..., Any]
) -> None:
    hostile = "\x1b[2J[red]\u202e\x9b\n"
    post_matches(found(1, key=[hostile], output={hostile: hostile * 100}))
    for words in ((), ("--json",)):
        result = run(*words, code=0)
        assert not re.search(STEERING, result.output)
    assert json.loads(result.stdout)["key"] == [hostile]


def numbers_of(matches: Iterator[MatchLine], count: int) -> list[int]:
    return [match.output["failures"] for match in islice(matches, count)]


def test_every_match_comes_once_over_many_connections(sqlite_store: str) -> None:
    settings = listening_service(sqlite_store, max_wait_seconds=0.3)
    with settings as listening, listening.client() as client:
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


def test_matches_of_every_kind_are_followed(client: Client, listening: ListeningService) -> None:
    kinds: tuple[MatchKind, ...] = get_args(MatchKind)
    for number, kind in enumerate(kinds):
        post(listening.service, found(number, kind=kind))
        assert next(client.follow_matches("logins", after=0, kind=kind)).kind == kind


@pytest.mark.long
@pytest.mark.nightly
def test_a_service_that_was_away_is_found_again_and_nothing_missed(
    tmp_path: Path, sqlite_store: str, free_port: int
) -> None:
    troubles: list[ServiceError] = []
    followed: Iterator[MatchLine] = iter(())
    token = ""
    for number in (1, 2, 3):
        with served(tmp_path, sqlite_store, free_port) as service:
            if not token:
                token = service.token
                client = Client(service.url, token)
                client.register_stream(STREAM)
                followed = client.follow_matches("logins", after=0, on_trouble=troubles.append)
            body = {"job": "main", "matches": [found(number)]}
            path = f"{service.url}/v1/streams/logins/matches"
            headers = {"Authorization": f"Bearer {token}"}
            httpx2.post(path, json=body, headers=headers).raise_for_status()
            assert numbers_of(followed, 1) == [number]
            if number == 1:
                service.stop()  # the second one is killed
    client.close()
    assert troubles  # that of the service that was killed


def test_a_token_that_is_revoked_ends_it(sqlite_store: str) -> None:
    with listening_service(sqlite_store, max_wait_seconds=0.2) as listening:
        service = listening.service
        made = service.done("POST", "/v1/tokens", {"name": "x", "role": "viewer"})
        with Client(listening.url, made["token"]) as client:
            followed = client.follow_matches("logins", after=0)
            post(service, found(1))
            assert numbers_of(followed, 1) == [1]
            service.done("DELETE", f"/v1/tokens/{made['id']}")
            with pytest.raises(NotAllowed):
                next(followed)


def test_the_first_connection_must_succeed(free_port: int) -> None:
    with Client(f"http://127.0.0.1:{free_port}", "token") as client, pytest.raises(Unreachable):
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


def surroundings(listening: ListeningService) -> dict[str, str]:
    """Return the environment of a command as a process of its own."""
    token = listening.service.token_of[Role.VIEWER]
    return os.environ | {"PERCEPT_URL": listening.url, "PERCEPT_TOKEN": token}


@contextmanager
def following(listening: ListeningService, *words: str) -> Iterator[subprocess.Popen[str]]:
    """Run `percept matches --follow` as a process of its own; it has begun to listen."""
    process = subprocess.Popen(  # noqa: S603 - our own command
        [sys.executable, "-m", "percept", "matches", "--follow", *words],
        env=surroundings(listening),
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
    listening: ListeningService, post_matches: Callable[..., Any]
) -> None:
    post_matches(*(found(number) for number in range(5)))
    with following(listening, "--json", "--limit", "2") as process:
        assert process.stdout is not None
        post_matches(found(5), found(6, key=["bob"]))
        read = [json.loads(process.stdout.readline()) for _ in range(4)]
        assert [each["output"]["failures"] for each in read] == [3, 4, 5, 6]


@pytest.mark.long
@pytest.mark.usefixtures("client")
def test_ctrl_c_ends_it_without_a_traceback(listening: ListeningService) -> None:
    with following(listening) as process:
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=PATIENCE_SECONDS)
        assert (process.returncode, output, errors) == (130, "", "")


@pytest.mark.long
def test_it_ends_at_once_when_nobody_reads_any_more(
    listening: ListeningService, post_matches: Callable[..., Any]
) -> None:
    post_matches(found(1))
    with following(listening, "--limit", "1") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert "failed-logins v1  match  eve" in process.stdout.readline()
        process.stdout.close()
        assert process.wait(PATIENCE_SECONDS) == 0
        assert process.stderr.read() == ""


@pytest.mark.long
def test_a_long_list_into_a_closed_pipe_ends_in_silence(
    listening: ListeningService, post_matches: Callable[..., Any]
) -> None:
    post_matches(*(found(number, output={"x": "y" * 900}) for number in range(400)))
    command = f"{sys.executable} -m percept matches --json --limit 400 | head -n 1 | wc -l"
    environment = surroundings(listening)
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
