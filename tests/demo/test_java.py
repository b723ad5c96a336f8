"""Without the Java that Spark needs, the demo says so before it starts anything."""

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from examples.demo.__main__ import demo
from examples.demo.java import java_version, missing_java


def fake_java(folder: Path, says: str) -> dict[str, str]:
    """Make a JAVA_HOME whose java prints a text, and return the environment that names it."""
    program = folder / "bin" / "java"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho '{says}' >&2\n", encoding="utf-8")
    program.chmod(0o755)
    return {"JAVA_HOME": str(folder)}


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_402"', 8),
        ('openjdk version "21" 2023-09-19', 21),
        ("no version here", None),
    ],
)
def test_the_version_is_the_major_one(text: str, version: int | None) -> None:
    assert java_version(text) == version


def test_java_17_will_do(tmp_path: Path) -> None:
    assert missing_java(fake_java(tmp_path, 'openjdk version "17.0.1"')) is None


def test_an_older_java_is_named(tmp_path: Path) -> None:
    told = missing_java(fake_java(tmp_path, 'openjdk version "11.0.2"'))

    assert told is not None
    assert "is Java 11" in told


def test_a_machine_without_java_is_told_what_to_install(tmp_path: Path) -> None:
    told = missing_java({"PATH": str(tmp_path)})

    assert told is not None
    assert "there is none. Install Java 17" in told


def test_a_java_home_without_java_is_named(tmp_path: Path) -> None:
    told = missing_java({"JAVA_HOME": str(tmp_path)})

    assert told is not None
    assert str(tmp_path) in told


def test_nothing_is_started_without_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    app = typer.Typer()
    app.command()(demo)
    kept = tmp_path / "kept"
    result = CliRunner().invoke(app, ["--once", "--keep", str(kept)])

    assert result.exit_code == 2
    assert "Install Java 17" in result.stderr
    assert not kept.exists()
