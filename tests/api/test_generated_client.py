"""A client in another language, generated from the OpenAPI document, goes through a rule's life."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from api.app import create_app
from api.settings import Settings
from contract.service.tokens import Role
from tests.api.listening import ListeningService

pytestmark = pytest.mark.long

PROGRAM = Path(__file__).with_name("generated_client")
SOURCES = ("package.json", "package-lock.json", "tsconfig.json", "smoke.ts")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The program beside a client that was generated for it, both compiled."""
    if shutil.which("npm") is None and os.environ.get("CI") != "true":
        pytest.skip("the client is in TypeScript, and there is no `npm` on the PATH")
    for name in SOURCES:
        shutil.copy(PROGRAM / name, tmp_path)
    document = create_app(Settings(database_url="sqlite:///unused.db")).openapi()
    (tmp_path / "openapi.json").write_text(json.dumps(document))
    run(tmp_path, "npm", "ci", "--no-fund", "--no-audit", "--ignore-scripts")
    run(tmp_path, "npx", "openapi-ts", "--input", "openapi.json", "--output", "client")
    return tmp_path


def run(folder: Path, *words: str, **environment: str) -> str:
    done = subprocess.run(  # noqa: S603 - our own words
        words, cwd=folder, env=os.environ | environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.nightly
def test_the_life_of_a_rule_by_a_client_in_typescript(
    folder: Path, listening: ListeningService
) -> None:
    run(folder, "npx", "tsc")
    token = listening.service.token_of[Role.ADMIN]
    told = run(folder, "node", "built/smoke.js", PERCEPT_URL=listening.url, PERCEPT_TOKEN=token)
    assert told == "done\n"
