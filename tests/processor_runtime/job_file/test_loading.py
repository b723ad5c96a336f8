"""Job files: every mistake is told with its key, line, column and a remedy."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from contract.service_access import token_reader
from contract.snapshot import StreamDefinition
from processor_runtime.job_file import load_job_file, misfits, stream_of_job
from processor_runtime.job_file.outputs import KafkaOutput
from tests.processor_runtime.job_file.job_files import loaded, minimal, refusal

SPARKS_KAFKA = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.3.0"
SERVER = {"kafka.bootstrap.servers": "k"}
KAFKA: dict[str, Any] = {"format": "kafka", "options": SERVER | {"subscribe": "logins"}}
KAFKA_OUTPUT: dict[str, Any] = {"type": "kafka", "topic": "t", "options": SERVER}


def source(**keys: Any) -> dict[str, Any]:
    return {"source": keys}


def kafka(**keys: Any) -> dict[str, Any]:
    return {"source": KAFKA | keys}


def stream(**changes: Any) -> StreamDefinition:
    document = {
        "name": "logins",
        "version": 1,
        "schema": "user STRING, ts TIMESTAMP, p INT, o BIGINT",
        "event_time_column": "ts",
        "allowed_delay_ms": 5_000,
        "order_by": [],
    }
    return StreamDefinition.model_validate(document | changes)


def test_every_mistake_is_told_at_once_in_the_order_of_the_lines(tmp_path: Path) -> None:
    text = """\
name: logins-job
stream: logins
sauce: {}
source:
  format: json
  max_files_per_batch: none
discoverer: {path: /rules}
outputs:
  - type: kafak
  - {type: kafka, topik: matches}
  - type: service
    kinds: [late]
trigger: {processing_time: 1 fortnight}
time:
  by: evnt
limits: {partial_matches: 3}
checkpoint: /checkpoints/logins
"""
    assert (
        refusal(tmp_path, text)
        == """\
sauce (line 3, column 1): unknown key. Did you mean 'source'?
source.max_files_per_batch (line 6, column 3): does not fit. \
Write a whole number.
outputs[0].type (line 9, column 5): 'kafak' is not known. Did you mean 'kafka'?
outputs[1].topic (line 10, column 5): missing. Add it.
outputs[1].options (line 10, column 5): missing. Add it.
outputs[1].topik (line 10, column 19): unknown key. Did you mean 'topic'?
outputs[2].kinds[0] (line 12, column 13): does not fit. \
Write 'match', 'timeout', 'shadow', 'suppressed', 'grouped' or 'group'.
trigger.processing_time (line 13, column 11): 'fortnight' in '1 fortnight' is not a unit of time. \
Write it like '10 minutes', '1h 30m' or 'PT10M' (ISO-8601).
time.by (line 15, column 3): does not fit. Write 'event' or 'processing'.
limits.partial_matches (line 16, column 10): unknown key. \
Did you mean 'partial_matches_per_key'?"""
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("name: a\n  b: c", "line 2, column 4"),
        ("- name: a", "not a mapping. Write keys and values"),
        ("", "0 documents. Write one"),
        ("name: a\n---\nname: b", "2 documents. Write one"),
        ("name: a\nname: b", "name' is given twice"),
        ("x: &x 1\ny: *x", "aliases are not allowed"),
        ("#" * 1_000_001, "larger than 1000000 bytes"),
    ],
)
def test_what_is_no_job_file_is_refused(tmp_path: Path, text: str, told: str) -> None:
    assert told in refusal(tmp_path, text)


def test_a_job_file_must_be_there_and_may_be_json(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"none\.yaml: job file: cannot be read"):
        load_job_file(tmp_path / "none.yaml", {})
    path = tmp_path / "job.json"
    path.write_text('{"name": 5}', encoding="utf-8")
    with pytest.raises(ValueError, match=r"name \(line 1, column 2\)"):
        load_job_file(path, {})


def test_variables_are_replaced_in_values(tmp_path: Path) -> None:
    options = {"password": "<${SECRET}>", "${SECRET}": "$${SECRET}", "n": 5, "flag": True}
    read = source(format="orc", path="/d", options=options, max_files_per_batch="${FILES}")
    job = loaded(tmp_path, minimal(**read), {"SECRET": "${hush}", "FILES": "7"})
    replaced = {"password": "<${hush}>", "${SECRET}": "${SECRET}", "n": "5", "flag": "true"}
    assert job.placed_sources[0][1].options == replaced
    assert job.placed_sources[0][1].max_files_per_batch == 7


def test_a_variable_that_is_not_set_is_named_with_its_place(tmp_path: Path) -> None:
    text = """\
name: ${JOB}
checkpoint: /checkpoints/${ENVIRONMENT}/${a-b}
"""
    told = refusal(tmp_path, text).splitlines()
    assert (
        "name (line 1, column 7): the environment variable JOB is not set. "
        "Set it where the job is started." in told
    )
    assert any(each.startswith("checkpoint (line 2, column 26): the environment") for each in told)
    assert any(each.startswith("checkpoint (line 2, column 41): ${ begins") for each in told)
    assert not any("name" in each and "does not fit" in each for each in told)


def test_values_of_the_environment_are_in_no_message_and_no_text_of_the_job(tmp_path: Path) -> None:
    secrets = dict.fromkeys(("A", "B", "C"), "hush-hush")
    document = minimal(
        name="${A} ",
        time={"delay": "${B}"},
        source=KAFKA | {"value_format": "${A}"},
        discoverer={"type": "http", "url": "https://rules", "token": "${C}"},
        on_error="${A}",
        outputs=[{"type": "webhook", "url": "http://${A}.example/"}],
    )
    told = refusal(tmp_path, document, secrets)
    assert told.count("\n") == 4
    assert "'${B}' is not a duration" in told
    assert "hush" not in told

    job = loaded(
        tmp_path,
        minimal(
            source=KAFKA | {"options": KAFKA["options"] | {"kafka.password": "${A}"}},
            discoverer={"type": "database", "url": "postgresql://u:${B}@host/db"},
            outputs=[
                {"type": "jdbc", "url": "postgresql://u:${C}@host/db", "table": "matches"},
                {"type": "webhook", "url": "https://x/${A}", "headers": {"X-Key": "${A}"}},
            ],
            service={"url": "https://u:${A}@rules.example", "token_env": "T"},
            spark={"spark.hadoop.fs.s3a.secret.key": "${A}"},
        ),
        secrets,
    )
    assert "hush" not in f"{job!r} {job}"
    assert job.placed_sources[0][1].options["kafka.password"] == "hush-hush"


REFUSED = yaml.safe_load(Path(__file__).with_name("refused.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", REFUSED["refused"], ids=lambda case: case["told"])
def test_what_does_not_fit_together_is_refused(tmp_path: Path, case: dict[str, Any]) -> None:
    assert case["told"] in refusal(tmp_path, minimal(**case["keys"]))


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]"])
def test_plain_http_may_stay_on_this_machine(tmp_path: Path, host: str) -> None:
    service = {"url": f"http://{host}:8321", "token_env": "T"}
    assert loaded(tmp_path, minimal(service=service)).service is not None


def test_packages_of_all_parts_are_one_setting_of_spark(tmp_path: Path) -> None:
    delta, kafka = "io.delta:delta-spark_2.13:4.0.0", "org.apache.spark:kafka_2.13:4.3.0"
    kafka_output = KAFKA_OUTPUT | {"packages": [kafka]}
    document = minimal(
        source=KAFKA | {"packages": [kafka]},
        outputs=[{"type": "delta", "path": "/out", "packages": [delta]}, kafka_output],
        spark={"spark.jars.packages": "a:b:1", "spark.sql.shuffle.partitions": 4},
    )
    assert loaded(tmp_path, document).spark_settings == {
        "spark.jars.packages": f"a:b:1,{kafka},{delta}",
        "spark.sql.shuffle.partitions": "4",
    }


def test_headers_are_asked_for_if_they_are_used(tmp_path: Path) -> None:
    ((_, source),) = loaded(tmp_path, minimal(**kafka(columns={"h": "headers"}))).placed_sources
    assert source.reader_options["includeHeaders"] == "true"


def test_a_job_uses_delay_and_order_of_its_stream_unless_it_says_others(tmp_path: Path) -> None:
    for time, delay_ms, order_by in (
        ({}, 5_000, ["ts", "user"]),
        ({"delay": "1 minute", "order_by": ["o"]}, 60_000, ["ts", "o"]),
        ({"by": "processing"}, 0, ["user"]),
    ):
        job = loaded(tmp_path, minimal(**({"time": time} if time else {})))
        used = stream_of_job(job, stream(order_by=["user"]))
        assert (used.allowed_delay_ms, used.order_by) == (delay_ms, order_by), time


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({}, ("events", False)),
        ({"time": {"idle_after": "1 minute"}}, ("events_or_clock", True)),
        ({"time": {"by": "processing"}}, ("processing", True)),
        ({"time": {"by": "processing"}, "trigger": {"once": True}}, ("processing", False)),
        ({"trigger": {"available_now": True, "close_at_end": True}}, ("events", True)),
    ],
)
def test_ticks_are_there_where_time_goes_on_without_events(
    keys: dict[str, Any], expected: tuple[str, bool], tmp_path: Path
) -> None:
    job = loaded(tmp_path, minimal(**keys))
    assert (job.time_mode, job.has_ticks) == expected


@pytest.mark.parametrize(
    ("columns", "order_by", "used"),
    [
        ("ts TIMESTAMP_NTZ, n INT", ["n"], ["ts", "n"]),
        ("ts TIMESTAMP, n INT", ["n", "ts"], ["n", "ts"]),
        ("ts BIGINT, n INT", ["n"], ["n"]),
    ],
    ids=["finer", "said", "milliseconds"],
)
def test_what_time_says_beyond_milliseconds_orders_events(
    columns: str, order_by: list[str], used: list[str], tmp_path: Path
) -> None:
    defined = stream(schema=columns, order_by=order_by)
    assert stream_of_job(loaded(tmp_path, minimal()), defined).order_by == used


@pytest.mark.parametrize(
    ("changes", "connectors"),
    [
        ({}, ["percept", "percept"]),
        (kafka(packages=[SPARKS_KAFKA]), ["spark", "spark"]),
        ({"spark": {"spark.jars.packages": f"a:b:1,{SPARKS_KAFKA}"}}, ["spark", "spark"]),
        ({"spark": {"spark.jars": "/opt/spark-sql-kafka-0-10_2.13-4.3.0.jar"}}, ["spark", "spark"]),
        (kafka(connector="spark"), ["spark", "percept"]),
        (kafka(connector=None), ["percept", "percept"]),
        (kafka(packages=[SPARKS_KAFKA], connector=None), ["spark", "spark"]),
        (kafka(packages=[SPARKS_KAFKA], connector="percept"), ["percept", "spark"]),
    ],
)
def test_sparks_connector_is_used_where_it_is_named(
    tmp_path: Path, changes: dict[str, Any], connectors: list[str]
) -> None:
    job = loaded(tmp_path, minimal(**kafka() | {"outputs": [KAFKA_OUTPUT]} | changes))
    (output,) = job.outputs
    assert isinstance(output, KafkaOutput)
    assert [job.placed_sources[0][1].connector, output.connector] == connectors


def test_events_of_kafka_are_ordered_by_their_place_if_nothing_else_is_said(tmp_path: Path) -> None:
    job = loaded(tmp_path, minimal(**kafka(columns={"o": "offset", "p": "partition"})))
    assert stream_of_job(job, stream()).order_by == ["ts", "p", "o"]
    assert stream_of_job(job, stream(order_by=["user"])).order_by == ["ts", "user"]
    one = loaded(tmp_path, minimal(**kafka(columns={"o": "offset"})))
    assert stream_of_job(one, stream()).order_by == ["ts"]


def test_what_does_not_fit_the_stream_is_told(tmp_path: Path) -> None:
    changes = kafka(columns={"usr": "key"}) | {"time": {"order_by": ["ts", "n"]}}
    job = loaded(tmp_path, minimal(**changes))
    found = list(misfits(job, stream(name="payments", schema="user STRING, ts TIMESTAMP")))
    assert [(each.path, each.remedy) for each in found] == [
        ("stream", ""),
        ("time.order_by[1]", "Known here: 'user', 'ts'."),
        ("source.columns.usr", "Did you mean 'user'?"),
    ]
    (taken,) = misfits(loaded(tmp_path, minimal()), stream(schema="_malformed STRING"))
    assert "which the job uses itself" in taken.message


def test_signing_keys_come_from_a_file_or_a_variable(tmp_path: Path) -> None:
    key = "2026:" + "A" * 44
    (tmp_path / "keys").write_text(f"{key}\n", encoding="utf-8")
    by_file = loaded(tmp_path, minimal(signing_keys_file=str(tmp_path / "keys")))
    by_variable = loaded(tmp_path, minimal(signing_keys_env="KEYS"))

    for keys in (by_file.signing_keys({}), by_variable.signing_keys({"KEYS": key})):
        assert keys is not None
        assert keys.newest.id == "2026"
    assert loaded(tmp_path, minimal()).signing_keys({}) is None
    with pytest.raises(ValueError, match="the environment variable KEYS is not set"):
        by_variable.signing_keys({})
    with pytest.raises(ValueError, match=r"signing_keys_env: .* not of the form id:secret"):
        by_variable.signing_keys({"KEYS": "hush"})


def test_the_token_of_the_service_is_read_for_every_request(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("first\n", encoding="utf-8")
    document = minimal(service={"url": "https://rules.example", "token_file": str(path)})
    service = loaded(tmp_path, document).service
    assert service is not None
    read = token_reader(service, {})
    assert read() == "first"
    path.write_text("second\n", encoding="utf-8")
    assert read() == "second"
