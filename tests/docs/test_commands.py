"""All pages: each command of Percept that is shown is there, with the options it is given.

Commands whose page runs them are tested there as well. Those that need containers, a cluster or a
package index run nowhere; of them, this is what is checked.
"""

import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from percept.command_line import app
from tests.docs.fences import ROOT, fences

PAGES = ["README.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


def shown() -> Iterator[tuple[str, str]]:
    """Yield the lines of commands of all pages, each with its page."""
    for page in PAGES:
        for fence in fences(page):
            if fence.language == "console":
                lines = re.findall(r"^\$ (.*)$", fence.text, re.MULTILINE)
            elif fence.language == "bash":
                lines = fence.text.splitlines()
            else:
                continue
            yield from ((page, line.strip()) for line in lines)


COMMANDS = sorted({each for each in shown() if each[1].startswith("percept ")})
INSTALLED = sorted({each for each in shown() if "pip install" in each[1]})


def test_there_are_commands() -> None:
    assert len(COMMANDS) > 40
    assert {page for page, _ in COMMANDS} >= {"docs/operations.md", "docs/kafka.md"}


@pytest.mark.parametrize(("page", "line"), COMMANDS)
def test_a_command_is_there_with_its_options(page: str, line: str) -> None:
    words = shlex.split(line, comments=True)[1:]
    command: Any = typer.main.get_command(app)
    context = command.make_context("percept", [], resilient_parsing=True)
    options: set[str] = set()
    for word in words:
        if word in {"|", ">", ">>", "&", "&&", "||", ";", "<"}:
            break
        if word.startswith("-") and word != "-":
            options.add(word.partition("=")[0])
        elif hasattr(command, "get_command"):
            found = command.get_command(context, word)
            assert found is not None, f"{page}: there is no command {word}"
            command = found
    known = {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
    assert options <= known | {"--help", "-h"}, page


@pytest.mark.parametrize(("page", "line"), INSTALLED)
def test_what_is_installed_names_extras_that_are_there(page: str, line: str) -> None:
    for extras in re.findall(r"\[([\w,]+)\]", line):
        assert set(extras.split(",")) <= EXTRAS.keys(), page


def test_files_of_examples_in_commands_are_there() -> None:
    named = {word for _, line in shown() for word in re.findall(r"\bexamples/[\w./-]+", line)}
    assert len(named) > 3
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


def test_services_in_commands_of_compose_are_there() -> None:
    compose = Path(ROOT / "docker-compose.yml").read_text(encoding="utf-8")
    lines = [line for _, line in shown() if "docker compose run" in line]
    assert lines
    for line in lines:
        words = shlex.split(line)
        assert any(re.search(rf"^  {re.escape(word)}:", compose, re.MULTILINE) for word in words)
