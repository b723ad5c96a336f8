"""Runs `percept` as its users do, against a service that listens."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from contract.service.tokens import Role
from percept.command_line import app
from tests.api.listening import ListeningService

Run = Callable[..., Result]


def runner(
    listening: ListeningService,
    monkeypatch: pytest.MonkeyPatch,
    *command: str,
    role: Role = Role.ADMIN,
) -> Run:
    """Return what runs commands that begin so, with the token of this role unless told another."""
    token_of = listening.service.token_of
    monkeypatch.setenv("PERCEPT_URL", listening.url)
    monkeypatch.setenv("PERCEPT_TOKEN", token_of[role])

    def run(
        *words: object, role: Role | None = None, token: str | None = None, given: str = ""
    ) -> Result:
        token = token_of[role] if role else token
        environment = {"PERCEPT_TOKEN": token} if token else {}
        return CliRunner().invoke(app, [*command, *map(str, words)], given, environment)

    return run


def write(file: Path, *documents: dict[str, Any]) -> Path:
    """Write documents into a file of YAML, and return it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(yaml.safe_dump_all(documents, sort_keys=False), encoding="utf-8")
    return file
