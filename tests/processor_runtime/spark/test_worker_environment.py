"""What workers find: interpreter, packages, memory; and which objects they collect no more."""

import gc
import json
import os
import platform
import subprocess
import sys
import weakref
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from processor_runtime.spark.plan.worker_rules import _freeze
from processor_runtime.spark.session import _SETTINGS, package_archive

PREFIX: Final = "spark.executorEnv."
PROGRAM = """
from pyspark.sql import SparkSession
from percept import Pattern, match_patterns
from percept.spark import match_recognize

builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
spark = builder.config("spark.log.level", "OFF").getOrCreate()
frame = spark.range(1, 3).selectExpr("id AS ts", "id * 3 AS n")
pattern = Pattern.begin("a").where("n > 5")
print(match_patterns(frame, pattern, event_time="ts").matches.count())
clause = "MATCH_RECOGNIZE (ORDER BY ts MEASURES A.n AS n PATTERN (A) DEFINE A AS n > 5)"
print(match_recognize(frame, clause).collect())
"""


def output_of(program: str, *words: str, **how: Any) -> str:
    """Return what another Python prints."""
    command = [sys.executable, "-c", program, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, **how)  # noqa: S603 - our own command
    assert done.returncode == 0, done.stderr
    return str(done.stdout)


@pytest.mark.long
@pytest.mark.nightly
def test_the_interpreter_of_workers_is_that_of_the_driver_in_an_environment_not_activated(
    tmp_path: Path,
) -> None:
    other = tmp_path / "python3"
    other.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    other.chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if "PYSPARK" not in name}
    environment["PATH"] = f"{tmp_path}{os.pathsep}{environment['PATH']}"
    assert output_of(PROGRAM, env=environment).splitlines() == ["1", "[Row(n=6)]"]


IMPORTS = """
import sys
sys.path[:] = [sys.argv[1], *(path for path in sys.path if path not in ("", sys.argv[2]))]
import processor_runtime.spark.plan.stages
from percept import Output, match_patterns
print(processor_runtime.__file__)
"""


@pytest.mark.long
def test_the_code_of_workers_can_be_imported_from_what_is_sent_to_them(tmp_path: Path) -> None:
    archive = package_archive(tmp_path)
    words = (str(archive), str(Path(__file__).parents[3]))
    assert output_of(IMPORTS, *words, cwd=tmp_path).startswith(str(archive))


FAULTS: Final = """
import json, resource

def faults(size):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    bytearray(size)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

print(json.dumps([faults(1 << 28), faults(1 << 28)]))
"""


def second_of_two(environment: Mapping[str, str]) -> float:
    """Return the page faults of 256 MB asked for again, in parts of those of the first time."""
    if platform.libc_ver()[0] != "glibc":
        pytest.skip("what is kept is set for glibc, which this machine has not")
    others = {name: value for name, value in os.environ.items() if name != "GLIBC_TUNABLES"}
    first, second = json.loads(output_of(FAULTS, env=others | dict(environment)))
    return float(second / first)


@pytest.mark.long
def test_memory_for_the_next_batch_is_there_already() -> None:
    of_workers = {
        name.removeprefix(PREFIX): value
        for name, value in _SETTINGS.items()
        if name.startswith(PREFIX)
    }
    assert second_of_two(of_workers) <= 0.1
    # As the kernel and the C library have it, it comes anew each time.
    assert second_of_two({}) > 0.5


class Circle:
    """Garbage that only a collection of cycles finds."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def _seen_again() -> Iterator[None]:
    """Have collections look at all objects of this process again."""
    yield
    gc.unfreeze()
    _freeze.cache_clear()


@pytest.mark.usefixtures("_seen_again")
def test_collections_pass_over_what_is_there_and_see_what_comes_later() -> None:
    before = Circle()
    there = weakref.ref(before)
    _freeze(7)
    del before
    gc.collect()
    assert there() is not None
    later = Circle()
    there = weakref.ref(later)
    _freeze(7)  # no module has been loaded since
    del later
    gc.collect()
    assert there() is None
