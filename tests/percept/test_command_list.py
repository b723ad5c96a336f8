"""The list of commands: read from their sources, so that it comes at once."""

import subprocess
import sys
from importlib.metadata import EntryPoint, EntryPoints, entry_points

import pytest
from typer.testing import CliRunner

from percept import command_line
from percept.command_line import app, summary_of

COMMANDS = entry_points(group="percept.commands")


def test_the_list_imports_no_command() -> None:
    program = """
import sys
from typer.testing import CliRunner
from percept.command_line import app
answer = CliRunner().invoke(app, ["--help"])
assert answer.exit_code == 0, answer.output
print(*sorted({"cep", "api", "processor_runtime", "polars", "pyspark"} & set(sys.modules)))
"""
    answer = subprocess.run(  # noqa: S603 - fixed words
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == ""


@pytest.mark.parametrize("point", COMMANDS, ids=lambda point: point.name)
def test_a_line_of_the_list_is_the_first_of_the_help(point: EntryPoint) -> None:
    summary = summary_of(point)
    assert summary
    told = " ".join(CliRunner().invoke(app, [point.name, "--help"]).output.split())
    assert summary.split(".")[0] in told


def test_a_command_whose_source_cannot_be_read_is_imported() -> None:
    assert summary_of(EntryPoint("x", "zipimport:zipimporter", "percept.commands")) is None
    assert summary_of(EntryPoint("x", "no_such_package.commands:run", "percept.commands")) is None


def test_the_metadata_of_packages_is_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    searched = []

    def found(*, group: str) -> EntryPoints:
        searched.append(group)
        return COMMANDS

    monkeypatch.setattr(command_line, "entry_points", found)
    command_line.offered.cache_clear()
    try:
        answer = CliRunner().invoke(app, ["--help"])
    finally:
        command_line.offered.cache_clear()
    assert min(COMMANDS.names) in answer.output
    assert searched == ["percept.commands"]


def test_an_unknown_command_is_refused_with_the_nearest_one() -> None:
    refused = CliRunner().invoke(app, ["backtset", "rule.yaml"])
    assert refused.exit_code == 2
    assert "Did you mean 'backtest'?" in refused.output
    assert "Did you mean" not in CliRunner().invoke(app, ["qqqq"]).output
