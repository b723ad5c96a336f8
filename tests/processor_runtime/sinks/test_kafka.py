"""The records that rows become, and names of rows that stay the same."""

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as all of Spark's documentation has it

from processor_runtime.output.row_columns import LINES
from processor_runtime.rows.line_route import BatchLines
from processor_runtime.spark.sinks import OutputFailed, create_sinks
from processor_runtime.spark.sinks.kafka import kafka_records
from processor_runtime.spark.sinks.row_columns import row_lines
from processor_runtime.spark.sinks.row_identity import with_identity
from tests.processor_runtime.kafka.brokers import brokers
from tests.processor_runtime.kafka.registry import record, registry
from tests.processor_runtime.sinks.rows import Frame, error, late, match, output, side, surroundings

pytest.importorskip("confluent_kafka", reason="the extra 'kafka' is not installed")
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

from processor_runtime.kafka.formats.schema_file import SchemasInFile
from processor_runtime.kafka.match_records import match_records
from tests.processor_runtime.kafka.messages import fields_of


def records(rows: DataFrame, batch_id: int = 0) -> list[tuple[str | None, dict[str, Any], Any]]:
    """Return key, value and headers of each record, by kind."""
    found = []
    for row in kafka_records(rows, batch_id, 3).collect():
        headers = {each["key"]: bytes(each["value"]).decode() for each in row["headers"]}
        found.append((row["key"], json.loads(row["value"]), headers))
    return sorted(found, key=lambda record: str(record[1]["kind"]))


def test_a_record_is_keyed_by_processor_and_key_and_named_by_its_headers(frame: Frame) -> None:
    ((key, value, headers),) = records(frame(match(key='["eve", 7, null]')))
    assert json.loads(key or "") == ["failed-logins", "eve", 7, None]
    assert value["output"] == {"user": "eve", "failures": 1}
    assert headers == {"row_id": f"{1:032x}", "match_id": f"{1:032x}", "kind": "match"}
    assert value["row_id"] == headers["row_id"]


KEYS = ['["eve"]', "[]", '["a]\\"}b", null, -1.5]', '[["x"], {"output": [1]}]', '["\u00e4\u2028"]']


def test_a_line_becomes_the_record_that_its_row_becomes(frame: Frame) -> None:
    made = [match(number, key=key) for number, key in enumerate([*KEYS, KEYS[0]], 1)]
    rows = frame(
        *made, match(1, output="[1]"), match(7, output=None), match(8, start_ms=-5, end_ms=-4)
    )
    lines = "\n".join(row.value for row in row_lines(rows).collect())
    by_spark = [
        (row.key, row.value, [(each.key, bytes(each.value)) for each in row.headers])
        for row in kafka_records(rows, 0, 9).collect()
    ]
    found = [(each.key, each.value, each.headers) for each in match_records([lines.encode()])]
    ends = [json.loads(value)["end_ms"] for _, value, _ in found]
    assert ends == sorted(ends)
    assert len(set(ends)) > 1
    # Which of two of one id is the second depends on how they are compared.
    assert sorted(_unnumbered(*each) for each in found) == sorted(
        _unnumbered(key.encode(), value.encode(), headers) for key, value, headers in by_spark
    )
    assert len({headers[0] for _, _, headers in found}) == len(found)


def _unnumbered(key: bytes | None, value: bytes, headers: Any) -> Any:
    return key, value.replace(b'-2","kind"', b'","kind"'), [*headers[1:]]


@pytest.mark.long
def test_processors_without_a_key_and_rows_without_one_have_keys_that_say_so(frame: Frame) -> None:
    (of_error, of_late, of_match) = records(frame(error(), late(), match(key="[]")))
    assert (of_error[0], of_match[0]) == ('["broken"]', '["failed-logins"]')
    assert of_late[0] is None
    assert "match_id" not in of_late[2]
    assert len(of_late[2]["row_id"]) == 64


def test_the_frame_is_one_that_sparks_kafka_writer_takes(frame: Frame) -> None:
    schema = kafka_records(frame(match()), 0, 1).schema
    assert schema.simpleString() == (
        "struct<key:string,value:string,headers:array<struct<key:string,value:binary>>>"
    )


def test_without_sparks_connector_the_error_says_which_package_is_missing(frame: Frame) -> None:
    password = "org.Module required password='hush-hush';"  # noqa: S105 - made up
    options = {"kafka.bootstrap.servers": "kafka-1:9092", "kafka.sasl.jaas.config": password}
    wanted = output(type="kafka", topic="found", options=options, connector="spark")
    outputs = create_sinks([wanted], surroundings())
    with pytest.raises(OutputFailed, match=r"output 'kafka': .*spark-sql-kafka-0-10_2\.13") as told:
        outputs.write(frame(match()), 0, {"match": 1})
    assert "hush-hush" not in str(told.value)


def test_rows_become_records_in_the_order_of_event_time_and_again_the_same(frame: Frame) -> None:
    with brokers() as cluster:
        cluster.create("found", 1)
        wanted = output(type="kafka", topic="found", options=cluster.options)
        rows = frame(*(match(number) for number in (3, 1, 2)))
        with create_sinks([wanted], surroundings()) as outputs:
            outputs.write(rows, 0, {"match": 3})
            outputs.write(rows, 0, {"match": 3})
        written = cluster.records("found", [0])
        found = [(each.key(), each.value(), each.headers()) for each in written]
    assert [json.loads(value)["output"]["failures"] for _, value, _ in found] == [1, 2, 3] * 2
    assert found[:3] == found[3:]
    assert found[0][0] == b'["failed-logins","eve"]'
    assert dict(found[0][2])["row_id"] == f"{1:032x}".encode()


def test_rows_beside_lines_are_written_however_many_lines_are_in_a_row(frame: Frame) -> None:
    lines = "\n".join(row.value for row in row_lines(frame(match(1), match(2))).collect())
    none, both = F.lit(None).cast("binary"), F.lit(lines.encode()).cast("binary")
    rows = frame(side("audit"), side("other")).withColumn(LINES, none)
    rows = rows.unionByName(frame(match(1)).withColumn(LINES, both))
    in_hand = "\n".join(row.value for row in row_lines(frame(match(3))).collect())
    with brokers() as cluster:
        cluster.create("found", 1)
        kinds = ["match", "side:audit"]
        how = {"options": cluster.options, "connector": "percept", "kinds": kinds}
        wanted = output(type="kafka", topic="found", **how)
        with create_sinks([wanted], surroundings()) as outputs:
            counts = {"match": 3, "side": 2}
            outputs.write(rows, 0, counts, BatchLines([in_hand.encode()]))
        found = [json.loads(each.value()) for each in cluster.records("found", [0])]
    assert [row["match_id"][-1] for row in found if row["kind"] == "match"] == ["3", "1", "2"]
    assert [row["tag"] for row in found if row["kind"] == "side"] == ["audit"]


def test_rows_are_written_by_a_schema_and_one_that_does_not_fit_ends_the_batch(
    frame: Frame, tmp_path: Path
) -> None:
    values = {"type": "map", "values": ["long", "string"]}
    schema = tmp_path / "alert.avsc"
    schema.write_text(json.dumps(record("Alert", row_id="string", output=values)))
    with brokers() as cluster, registry() as schemas:
        cluster.create("found", 1)
        wanted = output(
            type="kafka",
            topic="found",
            options=cluster.options,
            value_format="avro",
            schema_registry={"url": schemas.url, "basic.auth.user.info": "me:hush-hush"},
            schema_file=str(schema),
        )
        with create_sinks([wanted], surroundings()) as outputs:
            outputs.write(frame(match(1), match(2)), 0, {"match": 2})
            with pytest.raises(OutputFailed, match=r"output 'kafka': .*row 0*3 of rule") as told:
                outputs.write(frame(match(3, output="[7]")), 1, {"match": 1})
        records = cluster.records("found", [0])
        read = AvroDeserializer(SchemaRegistryClient({"url": schemas.url}))
        context = SerializationContext("found", MessageField.VALUE)
        found = [read(each.value(), context) for each in records]
    ids = [dict(each.headers())["row_id"].decode() for each in records]
    outputs_told = [{"user": "eve", "failures": number} for number in (1, 2)]
    assert [each["output"] for each in found] == outputs_told
    assert [each["row_id"] for each in found] == ids
    text = str(told.value)
    assert "does not fit the schema 101 of found-value: output: a list, and the sch" in text
    assert "hush-hush" not in text


@pytest.mark.parametrize(
    "how", ["with a registry", pytest.param("without one", marks=pytest.mark.long)]
)
def test_rows_are_messages_of_a_file_with_a_registry_or_without_one(
    frame: Frame, tmp_path: Path, how: str
) -> None:
    found = FileDescriptorProto(name="own/found.proto", package="own", syntax="proto3")
    fields = found.message_type.add(name="Found").field
    fields.add(name="user", number=1, label=1, type=9)
    fields.add(name="failures", number=2, label=1, type=3)
    alert = FileDescriptorProto(name="alert.proto", package="own", syntax="proto3")
    alert.dependency.append(found.name)
    fields = alert.message_type.add(name="Alert").field
    fields.add(name="row_id", number=1, label=1, type=9)
    fields.add(name="output", number=2, label=1, type=11, type_name=".own.Found")
    descriptors = tmp_path / "alert.desc"
    descriptors.write_bytes(FileDescriptorSet(file=[found, alert]).SerializeToString())
    written = tmp_path / "schemas.json"
    with brokers() as cluster, registry() as schemas:
        part = {"type": "kafka", "topic": "found", "options": cluster.options}
        part |= {"value_format": "protobuf"}
        cluster.create("found", 1)
        wanted = output(**part, schema_registry={"url": schemas.url}, schema_file=str(descriptors))
        with create_sinks([wanted], surroundings()) as outputs:
            outputs.write(frame(match(1)), 0, {"match": 1})
        written.write_text(json.dumps(schemas.schemas))
        if how == "without one":
            schemas.fails_with = 503
            wanted = output(**part, schema_file=str(written))
        with create_sinks([wanted], surroundings()) as outputs:
            outputs.write(frame(match(2)), 1, {"match": 1})
            with pytest.raises(OutputFailed, match=r"'kafka': .*row 0*3 of rule .*failures"):
                outputs.write(frame(match(3, output='{"failures": "few"}')), 2, {"match": 1})
        records = cluster.records("found", [0])
        known = SchemasInFile.of(written.read_text())
    assert [fields_of(known, each.value()) for each in records] == [
        {
            "row_id": dict(each.headers())["row_id"].decode(),
            "output": {"user": "eve", "failures": str(number)},
        }
        for number, each in enumerate(records, 1)
    ]
    assert len(records) == 2


def test_a_topic_that_takes_nothing_ends_the_batch_and_says_where_to_look(frame: Frame) -> None:
    options = {
        "kafka.bootstrap.servers": "127.0.0.1:1",
        "kafka.delivery.timeout.ms": 300,
        "kafka.sasl.password": "hush-hush",
    }
    wanted = output(type="kafka", topic="found", options=options)
    outputs = create_sinks([wanted], surroundings())
    with pytest.raises(OutputFailed, match=r"topic found: .* brokers 127\.0\.0\.1:1") as told:
        outputs.write(frame(match()), 0, {"match": 1})
    outputs.close()
    assert "hush-hush" not in str(told.value)


def row_ids(rows: DataFrame, batch_id: int = 0) -> list[str]:
    return sorted(row["row_id"] for row in with_identity(rows, batch_id, 30_000).collect())


@pytest.mark.long
def test_rows_have_the_same_names_in_whatever_order_they_are_written(frame: Frame) -> None:
    rows = [match(), late("ana"), late("ana"), late("eve"), error(), side("audit")]
    first = row_ids(frame(*rows))
    assert len(set(first)) == len(rows)
    assert row_ids(frame(*reversed(rows)).repartition(3)) == first
    assert row_ids(frame(*rows), batch_id=1) != first


@pytest.mark.long
def test_a_match_is_named_by_its_id_in_every_batch_and_several_outputs_apart(frame: Frame) -> None:
    rows = frame(match(output="1"), match(output="2"), side("audit", match_id=f"{1:032x}"))
    for batch_id in (0, 1):
        found = row_ids(rows, batch_id)
        assert found[:2] == [f"{1:032x}", f"{1:032x}-2"]
        assert len(set(found)) == 3
