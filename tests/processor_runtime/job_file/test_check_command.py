"""`percept job check` and `percept job schema`."""

import json
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console
from typer.testing import CliRunner, Result

from cep.signing.code import CodePlace, CodeUse, SignedCode, sign
from cep.signing.keys import SigningKey
from processor_runtime import running
from processor_runtime.commands import job_app
from processor_runtime.job_file import kafka_checks, machine_checks
from tests.processor_runtime.job_file.job_files import minimal, written

STREAM = {"name": "logins", "schema": "user STRING, ts TIMESTAMP", "event_time_column": "ts"}


def rule(name: str, **keys: Any) -> dict[str, Any]:
    steps = [{"name": "step", "where": "user = 'eve'"}]
    return {"id": name, "stream": "logins", "pattern": {"steps": steps}} | keys


def rules(folder: Path, *documents: dict[str, Any]) -> dict[str, Any]:
    """Write rules and return the discoverer that finds them."""
    path = folder / "rules.yaml"
    path.write_text(yaml.safe_dump_all([STREAM, *documents]), encoding="utf-8")
    return {"type": "file", "path": str(path), "interval_seconds": 0.05, "settle_seconds": 0}


def check(path: Path, *options: str) -> Result:
    return CliRunner().invoke(job_app, ["check", str(path), *options])


def checked(folder: Path, *options: str, **changes: Any) -> Result:
    return check(written(folder, minimal(**changes)), *options)


def report(result: Result) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(result.stdout)
    return told


def test_a_good_job_file_is_summed_up(tmp_path: Path) -> None:
    result = checked(tmp_path)
    assert result.exit_code == 0
    assert "logins-job on stream logins" in result.stdout
    assert "console: match, error" in result.stdout
    assert result.stderr == ""


def test_a_wrong_job_file_is_refused_with_places(tmp_path: Path) -> None:
    path = written(tmp_path, minimal(shards="many"))
    result = check(path)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"{path}: shards (line 15, column 1): does not fit.")
    (problem,) = report(check(path, "--json"))["problems"]
    assert (problem["path"], problem["line"], problem["column"]) == ("shards", 15, 1)


def test_everything_that_is_missing_around_a_job_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "other").touch()
    result = checked(
        tmp_path,
        "--json",
        "--connect",
        discoverer={"type": "http", "url": "https://rules.example", "token_env": "NO_TOKEN"},
        service={"url": "https://rules.example", "token_file": str(tmp_path / "none")},
        signing_keys_env="NO_KEYS",
        checkpoint=str(tmp_path / "file"),
        outputs=[
            {"type": "jdbc", "url": "sqlite:///x", "table": "m", "password_env": "NO_PASSWORD"},
            {"type": "webhook", "url": "https://x.example", "signature_secret_env": "NO_SECRET"},
            {"type": "parquet", "path": f"file://{tmp_path / 'other'}"},
        ],
    )
    assert result.exit_code == 2
    assert {(each["path"], each["line"] is None) for each in report(result)["problems"]} == {
        ("discoverer.token_env", False),
        ("service.token_file", False),
        ("signing_keys_env", False),
        ("checkpoint", False),
        ("outputs[0].password_env", False),
        ("outputs[1].signature_secret_env", False),
        ("outputs[2].path", False),
    }


@pytest.mark.parametrize(
    ("discoverer", "told"),
    [
        ({"type": "htp"}, "discoverer.type (line 7, column 3): 'htp' is not known. Did you mean"),
        ({}, "discoverer.type (line 6, column 1): missing."),
        ({"type": "file", "pth": "x"}, "discoverer.pth (line 8, column 3): unknown key."),
        (
            {"type": "http", "url": "https://rules.example"},
            "discoverer (line 6, column 1): give either token_env or token_file.",
        ),
    ],
)
def test_the_options_of_the_discoverer_are_checked_at_their_places(
    tmp_path: Path, discoverer: dict[str, Any], told: str
) -> None:
    result = checked(tmp_path, discoverer=discoverer)
    assert result.exit_code == 2
    assert told in result.stderr


def test_what_was_hardly_meant_is_a_warning(tmp_path: Path) -> None:
    result = checked(
        tmp_path,
        "--json",
        source={"format": "parqet"},
        outputs=[{"type": "delta", "path": "/out"}],
        discoverer={"type": "http", "url": "https://rules.example", "token_env": "PATH"},
    )
    assert result.exit_code == 0
    assert {(each["path"], each["remedy"]) for each in report(result)["warnings"]} == {
        ("source.format", "Did you mean 'parquet'?"),
        ("outputs[0]", "Name them under outputs[0].packages, unless the cluster has them."),
        ("service", "Without `service:` its dashboard does not show this job."),
        ("outputs", "Add the kind `error` to one of them."),
    }


OWN_SOURCE = """
from pyspark.sql.datasource import DataSource
class DefaultSource(DataSource):
    @classmethod
    def name(cls):
        return "Own-Letters"
"""


@pytest.fixture
def own_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of modules that can be imported; none of them stays imported."""
    before = set(sys.modules)
    folder = tmp_path / "modules"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    yield folder
    for name in set(sys.modules) - before:
        if name.startswith("pyspark_"):
            del sys.modules[name]


def source_warnings(tmp_path: Path, **source: Any) -> list[str]:
    result = checked(tmp_path, "--json", source=source)
    assert result.exit_code == 0
    told = [each for each in report(result)["warnings"] if each["path"] == "source.format"]
    return [each["message"] for each in told]


def test_a_source_of_ones_own_is_looked_for(own_modules: Path, tmp_path: Path) -> None:
    (told,) = source_warnings(tmp_path, format="own-letters")
    assert told == "no module pyspark_… that can be imported here has the source 'own-letters'."
    (own_modules / "pyspark_own_letters.py").write_text(OWN_SOURCE)
    assert source_warnings(tmp_path, format="own-letters") == []
    (told,) = source_warnings(tmp_path, format="own-numbers")
    assert told.endswith("has the source 'own-numbers'; there are: Own-Letters.")


def test_a_source_of_ones_own_that_has_no_module_is_told(own_modules: Path, tmp_path: Path) -> None:
    (own_modules / "pyspark_own_broken.py").write_text("import a_client_that_is_not_there\n")
    (own_modules / "pyspark_own_letters.py").write_text(OWN_SOURCE)
    (told,) = source_warnings(tmp_path, format="own-letters")
    assert told.startswith("pyspark_own_broken cannot be imported here: ModuleNotFoundError: ")
    assert "a_client_that_is_not_there" in told
    assert source_warnings(tmp_path, format="rate") == []
    assert source_warnings(tmp_path, format="org.example.Source") == []
    letters = ["org.example:letters:1.0"]
    assert source_warnings(tmp_path, format="own-letters", packages=letters) == []


def kafka_source(**options: str) -> dict[str, Any]:
    servers = {"kafka.bootstrap.servers": "k:1", "subscribe": "t"}
    return {"format": "kafka", "options": servers | options}


def kafka_output(options: dict[str, str] | None = None, **keys: Any) -> dict[str, Any]:
    servers = {"kafka.bootstrap.servers": "k:1"}
    return {"type": "kafka", "topic": "t", "options": servers | (options or {}), **keys}


def test_settings_of_kafka_are_checked_without_a_broker_and_without_repeating_secrets(
    tmp_path: Path,
) -> None:
    secret = {
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.password": "hush-hush",
        "kafka.sasl.mechanism": "hush-hush",
    }
    result = checked(
        tmp_path,
        "--json",
        source=kafka_source(startingOffsets="frist"),
        outputs=[kafka_output({"kafka.compresion.type": "zstd"}), kafka_output(secret, name="u")],
    )
    assert result.exit_code == 2
    told = {each["path"]: each["message"] for each in report(result)["problems"]}
    assert set(told) == {"source.options", "outputs[0].options", "outputs[1].options"}
    assert "startingOffsets does not have the form" in told["source.options"]
    assert "compresion.type" in told["outputs[0].options"]
    assert "Unsupported SASL mechanism: ***" in told["outputs[1].options"]
    assert "hush-hush" not in result.output


def test_settings_that_the_security_protocol_ignores_are_warned_of_with_place_and_mend(
    tmp_path: Path,
) -> None:
    login = {"kafka.sasl.username": "percept", "kafka.sasl.password": "hush-hush"}
    used = {"kafka.security.protocol": "SSL", "kafka.ssl.ca.location": ""}
    unused = {"kafka.ssl.key.location": "/a", "kafka.sasl.mechanism": "PLAIN"}
    outputs = [kafka_output(used), kafka_output(unused, name="u", connector="spark")]
    path = written(tmp_path, minimal(source=kafka_source(**login), outputs=outputs))
    result = check(path, "--json")
    told = {
        each["path"]: (each["line"], each["message"], each["remedy"])
        for each in report(result)["warnings"]
        if ".options." in each["path"]
    }
    lines = path.read_text(encoding="utf-8").splitlines()
    assert {place: lines[line - 1].split(":")[0].strip() for place, (line, *_) in told.items()} == {
        "source.options.kafka.sasl.username": "kafka.sasl.username",
        "outputs[1].options.kafka.ssl.key.location": "kafka.ssl.key.location",
        "outputs[1].options.kafka.sasl.mechanism": "kafka.sasl.mechanism",
    }
    _, message, remedy = told["source.options.kafka.sasl.username"]
    assert message == (
        "kafka.sasl.username and kafka.sasl.password are not used: with kafka.security.protocol "
        "PLAINTEXT, the default, nobody logs in."
    )
    assert remedy.startswith("Write kafka.security.protocol: SASL_SSL (or, in a network")
    assert "hush-hush" not in result.output


JOB = {"schema_file": "job.yaml"}
PROTOBUF = {"value_format": "protobuf"} | JOB
LOGIN = {"schema_registry": {"url": "http://r", "basic.auth.user.info": "hush-hush"}}


@pytest.mark.parametrize(
    ("how", "place", "told"),
    [
        ({"schema_file": "absent.json"}, "source.schema_file", "cannot be read"),
        (JOB, "source.schema_file", "not a JSON list of schemas"),
        (LOGIN, "source.schema_registry", "must be in the form"),
        ({"schema_file": "absent.avsc"}, "outputs[0].schema_file", "cannot be read"),
        (JOB, "outputs[0].schema_file", "no schema of Avro"),
        ({"schema_file": "empty"}, "outputs[0].schema_file", "the file is empty"),
        (PROTOBUF, "outputs[0].schema_file", "Compile the .proto with protoc"),
        ({"schema_registry": {}} | JOB, "outputs[0].schema_file", "not a JSON list of schemas"),
        (LOGIN, "outputs[0].schema_registry", "must be in the form"),
    ],
)
def test_schemas_are_checked_without_a_registry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: dict[str, Any], place: str, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").touch()
    if place.startswith("source"):
        changes: dict[str, Any] = {"source": kafka_source() | {"value_format": "avro"} | how}
    else:
        part = kafka_output(value_format="avro", schema_registry={"url": "http://r"})
        changes = {"outputs": [part | how]}
    result = checked(tmp_path, "--json", **changes)
    assert result.exit_code == 2
    (problem,) = report(result)["problems"]
    assert problem["path"] == place
    assert told in problem["message"]
    assert "hush-hush" not in result.output


def test_without_the_library_of_kafka_its_extra_is_named_before_spark_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka_checks, "is_installed", lambda: False)
    path = written(tmp_path, minimal(source=kafka_source()))
    result = check(path)
    assert result.exit_code == 2
    wanted = "source (line 3, column 1): confluent_kafka is not installed; it comes with Percept's"
    assert wanted in result.stderr
    assert "pip install 'percept[kafka]'" in result.stderr
    monkeypatch.setattr(running, "_run", lambda *_: pytest.fail("Spark was started"))
    console = Console(record=True, width=500)
    assert running.run_job(path, None, console) == 2
    assert "pip install 'percept[kafka]'" in console.export_text()


def test_connecting_counts_what_would_run(tmp_path: Path) -> None:
    found = rules(tmp_path, rule("one"), rule("two", paused=True))
    source = {"format": "json", "path": str(tmp_path)}
    changes = {"discoverer": found, "time": {"delay": "90 s"}, "source": source}
    path = written(tmp_path, minimal(**changes))
    result = check(path, "--connect")
    assert result.exit_code == 0
    assert "2 processors, 2 versions, 1 paused, 0 scheduled" in result.stdout
    assert "ts, up to 1 minute 30 seconds late" in result.stdout
    snapshot = report(check(path, "--connect", "--json"))["snapshot"]
    assert (snapshot["processors"], snapshot["allowed_delay_ms"]) == (2, 90_000)


@pytest.mark.parametrize("kind", ["directory", "broker"])
def test_a_source_that_is_not_there_is_told(tmp_path: Path, kind: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        broker = f"127.0.0.1:{closed.getsockname()[1]}"
    options = {"kafka.bootstrap.servers": broker, "subscribe": "logins"}
    source, told = {
        "directory": ({"format": "json", "path": "none"}, "there is no directory none"),
        "broker": (
            {"format": "kafka", "options": options},
            f"Kafka at {broker} does not tell the topic logins: ",
        ),
    }[kind]
    result = checked(
        tmp_path,
        "--connect",
        "--timeout",
        "1",
        "--json",
        discoverer=rules(tmp_path, rule("one")),
        source=source,
    )
    assert result.exit_code == 1
    assert report(result)["no_events_because"].startswith(told)
    assert report(result)["snapshot"]["processors"] == 1


@pytest.mark.parametrize(
    ("lines", "code", "told"),
    [
        (["{}", '{"ts": 1}'], 0, "1 of the first 2 events could not be read: it has no ts"),
        (
            ['{"ts": "x"}'] * 2,
            1,
            "2 of the first 2 events could not be read: ts: 'x' is no TIMESTAMP",
        ),
        (['{"ts": 1}', "no"], 0, "1 of the first 2 events could not be read: line 2, column 1"),
        (['{"ts": 1}'], 0, ""),
    ],
)
def test_events_that_could_not_be_read_are_told_first(
    tmp_path: Path, lines: list[str], code: int, told: str
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.json").write_text("\n".join(lines), encoding="utf-8")
    source = {"format": "json", "path": str(tmp_path / "in")}
    path = written(tmp_path, minimal(discoverer=rules(tmp_path, rule("one")), source=source))
    result = check(path, "--connect")
    first = result.stderr.partition("\n")[0]
    assert (result.exit_code, told in first) == (code, True), result.output
    assert ("could not be read" in first) == bool(told)


def coded_pattern(code: SignedCode) -> dict[str, Any]:
    return {"steps": [{"name": "step", "where": {"python": code.to_document()}}]}


def test_processors_that_cannot_run_are_told(tmp_path: Path) -> None:
    coded = coded_pattern(sign(len, SigningKey("k", b"k" * 32), CodeUse.CONDITION))
    found = rules(
        tmp_path, rule("good"), rule("bad", key_by=["nobody"]), rule("coded", pattern=coded)
    )
    result = checked(tmp_path, "--connect", discoverer=found)
    assert result.exit_code == 1
    assert "rule bad: " in result.stderr
    assert "rule coded: no signing keys are set here" in result.stderr


def test_code_that_is_signed_for_another_rule_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = SigningKey.new("k")
    monkeypatch.setenv("KEYS", key.to_text())
    stream = minimal()["stream"]
    place = CodePlace(stream=stream, processor="good")
    coded = coded_pattern(sign(len, key, CodeUse.CONDITION, place=place))
    found = rules(tmp_path, rule("good", pattern=coded), rule("bad", pattern=coded))
    result = checked(tmp_path, "--connect", discoverer=found, signing_keys_env="KEYS")
    assert result.exit_code == 1
    assert "rule bad: " in result.stderr
    assert f"is signed for rule 'good' of stream '{stream}'" in result.stderr
    assert "rule good: " not in result.stderr


def test_a_job_file_that_does_not_fit_its_stream_is_refused_with_places(tmp_path: Path) -> None:
    result = checked(
        tmp_path, "--connect", discoverer=rules(tmp_path, rule("one")), time={"order_by": ["usr"]}
    )
    assert result.exit_code == 2
    told = "time.order_by[0] (line 19, column 5): the stream has no column 'usr'. Did"
    assert told in result.stderr


def test_processors_that_do_not_come_are_told(tmp_path: Path) -> None:
    path = written(tmp_path, minimal(discoverer={"type": "directory", "path": str(tmp_path / "x")}))
    result = check(path, "--connect", "--timeout", "0.2", "--json")
    assert result.exit_code == 1
    assert report(result)["no_processors_because"].startswith("no rules after 0.2 s: ")
    assert not report(result)["usable"]


@pytest.mark.parametrize("key", ["checkpoint", "discoverer", "max_future_skew"])
def test_the_schema_is_printed_with_its_descriptions(key: str) -> None:
    result = CliRunner().invoke(job_app, ["schema"])
    assert result.exit_code == 0
    assert f'"{key}": {{' in result.stdout


def test_what_a_machine_lacks_for_the_job_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine_checks, "find_spec", {"pandas": "there"}.get)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    result = checked(tmp_path)
    assert result.exit_code == 0
    libraries, java = result.stderr.splitlines()
    assert "warning: spark" in libraries
    assert "pyspark, pyarrow are not installed here" in libraries
    assert libraries.endswith("Where the job runs: pip install 'percept[spark]'.")
    assert "there is no Java here" in java
    monkeypatch.undo()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert "there is no Java here" in checked(tmp_path).stderr


def test_telemetry_that_the_job_would_not_start_with_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318")
    assert checked(tmp_path).stderr == ""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
    (told,) = checked(tmp_path).stderr.splitlines()
    assert "warning: environment: OTEL_EXPORTER_OTLP_PROTOCOL: the protocol 'grpc'" in told


@pytest.mark.parametrize(
    ("written_version", "is_told"), [("11.0.2", True), ("1.8.0_392", True), ("21", False)]
)
def test_a_java_that_is_too_old_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written_version: str, *, is_told: bool
) -> None:
    (tmp_path / "jdk/bin").mkdir(parents=True)
    (tmp_path / "jdk/bin/java").touch()
    release = f'IMPLEMENTOR="Some"\nJAVA_VERSION="{written_version}"\n'
    (tmp_path / "jdk/release").write_text(release, encoding="utf-8")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    told = checked(tmp_path).stderr
    assert ("Spark needs 17 or newer. Set JAVA_HOME" in told) is is_told
