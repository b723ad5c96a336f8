"""The options of Spark's Java process: the parallel collector, unless somebody chooses one.

What the workers of such a session have in their environment is looked at here, too.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from processor_runtime.spark.java_options import java_options
from processor_runtime.spark.session import _SETTINGS

PARALLEL = {"spark.driver.defaultJavaOptions": "-XX:+UseParallelGC"}
CHOSEN = "-Xmx2g -XX:+UseZGC"
MEMORY = ("GLIBC_TUNABLES", "POLARS_THP", "ARROW_DEFAULT_MEMORY_POOL", "_RJEM_MALLOC_CONF")
STARTED = """
import json
import os
from processor_runtime.spark.session import job_session
spark = job_session("test", {"spark.master": "local[1]", "spark.ui.retainedJobs": "7"})
management = spark._jvm.java.lang.management.ManagementFactory
names = [bean.getName() for bean in management.getGarbageCollectorMXBeans()]
conf = spark.sparkContext.getConf()
kept = [conf.get(f"spark.ui.retained{what}") for what in ("Jobs", "Stages", "Tasks")]
variables = lambda _: [os.environ.get(name) for name in json.loads(os.environ["WANTED"])]
of_worker = spark.sparkContext.parallelize([0], 1).map(variables).first()
print(json.dumps([names, kept, of_worker]))
spark.stop()
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"SPARK_CONF_DIR": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}


def test_a_job_on_this_machine_has_the_parallel_one(environment: dict[str, str]) -> None:
    assert java_options({}, environment) == PARALLEL
    assert java_options({"spark.master": "local[2]"}, environment) == PARALLEL
    other = {"JAVA_TOOL_OPTIONS": "-Xmx2g -XX:+UseGCOverheadLimit -XX:+UseStringDeduplication"}
    assert java_options({}, environment | other) == PARALLEL


@pytest.mark.parametrize(
    "name",
    [
        "JAVA_TOOL_OPTIONS",
        "JDK_JAVA_OPTIONS",
        "_JAVA_OPTIONS",
        "SPARK_SUBMIT_OPTS",
        "PYSPARK_SUBMIT_ARGS",
    ],
)
@pytest.mark.parametrize("text", [CHOSEN, "-XX:-UseG1GC", "-XX:+UseSerialGC", "-XX:Flags=jvm"])
def test_a_variable_may_choose(environment: dict[str, str], name: str, text: str) -> None:
    assert java_options({}, environment | {name: text}) == {}


def test_options_from_files_that_are_not_read_may_choose(environment: dict[str, str]) -> None:
    assert java_options({}, environment | {"JDK_JAVA_OPTIONS": "@options"}) == {}
    submit = {"PYSPARK_SUBMIT_ARGS": "--properties-file my.conf pyspark-shell"}
    assert java_options({}, environment | submit) == {}


@pytest.mark.parametrize("name", ["spark-defaults.conf", "spark-env.sh"])
def test_a_file_of_spark_may_choose(environment: dict[str, str], name: str) -> None:
    path = Path(environment["SPARK_CONF_DIR"], name)
    path.write_text("spark.driver.memory 2g", encoding="utf-8")
    assert java_options({}, environment) == PARALLEL
    path.write_text(f"spark.driver.extraJavaOptions {CHOSEN}", encoding="utf-8")
    assert java_options({}, environment) == {}


def test_default_options_of_others_are_not_replaced(environment: dict[str, str]) -> None:
    name = "spark.driver.defaultJavaOptions"
    assert java_options({name: "-Dx=y"}, environment) == {}
    path = Path(environment["SPARK_CONF_DIR"], "spark-defaults.conf")
    path.write_text(f"{name} -Dx=y", encoding="utf-8")
    assert java_options({}, environment) == {}


def test_the_job_file_may_choose(environment: dict[str, str]) -> None:
    assert java_options({"spark.driver.extraJavaOptions": CHOSEN}, environment) == {}


def test_a_cluster_and_a_java_that_runs_already_are_left_alone(environment: dict[str, str]) -> None:
    assert java_options({"spark.master": "yarn"}, environment) == {}
    assert java_options({}, environment | {"SPARK_ENV_LOADED": "1"}) == {}


@pytest.mark.parametrize(
    ("options", "names"),
    [("", ["PS MarkSweep", "PS Scavenge"]), ("-XX:+UseSerialGC", ["Copy", "MarkSweepCompact"])],
)
def test_spark_starts_with_one_java_options(
    environment: dict[str, str], options: str, names: list[str]
) -> None:
    others = {name: text for name, text in os.environ.items() if "SPARK" not in name}
    answer = subprocess.run(  # noqa: S603 - fixed words
        [sys.executable, "-c", STARTED],
        env=others | environment | {"JAVA_TOOL_OPTIONS": options, "WANTED": json.dumps(MEMORY)},
        capture_output=True,
        text=True,
        check=True,
    )
    found, kept, of_worker = json.loads(answer.stdout.splitlines()[-1])
    assert sorted(found) == names
    assert kept == ["7", "100", "1000"]  # the job file's word goes before Percept's
    assert of_worker == [_SETTINGS[f"spark.executorEnv.{name}"] for name in MEMORY]
