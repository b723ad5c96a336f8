"""The archive of Spark's classes: found by what made it, used if it is there, never in the way."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from processor_runtime.spark.class_archive import archive_options, archive_path
from processor_runtime.spark.java_options import java_options

STARTED = """
from processor_runtime.spark.session import job_session
spark = job_session("test", {"spark.master": "local[1]", "spark.driver.memory": "600m"})
print(spark.range(5).count())
spark.stop()
"""
PERCEPT = str(Path(sys.executable).with_name("percept"))


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Return variables with a Java of its own, which is never started."""
    java = tmp_path / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("17")
    return {
        "JAVA_HOME": str(tmp_path / "java"),
        "SPARK_CONF_DIR": str(tmp_path),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }


def written(environment: dict[str, str]) -> Path:
    path = archive_path(environment)
    assert path is not None
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"not an archive")
    return path


def test_another_java_or_a_newer_one_has_an_archive_of_its_own(
    environment: dict[str, str], tmp_path: Path
) -> None:
    first = archive_path(environment)
    assert first == archive_path(environment)
    assert first is not None
    assert first.parent == tmp_path / "cache" / "percept"
    os.utime(tmp_path / "java" / "bin" / "java", (1, 1))
    assert archive_path(environment) != first


def test_without_java_there_is_no_archive(environment: dict[str, str], tmp_path: Path) -> None:
    assert archive_path(environment | {"JAVA_HOME": str(tmp_path / "none")}) is None
    assert archive_path({"PATH": str(tmp_path)}) is None
    assert archive_options({"PATH": str(tmp_path)}) == []


def test_it_is_read_where_it_is_there(environment: dict[str, str]) -> None:
    assert archive_options(environment) == []
    path = written(environment)
    options = java_options({}, environment)["spark.driver.defaultJavaOptions"]
    assert options.startswith(f"-XX:+UseParallelGC -XX:SharedArchiveFile={path} ")


def test_it_is_read_where_others_choose_the_collector(environment: dict[str, str]) -> None:
    path = written(environment)
    chosen = {"spark.driver.extraJavaOptions": "-XX:+UseSerialGC"}
    options = java_options(chosen, environment)["spark.driver.defaultJavaOptions"]
    assert options.startswith(f"-XX:SharedArchiveFile={path} ")


@pytest.mark.parametrize(
    "text", ["-Xshare:off", "-XX:SharedArchiveFile=/my.jsa", "-XX:ArchiveClassesAtExit=/my.jsa"]
)
def test_whoever_says_something_of_archives_is_left_alone(
    environment: dict[str, str], text: str
) -> None:
    written(environment)
    chosen = {"spark.driver.extraJavaOptions": text}
    assert "Shared" not in "".join(java_options(chosen, environment).values())


def test_a_path_that_spark_would_split_is_not_given_to_it(
    environment: dict[str, str], tmp_path: Path
) -> None:
    moved = environment | {"XDG_CACHE_HOME": str(tmp_path / "my cache")}
    written(moved)
    assert archive_options(moved) == []


def spark_started(cache: Path, log: Path) -> subprocess.CompletedProcess[str]:
    others = {name: text for name, text in os.environ.items() if "SPARK" not in name}
    return subprocess.run(  # noqa: S603 - fixed words
        [sys.executable, "-c", STARTED],
        env=others
        | {"XDG_CACHE_HOME": str(cache), "JDK_JAVA_OPTIONS": f"-Xlog:class+load:file={log}"},
        capture_output=True,
        text=True,
        check=True,
    )


@pytest.mark.spark
@pytest.mark.long
def test_an_archive_that_java_cannot_read_is_passed_over(tmp_path: Path) -> None:
    written({**os.environ, "XDG_CACHE_HOME": str(tmp_path)})
    answer = spark_started(tmp_path, tmp_path / "classes")
    assert answer.stdout.splitlines()[-1] == "5"
    assert "[cds]" not in answer.stderr


@pytest.mark.spark
@pytest.mark.long
def test_jobs_start_from_what_was_prepared(tmp_path: Path) -> None:
    cache, log = tmp_path / "cache", tmp_path / "classes"
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    subprocess.run([PERCEPT, "job", "prepare"], env=environment, check=True)  # noqa: S603 - ours
    assert [path.suffix for path in (cache / "percept").glob("spark-*")] == [".jsa"]
    assert spark_started(cache, log).stdout.splitlines()[-1] == "5"
    lines = [line for line in log.read_text().splitlines() if " org.apache.spark." in line]
    assert sum("shared objects file (top)" in line for line in lines) > 1_000
