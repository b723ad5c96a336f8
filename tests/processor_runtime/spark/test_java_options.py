"""The options of Spark's Java process: compilers, a collector, an archive, unless somebody chooses.

What the workers of such a session have in their environment is looked at here, too.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from processor_runtime.spark.java_options import _FIRST_COMPILER, java_options
from processor_runtime.spark.session import _SETTINGS

FIRST = " ".join(_FIRST_COMPILER)
WITHOUT_COLLECTOR = {"spark.driver.defaultJavaOptions": FIRST}
PARALLEL = {"spark.driver.defaultJavaOptions": f"{FIRST} -XX:+UseParallelGC"}
VARIABLES = ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS"]
VARIABLES += ["PYSPARK_SUBMIT_ARGS"]
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
    """Return variables with a Java of its own, which is never started."""
    java, conf = tmp_path / "java", tmp_path / "conf"
    java.mkdir()
    conf.mkdir()
    (java / "release").write_text('IMPLEMENTOR="Debian"\nJAVA_VERSION="17.0.15"\n')
    return {
        "JAVA_HOME": str(java),
        "SPARK_CONF_DIR": str(conf),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }


def archive_of(environment: dict[str, str], version: str = "21.0.1") -> str | None:
    """Return the archive that a version of Java is told to keep."""
    Path(environment["JAVA_HOME"], "release").write_text(f'JAVA_VERSION="{version}"\n')
    options = java_options({}, environment, has_rows=False).get(
        "spark.driver.defaultJavaOptions", ""
    )
    found = re.search(r"-XX:\+AutoCreateSharedArchive -XX:SharedArchiveFile=(\S+)", options)
    return None if found is None else found[1]


MASTER, DEFAULTS = "spark.master", "spark.driver.defaultJavaOptions"
OTHERS = "-Xmx2g -XX:+UseGCOverheadLimit -XX:+UseStringDeduplication"
ONE_COMPILER, TIERS = "-XX:TieredStopAtLevel=3", "-Xmx2g -XX:Tier4InvocationThreshold=9000"
ONLY_PARALLEL = {DEFAULTS: "-XX:+UseParallelGC"}
NOT_READ = "--properties-file my.conf pyspark-shell"


@pytest.mark.parametrize(
    ("settings", "variables", "told"),
    [
        pytest.param({}, {}, PARALLEL, id="this machine"),
        pytest.param({MASTER: "local[2]"}, {}, PARALLEL, id="this machine by name"),
        pytest.param({}, {"JAVA_TOOL_OPTIONS": OTHERS}, PARALLEL, id="other options"),
        pytest.param({}, {"JDK_JAVA_OPTIONS": "@options"}, {}, id="a file that is not read"),
        pytest.param({}, {"PYSPARK_SUBMIT_ARGS": NOT_READ}, {}, id="settings that are not read"),
        pytest.param(
            {"spark.driver.extraJavaOptions": CHOSEN}, {}, WITHOUT_COLLECTOR, id="the job file"
        ),
        pytest.param({}, {"JAVA_TOOL_OPTIONS": ONE_COMPILER}, ONLY_PARALLEL, id="one compiler"),
        pytest.param({}, {"_JAVA_OPTIONS": TIERS}, ONLY_PARALLEL, id="when to compile"),
        pytest.param({DEFAULTS: "-Dx=y"}, {}, {}, id="defaults of others"),
        pytest.param({MASTER: "yarn"}, {}, {}, id="a cluster"),
        pytest.param({}, {"SPARK_ENV_LOADED": "1"}, {}, id="Java runs already"),
    ],
)
def test_what_java_is_told(
    environment: dict[str, str],
    settings: dict[str, str],
    variables: dict[str, str],
    told: dict[str, str],
) -> None:
    assert java_options(settings, environment | variables, has_rows=False) == told


def test_java_has_both_compilers_where_it_has_rows(environment: dict[str, str]) -> None:
    assert java_options({}, environment, has_rows=True) == ONLY_PARALLEL


@pytest.mark.parametrize("name", VARIABLES)
@pytest.mark.parametrize("text", [CHOSEN, "-XX:-UseG1GC", "-XX:+UseSerialGC"])
def test_a_variable_may_choose(environment: dict[str, str], name: str, text: str) -> None:
    assert java_options({}, environment | {name: text}, has_rows=False) == WITHOUT_COLLECTOR
    assert java_options({}, environment | {name: f"{text} -XX:Flags=jvm"}, has_rows=False) == {}


@pytest.mark.parametrize("name", ["spark-defaults.conf", "spark-env.sh"])
def test_a_file_of_spark_may_choose(environment: dict[str, str], name: str) -> None:
    path = Path(environment["SPARK_CONF_DIR"], name)
    path.write_text("spark.driver.memory 2g", encoding="utf-8")
    assert java_options({}, environment, has_rows=False) == PARALLEL
    path.write_text(f"spark.driver.extraJavaOptions {CHOSEN}", encoding="utf-8")
    assert java_options({}, environment, has_rows=False) == WITHOUT_COLLECTOR
    path.write_text(f"{DEFAULTS} -Dx=y", encoding="utf-8")
    assert java_options({}, environment, has_rows=False) == {}


@pytest.mark.long
@pytest.mark.parametrize(
    ("options", "names"),
    [
        ("", ["PS MarkSweep", "PS Scavenge"]),
        pytest.param("-XX:+UseSerialGC", ["Copy", "MarkSweepCompact"], marks=pytest.mark.nightly),
    ],
)
@pytest.mark.nightly
def test_spark_starts_with_one_java_options(
    environment: dict[str, str], options: str, names: list[str]
) -> None:
    others = {name: text for name, text in os.environ.items() if "SPARK" not in name}
    del environment["JAVA_HOME"]  # as this machine has it
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


# The archive of classes


@pytest.mark.parametrize("version", ["19", "21.0.1", "25.0.3"])
def test_java_keeps_an_archive_of_what_spark_loads(
    environment: dict[str, str], tmp_path: Path, version: str
) -> None:
    archive = archive_of(environment, version)
    assert archive is not None
    assert Path(archive).parent == tmp_path / "cache" / "percept"
    assert Path(archive).parent.is_dir()  # Java would not make it


def test_an_older_java_which_would_not_start_with_that_option_is_not_given_it(
    environment: dict[str, str],
) -> None:
    assert archive_of(environment, "17.0.15") is None
    Path(environment["JAVA_HOME"], "release").unlink()
    assert java_options({}, environment, has_rows=False) == PARALLEL


def test_another_java_has_its_own_archive(environment: dict[str, str], tmp_path: Path) -> None:
    shutil.copytree(environment["JAVA_HOME"], tmp_path / "other")
    others = environment | {"JAVA_HOME": str(tmp_path / "other")}
    assert archive_of(environment) == archive_of(environment) != archive_of(others)


@pytest.mark.parametrize(
    "text", ["-Xshare:off", "-XX:SharedArchiveFile=/my.jsa", "-XX:ArchiveClassesAtExit=/my.jsa"]
)
def test_whoever_speaks_of_archives_is_left_alone(environment: dict[str, str], text: str) -> None:
    assert archive_of(environment | {"JAVA_TOOL_OPTIONS": text}) is None


@pytest.mark.parametrize("name", ["SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR"])
def test_with_settings_on_the_class_path_of_which_java_makes_none_it_is_not_told_to(
    environment: dict[str, str], tmp_path: Path, name: str
) -> None:
    assert archive_of(environment | {name: str(tmp_path / "none")}) is not None
    (tmp_path / "settings").mkdir()
    (tmp_path / "settings" / "core-site.xml").write_text("")
    assert archive_of(environment | {name: str(tmp_path / "settings")}) is None


def test_a_path_that_spark_would_split_and_one_that_cannot_be_are_not_given_to_it(
    environment: dict[str, str], tmp_path: Path
) -> None:
    assert archive_of(environment | {"XDG_CACHE_HOME": str(tmp_path / "my cache")}) is None
    (tmp_path / "file").write_text("")
    assert archive_of(environment | {"XDG_CACHE_HOME": str(tmp_path / "file")}) is None


@pytest.mark.nightly
@pytest.mark.spark
@pytest.mark.long
def test_the_second_start_loads_classes_from_the_archive(
    environment: dict[str, str], tmp_path: Path
) -> None:
    release = next(iter(Path("/usr/lib/jvm").glob("*-2[15]-*/release")), None)
    if release is None:
        pytest.skip("needs Java 21 or 25 beside that of this machine, in /usr/lib/jvm")
    log = tmp_path / "classes"
    others = {name: text for name, text in os.environ.items() if "SPARK" not in name}
    logged = {"JDK_JAVA_OPTIONS": f"-Xlog:class+load:file={log}", "WANTED": "[]"}
    ended = "java = spark.sparkContext._gateway.proc\njava.stdin.close()\njava.wait()"
    for _ in range(2):
        subprocess.run(  # noqa: S603 - fixed words
            [sys.executable, "-c", f"{STARTED}\n{ended}"],
            env=others | environment | logged | {"JAVA_HOME": str(release.parent)},
            check=True,
        )
    lines = [line for line in log.read_text().splitlines() if " org.apache.spark." in line]
    assert sum("shared objects file (top)" in line for line in lines) > 1_000
