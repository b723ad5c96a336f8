"""`percept serve` and `percept token`, and the commands in docs/api.md, against a real process."""

import json
import os
import re
import shutil
import subprocess
import threading
from pathlib import Path
from typing import Any

import httpx2
import pytest
from typer.testing import CliRunner, Result

from api.tokens.commands import token_app
from contract.service.tokens import Role
from tests.api.documents import STREAM, processor_document
from tests.api.listening import ListeningService
from tests.api.serving import served
from tests.patience import FAR_LONGER_SECONDS, PATIENCE_SECONDS

DOCUMENT = Path(__file__).parents[2] / "docs" / "api.md"
BASH = shutil.which("bash") or "bash"
BLOCK = re.compile(r"^```(bash|json)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def commands_with_answers() -> list[tuple[str, Any]]:
    """Return the blocks of commands of docs/api.md, each with the answer shown, or `None`."""
    blocks = BLOCK.findall(DOCUMENT.read_text(encoding="utf-8"))
    pairs = []
    for (kind, text), following in zip(blocks, [*blocks[1:], ("", "")], strict=True):
        if kind == "bash":
            pairs.append((text, json.loads(following[1]) if following[0] == "json" else None))
    return pairs


def run_token(*words: str, **environment: str) -> Result:
    return CliRunner().invoke(token_app, list(words), env={"COLUMNS": "200"} | environment)


def shows(shown: Any, given: Any) -> bool:
    """Return whether an answer has everything a shown one has; lists must be of equal length."""
    match shown:
        case dict():
            return isinstance(given, dict) and all(
                key in given and shows(value, given[key]) for key, value in shown.items()
            )
        case list():
            return len(shown) == len(given) and all(map(shows, shown, given))
        case _:
            return bool(shown == given)


@pytest.mark.long
@pytest.mark.skipif(shutil.which("curl") is None, reason="the commands are curl's")
def test_the_documented_life_of_a_rule_runs(tmp_path: Path, free_port: int) -> None:
    pairs = commands_with_answers()
    marker = "=== next block ==="
    script = f"\necho '{marker}'\n".join(text for text, _ in pairs)
    with served(tmp_path, "sqlite:///percept.db", free_port) as service:
        finished = subprocess.run(  # noqa: S603 - the commands of our own documentation
            [BASH, "-euo", "pipefail", "-c", script],
            cwd=tmp_path,
            env=os.environ | {"PERCEPT": service.url, "TOKEN": service.token},
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
    assert finished.returncode == 0, finished.stdout[-1000:] + finished.stderr
    outputs = finished.stdout.split(f"{marker}\n")
    assert len(outputs) == len(pairs) > 15
    for (text, shown), output in zip(pairs, outputs, strict=True):
        if shown is not None:
            assert shows(shown, json.loads(output)), f"{text}\n{output}"


@pytest.mark.long
def test_the_first_start_prints_an_admin_token_once_and_a_stop_lets_readers_go(
    tmp_path: Path, free_port: int
) -> None:
    with served(tmp_path, "sqlite:///percept.db", free_port) as service:
        headers = service.authorization
        client = httpx2.Client(base_url=service.url, headers=headers, timeout=FAR_LONGER_SECONDS)
        with client:
            assert client.post("/v1/streams", json=STREAM).status_code == 201
            assert client.post("/v1/processors", json=processor_document()).status_code == 201
            etag = client.get("/v1/streams/logins/snapshot").headers["ETag"]
            answers = []

            def wait_for_change() -> None:
                path = f"/v1/streams/logins/snapshot?wait={FAR_LONGER_SECONDS:g}s"
                answers.append(client.get(path, headers={"If-None-Match": etag}).status_code)

            reader = threading.Thread(target=wait_for_change)
            reader.start()
            service.wait_for_reader()
            service.stop()
            reader.join(PATIENCE_SECONDS)
        assert answers == [304]
        log = service.log.read_text(encoding="utf-8")
        requests = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
        assert {"request_id", "path", "status", "ms", "token"} <= requests[-1].keys()
        assert service.token not in "".join(map(str, requests))

    with served(tmp_path, "sqlite:///percept.db", free_port) as again:
        assert again.token == ""
        answer = httpx2.get(f"{again.url}/v1/processors", headers=headers)
        assert len(answer.json()["items"]) == 1


@pytest.mark.parametrize("way", ["store", "service"])
def test_tokens_are_made_listed_and_revoked_on_the_command_line(
    listening: ListeningService, way: str
) -> None:
    environment = {"PERCEPT_DATABASE_URL": listening.service.url}
    if way == "service":
        token = listening.service.token_of[Role.ADMIN]
        environment = {"PERCEPT_URL": listening.url, "PERCEPT_TOKEN": token}

    def run(*words: str) -> str:
        result = run_token(*words, **environment)
        assert result.exit_code == 0, result.output
        return result.output

    def line() -> str:
        (found,) = (line for line in run("list").splitlines() if "payments job" in line)
        return found

    made = run("create", "payments job", "--role", "job", "--expires-at", "2099-01-01T00:00:00Z")
    assert re.fullmatch(r"percept_[A-Za-z0-9_-]{43}\n", made)
    assert made.strip() not in run("list")
    token_id = re.search(r"[0-9a-f]{16}", line())
    assert token_id
    run("revoke", token_id[0])
    assert line().count("Z") == 3  # created, expires, revoked
    assert " all " in line()
    run("create", "Jürgen Müller", "--role", "admin", "--stream", "payments", "--stream", "logins")
    assert re.search(r"Jürgen Müller .* logins, payments", run("list"))


def test_a_wrong_argument_is_named(sqlite_store: str) -> None:
    for arguments, complaint in (
        (["create", "x", "--role", "king"], "king"),
        (["create", "?", "--role", "job"], "name"),
        (["create", "x", "--role", "job", "--expires-at", "2001-01-01T00:00:00Z"], "passed"),
        (["create", "x", "--role", "job", "--expires-at", "tomorrow"], "2026-12-01T08:00:00Z"),
        (["create", "x", "--role", "job", "--stream", "pay*"], "streams"),
        (["revoke", "0000000000000000"], "0000000000000000"),
    ):
        result = run_token(*arguments, "--database-url", sqlite_store)
        assert (result.exit_code, complaint in result.output) == (2, True)


def test_no_store_that_nobody_named_is_made_for_a_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PERCEPT_DATABASE_URL", raising=False)
    create = ["create", "x", "--role", "job"]
    for words in (create, ["list"], ["revoke", "0" * 16]):
        result = run_token(*words)
        assert (result.exit_code, "Name the service with --url" in result.output) == (2, True)
    assert list(tmp_path.iterdir()) == []
    named = run_token(*create, "--database-url", "sqlite:///first.db")
    assert named.exit_code == 0, named.output
    assert (tmp_path / "first.db").exists()


def test_a_service_that_refuses_a_token_is_not_passed_over_for_its_store(
    listening: ListeningService,
) -> None:
    environment = {"PERCEPT_URL": listening.url, "PERCEPT_TOKEN": "percept_wrong"}
    result = run_token("list", **environment)
    assert (result.exit_code, "token" in result.output) == (1, True)
    named = run_token("list", "--database-url", listening.service.url, **environment)
    assert named.exit_code == 0, named.output


def test_a_store_that_is_not_supported_or_away_is_told_in_one_line(free_port: int) -> None:
    for url in ("sqlite://", "mysql://u:secret@host/x", "nonsense"):
        result = run_token("list", "--database-url", url)
        assert (result.exit_code, "postgresql://" in result.output) == (2, True)
        assert "secret" not in result.output
    url = f"postgresql://user:secret@127.0.0.1:{free_port}/percept"
    result = run_token("list", "--database-url", url)
    assert (result.exit_code, result.output.count("\n")) == (1, 1)
    assert result.output.startswith("The store cannot be used: ")
    assert "secret" not in result.output
