"""Runs `percept` as its users do, against a service that listens."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from api.client import Client
from contract.service.tokens import Role
from percept.command_line import app
from tests.api.listening import ListeningService

Run = Callable[..., Result]
STEERING = "[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]"
"""What no output may have: characters that steer a terminal."""


def runner(
    listening: ListeningService,
    monkeypatch: pytest.MonkeyPatch,
    *command: str,
    role: Role = Role.ADMIN,
) -> Run:
    """Return what runs commands that begin so, with the token of this role unless told another.

    It fails if a command ends with another `code` than the one it is given, if it is given one.
    """
    token_of = listening.service.token_of
    monkeypatch.setenv("PERCEPT_URL", listening.url)
    monkeypatch.setenv("PERCEPT_TOKEN", token_of[role])

    def run(
        *words: object,
        code: int | None = None,
        role: Role | None = None,
        token: str | None = None,
        given: str = "",
    ) -> Result:
        token = token_of[role] if role else token
        environment = {"PERCEPT_TOKEN": token} if token else {}
        return ended(code, *command, *words, given=given, environment=environment)

    return run


def ended(
    code: int | None,
    *words: object,
    given: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> Result:
    """Run a command, and return how it ended; fails if it is with another code."""
    result = CliRunner().invoke(app, list(map(str, words)), given, environment)
    assert code in {None, result.exit_code}, result.output
    return result


def steps_of(result: Result) -> list[str]:
    """Return the lines of a plan that are not its diffs."""
    return [line for line in result.output.splitlines() if line and not line.startswith(" ")]


def write(file: Path, *documents: dict[str, Any]) -> Path:
    """Write documents into a file of YAML, and return it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    plain = json.loads(json.dumps(documents))  # nothing shared, which YAML would write as aliases
    file.write_text(yaml.safe_dump_all(plain, sort_keys=False), encoding="utf-8")
    return file


@dataclass(frozen=True)
class Folder:
    """A folder of documents, what applies it to a service, and a client of that."""

    path: Path
    run: Run
    client: Client

    def write(self, name: str, *documents: dict[str, Any]) -> Path:
        """Write documents into a file of it."""
        return write(self.path / name, *documents)

    def apply(self, *words: object, code: int = 0, **options: Any) -> Result:
        """Apply it."""
        return self.run("apply", self.path, *words, code=code, **options)

    def plan(self, *words: object, **options: Any) -> list[str]:
        """Apply it, and return the lines of the plan and of what was done."""
        return steps_of(self.apply(*words, **options))
