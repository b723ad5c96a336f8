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

import typer

from percept.command_line import app
from tests.docs.fences import PAGES, ROOT, fences

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
    assert len(COMMANDS) > 30
    assert {page for page, _ in COMMANDS} >= {"docs/operations.md", "docs/kafka.md"}


def mistake(line: str) -> str:
    """Return what a command names that Percept does not have; empty if it has all of it."""
    command: Any = typer.main.get_command(app)
    context = command.make_context("percept", [], resilient_parsing=True)
    options: set[str] = set()
    for word in shlex.split(line, comments=True)[1:]:
        if word in {"|", ">", ">>", "&", "&&", "||", ";", "<"}:
            break
        if word.startswith("-") and word != "-":
            options.add(word.partition("=")[0])
        elif hasattr(command, "get_command"):
            found = command.get_command(context, word)
            if found is None:
                return f"no command {word}"
            command = found
    known = {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
    return " ".join(sorted(options - known - {"--help", "-h"}))


def test_each_command_is_there_with_its_options() -> None:
    wrong = [(page, line, told) for page, line in COMMANDS if (told := mistake(line))]
    assert wrong == []
    # What the test rests on: a wrong word is seen.
    assert mistake("percept job chekc job.yaml") == "no command chekc"
    assert mistake("percept job check job.yaml --conect") == "--conect"


def test_what_is_installed_names_extras_that_are_there() -> None:
    assert INSTALLED
    named = [
        (page, extra)
        for page, line in INSTALLED
        for extras in re.findall(r"\[([\w,]+)\]", line)
        for extra in extras.split(",")
    ]
    assert [each for each in named if each[1] not in EXTRAS] == []


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
