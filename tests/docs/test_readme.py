"""README.md, and all pages: commands print what is shown, links and pictures are there."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from typer.testing import CliRunner

from cep import Pattern
from percept.command_line import app
from processor_runtime.job_file.loading import load_job_file
from tests.docs.fences import ROOT, fences, links
from tests.docs.sessions import commands, run_sessions

PAGES = [
    "README.md",
    "docs/patterns.md",
    "docs/expressions.md",
    "docs/sql.md",
    "docs/explain.md",
    "examples/ssh_auth/README.md",
    "examples/ticker/README.md",
]


PERCEPT = [
    pytest.param(words[1:], output, id=f"{page}-{number}")
    for page in PAGES
    for number, (words, output) in enumerate(commands(page))
    if words[0] == "percept"
]


@pytest.mark.parametrize(("words", "output"), PERCEPT)
def test_a_command_prints_what_is_shown(
    words: list[str], output: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "80")
    result = CliRunner().invoke(app, words)

    assert result.exit_code == 0, result.output
    assert result.stdout == output or not output


def yaml_of_the_readme() -> tuple[str, str]:
    """The rule, and the job file."""
    rule, job = (fence.text for fence in fences("README.md") if fence.language == "yaml")
    return rule, job


def test_the_rule_of_the_readme_is_the_one_that_is_run() -> None:
    shown, _ = yaml_of_the_readme()
    rule = (ROOT / "examples/ssh_auth/password_guessed.yaml").read_text(encoding="utf-8")

    assert re.sub("^#.*\n", "", rule, flags=re.MULTILINE) == shown
    assert Pattern.from_yaml(shown).warnings() == ()


def test_the_job_of_the_readme_is_one(tmp_path: Path) -> None:
    _, shown = yaml_of_the_readme()
    path = tmp_path / "job.yaml"
    path.write_text(shown, encoding="utf-8")
    job = load_job_file(path, {"PERCEPT_TOKEN": "secret"})

    assert (job.name, job.stream) == ("main", "logins")


def test_the_session_of_the_readme_runs_as_shown() -> None:
    tried, report = run_sessions("README.md")

    assert report == ""
    assert tried > 3


def test_the_make_targets_of_the_readme_exist() -> None:
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    named = re.findall(r"(?:`|\$ )make (\w+)", (ROOT / "README.md").read_text(encoding="utf-8"))

    assert {"setup", "test"} <= set(named) <= set(targets)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_links_only_to_what_exists(page: str) -> None:
    for link in links(page):
        target, _, anchor = link.partition("#")
        path = (ROOT / page).parent / target if target else ROOT / page

        assert path.exists(), link
        assert not anchor or anchor in _anchors(path.read_text(encoding="utf-8")), link


def _anchors(text: str) -> set[str]:
    """Return the anchors GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", sorted((ROOT / "docs/images").glob("*.svg")), ids=lambda p: p.name)
def test_a_picture_says_what_it_shows_and_is_shown(path: Path) -> None:
    title = ET.parse(path).find("{http://www.w3.org/2000/svg}title")  # noqa: S314 - own file
    shown = {link.rpartition("/")[2] for page in PAGES for link in links(page)}

    assert title is not None
    assert title.text
    assert path.name in shown


def test_the_json_of_a_match_holds_the_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    (words,) = (
        words[1:] for words, _ in commands("examples/ssh_auth/README.md") if "json" in words
    )
    lines = CliRunner().invoke(app, words).stdout.splitlines()
    first = json.loads(lines[0])

    assert len(lines) == 43
    assert first["kind"] == "match"
    assert len(first["steps"]["probe"]) == 10
