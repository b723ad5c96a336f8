"""The interpreter of Spark's workers in a virtual environment that is not activated."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long
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


@pytest.mark.nightly
def test_it_is_that_of_the_driver(tmp_path: Path) -> None:
    other = tmp_path / "python3"
    other.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    other.chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if "PYSPARK" not in name}
    environment["PATH"] = f"{tmp_path}{os.pathsep}{environment['PATH']}"
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(  # noqa: S603 - our own command
        command, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["1", "[Row(n=6)]"]
