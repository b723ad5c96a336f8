"""docs/first-alert.md: its own commands, in bash, from the built wheel to the alert it shows."""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.docs.fences import fences
from tests.processor_runtime.kafka.brokers import brokers
from tests.processor_runtime.resilience.job_process import SMALL_SPARK

pytestmark = [pytest.mark.spark, pytest.mark.long]

PAGE = "docs/first-alert.md"
ATTEMPTS = 3
TOO_BUSY = "Python worker failed to connect back"
"""Spark gives the Python of a source ten seconds to start, which a busy machine may not have."""
LIBRARIES = sysconfig.get_path("purelib")
TEXT = "".join(each.text for each in fences(PAGE) if each.language == "console")
COMMANDS = [command.rstrip() for command in re.split(r"^\$ ", TEXT, flags=re.MULTILINE)[1:]]


def test_eight_commands_are_enough_for_files_and_six_more_for_kafka() -> None:
    assert TEXT.startswith("$ ")
    kafka = next(number for number, command in enumerate(COMMANDS) if "[kafka]" in command)
    assert (kafka, len(COMMANDS) - kafka) == (8, 6)


def test_the_commands_of_the_page_find_the_alert_it_shows_in_files_and_in_kafka(
    wheel: Path, tmp_path: Path
) -> None:
    (alert,) = (json.loads(each.text) for each in fences(PAGE) if each.language == "json")
    for number in range(ATTEMPTS):
        done = _run(wheel, tmp_path / str(number))
        if TOO_BUSY not in done.stdout + done.stderr:
            break
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    # The environment has the wheel, not the sources that these tests run from.
    assert "Successfully installed percept" in said
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"')]
    assert len(found) == 2
    assert all(each.items() >= alert.items() for each in found)


def _run(wheel: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the commands in a folder of their own, with brokers that nothing was written to."""
    folder.mkdir()
    shutil.copy(wheel, folder)
    with brokers() as cluster:
        return subprocess.run(  # noqa: S603 - the page's own commands
            ["bash", "-e", "-u", "-o", "pipefail", "-c", _script(cluster.servers)],  # noqa: S607
            cwd=folder,
            env=_environment(),
            capture_output=True,
            text=True,
            check=False,
        )


def _script(servers: str) -> str:
    """Return the commands, with brokers that are there and with libraries that are on the disk."""
    script = "\n".join(COMMANDS)
    assert script.count("localhost:9092") == script.count("source env/bin/activate") == 1
    libraries = f"(cd env/lib/python3*/site-packages; echo {LIBRARIES} > libraries.pth)"
    return script.replace("localhost:9092", servers).replace(
        "source env/bin/activate", f"source env/bin/activate && {libraries}"
    )


def _environment() -> dict[str, str]:
    """Return variables under which nothing is fetched, and Spark is small."""
    ours = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYSPARK_", "PIP_")) and name != "PYTHONPATH"
    }
    settings = " ".join(f"--conf '{name}={value}'" for name, value in SMALL_SPARK.items())
    return {
        **ours,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PIP_NO_INDEX": "1",
        "PYSPARK_SUBMIT_ARGS": f"{settings} pyspark-shell",
    }
