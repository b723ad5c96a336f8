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


def test_a_java_that_will_not_do_is_told_with_what_to_install(tmp_path: Path) -> None:
    there = [tmp_path / name for name in ("17", "11", "none")]
    for folder in there:
        folder.mkdir()
    assert missing_java(fake_java(there[0], 'openjdk version "17.0.1"')) is None
    older = fake_java(there[1], 'openjdk version "11.0.2"')
    assert "is Java 11" in f"{missing_java(older)}"
    assert str(there[2]) in f"{missing_java({'JAVA_HOME': str(there[2])})}"
    told = missing_java({"PATH": str(tmp_path)})
    assert "there is none. Install Java 17" in f"{told}"


def test_nothing_is_started_without_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    app = typer.Typer()
    app.command()(demo)
    kept = tmp_path / "kept"
    result = CliRunner().invoke(app, ["--once", "--keep", str(kept)])

    assert result.exit_code == 2
    assert "Install Java 17" in result.stderr
    assert not kept.exists()
