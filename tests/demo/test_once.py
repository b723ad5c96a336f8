"""The demo from end to end: a service, a Spark job, and every change while it runs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.spark
@pytest.mark.long
def test_the_demo_keeps_what_it_promises(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "examples.demo", "--once", "--fast", "--keep", str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    result = subprocess.run(  # noqa: S603 - our own command
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )

    assert result.returncode == 0, result.stdout + result.stderr
    assert "BROKEN" not in result.stdout
    assert result.stdout.count("kept    ") == 10
    assert "file-edited-as-root v1 was quarantined" in result.stdout
    assert result.stderr == ""
    assert not _processes_of(tmp_path)


def _processes_of(directory: Path) -> list[str]:
    """Return the command lines of processes that still work in a directory."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").readlink().is_relative_to(directory):
                found.append((process / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue  # it has ended, or belongs to somebody else
    return found
