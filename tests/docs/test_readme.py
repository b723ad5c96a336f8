"""README.md, and pages with commands of one machine: they print what is shown."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from percept import Pattern
from percept.command_line import app
from processor_runtime.job_file.loading import load_job_file
from tests.docs.fences import ROOT, fences
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
"""Those whose commands run here."""


def test_each_command_prints_what_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "80")
    run = 0
    for page in PAGES:
        for words, output in commands(page):
            if words[0] != "percept":
                continue
            result = CliRunner().invoke(app, words[1:])
            assert result.exit_code == 0, (page, words, result.output)
            assert result.stdout == output or not output, (page, words)
            run += 1
    assert run > 12


def yaml_of_the_readme() -> tuple[str, str]:
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


@pytest.mark.parametrize(
    ("page", "least"),
    [
        ("README.md", 4),
        ("docs/expressions.md", 3),
        ("docs/flink.md", 11),
        ("docs/python.md", 11),
        ("docs/sql.md", 8),
    ],
)
def test_the_sessions_of_a_page_run_as_shown(page: str, least: int) -> None:
    tried, report = run_sessions(page)

    assert report == ""
    assert tried >= least
