"""docs/job-file.md: its examples are job files, and no key is left out."""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml
from pydantic import BaseModel

from processor_runtime.job_file import JobFile, load_job_file
from processor_runtime.job_file.job import job_file_schema
from processor_runtime.job_file.outputs import WebhookOutput
from processor_runtime.job_file.service import ServiceConnection
from processor_runtime.job_file.source import KAFKA_COLUMNS, Source
from processor_runtime.job_file.timing import Timing
from tests.docs.fences import fences, rows

PAGE = "docs/job-file.md"
ENVIRONMENT = {"KAFKA_PASSWORD": "from the environment"}
EXAMPLES = [fence.text for fence in fences(PAGE) if fence.language == "yaml"]


def loaded(text: str, tmp_path: Path) -> JobFile:
    path = tmp_path / "job.yaml"
    path.write_text(text, encoding="utf-8")
    return load_job_file(path, ENVIRONMENT)


def test_the_minimal_example_is_a_job(tmp_path: Path) -> None:
    job = loaded(EXAMPLES[0], tmp_path)
    assert set(yaml.safe_load(EXAMPLES[0])) == {
        "source",
        *(name for name, field in JobFile.model_fields.items() if field.is_required()),
    }
    shown = (job.trigger.processing_time_ms, job.time.by, job.on_error)
    assert shown == (1_000, "event", "quarantine")


def test_the_full_example_is_a_job(tmp_path: Path) -> None:
    job = loaded(EXAMPLES[1], tmp_path)
    assert len(EXAMPLES) == 2
    assert (
        'password="from the environment"'
        in job.placed_sources[0][1].options["kafka.sasl.jaas.config"]
    )
    assert job.spark_settings == {
        "spark.executor.memory": "4g",
        "spark.jars.packages": "org.apache.spark:spark-sql-kafka-0-10_2.13:4.3.0",
    }
    assert [output.type for output in job.outputs] == ["jdbc", "webhook", "parquet", "service"]
    webhook = job.outputs[1]
    assert isinstance(webhook, WebhookOutput)
    assert (set(webhook.row_kinds), set(webhook.side_tags)) == ({"match"}, {"urgent"})
    assert (job.time.delay_ms, job.time.max_future_skew_ms) == (30_000, 300_000)


@pytest.mark.parametrize("text", EXAMPLES)
def test_the_json_schema_takes_the_examples(text: str) -> None:
    jsonschema_rs.validate(job_file_schema(), yaml.safe_load(text))


def test_the_json_schema_refuses_unknown_keys() -> None:
    document: dict[str, Any] = yaml.safe_load(EXAMPLES[0]) | {"sauce": {}}
    with pytest.raises(jsonschema_rs.ValidationError, match="sauce"):
        jsonschema_rs.validate(job_file_schema(), document)


@pytest.mark.parametrize(
    ("heading", "model"),
    [("Keys", JobFile), ("Source", Source), ("Time", Timing), ("Service", ServiceConnection)],
)
def test_every_key_is_explained(heading: str, model: type[BaseModel]) -> None:
    section = (Path(PAGE).read_text(encoding="utf-8")).partition(f"\n## {heading}\n")[2]
    table = [line for line in section.partition("\n## ")[0].splitlines() if line.startswith("| `")]
    explained = {name.strip(" `") for line in table for name in line.split("|")[1].split(",")}
    keys = {field.alias or name for name, field in model.model_fields.items()}
    assert keys <= explained


def test_every_column_of_kafka_is_explained() -> None:
    explained = [row["name at Kafka"] for row in rows(PAGE, "name at Kafka", "type", "meaning")]
    assert tuple(explained) == tuple(f"`{name}`" for name in KAFKA_COLUMNS)


def test_the_malformed_row_shown_is_json() -> None:
    (shown,) = [fence.text for fence in fences(PAGE) if fence.language == "json"]
    assert list(json.loads(shown)) == ["reason", "raw", "topic", "partition", "offset"]
