"""On Spark: two Kafka topics with two schemas, one rule, from start to start of the job."""

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.letters import followed
from tests.processor_runtime.kafka.brokers import Brokers, brokers
from tests.processor_runtime.rule_documents import put_job, rule_of, stream_of
from tests.processor_runtime.spark.finished_job import job
from tests.processor_runtime.written_rows import written

pytest.importorskip("confluent_kafka", reason="the extra 'kafka' is not installed")

SCHEMA = "user STRING, kind STRING, amount DOUBLE, ts TIMESTAMP, origin STRING"
PATTERN = followed(("fail", "kind = 'fail'"), ("pay", "amount > 1"), within="1 minute")


def sources(kafka: Brokers) -> list[dict[str, Any]]:
    usual = {"format": "kafka"}
    options = kafka.options | {"startingOffsets": "earliest"}
    return [
        usual
        | {
            "name": "logins",
            "options": options | {"subscribe": "logins", "maxOffsetsPerTrigger": 2},
            "fields": {"success": "BOOLEAN"},
            "values": {"kind": "CASE WHEN success THEN 'login' ELSE 'fail' END"},
        },
        usual
        | {
            "name": "payments",
            "options": options | {"subscribe": "payments"},
            "columns": {"ts": "timestamp"},
            "fields": {"customer": "STRING", "cents": "BIGINT"},
            "values": {
                "user": "customer",
                "kind": "'pay'",
                "amount": "CAST(cents AS DOUBLE) / 100",
            },
        },
    ]


@pytest.mark.long
def test_two_topics_with_two_schemas_are_one_stream(spark: SparkSession, tmp_path: Path) -> None:
    put_job(
        tmp_path, stream_of("activity", SCHEMA), rule_of("r", "activity", PATTERN, key_by=["user"])
    )

    def run(**keys: Any) -> None:
        document = {"stream": "activity", "source": None, "sources": sources(kafka)} | keys
        job(spark, tmp_path, **document, source_column="origin").run()

    def login(user: str, second: int) -> bytes:
        time = f"2026-05-01T10:00:{second:02}Z"
        return json.dumps({"user": user, "success": False, "ts": time}).encode()

    def pay(user: str, second: int, cents: int) -> None:
        at_ms = 1_777_629_600_000 + second * 1_000
        value = json.dumps({"customer": user, "cents": cents}).encode()
        kafka.give("payments", 0, value, timestamp=at_ms)

    with brokers() as kafka:
        for topic in ("logins", "payments"):
            kafka.create(topic, 1)
        kafka.give("logins", 0, *(login("abc"[n % 3], 2 * n) for n in range(6)))
        pay("a", 1, 150)
        run()
        # Payments are at 1 s, so that no login after it is matched yet.
        assert written(tmp_path) == []
        pay("b", 7, 200)
        pay("b", 9, 100)
        kafka.give("logins", 0, login("c", 50))
        kafka.give("payments", 0, b"{broken", timestamp=1_777_629_611_000)
        run()
        pay("c", 55, 300)
        run(trigger={"available_now": True, "close_at_end": True})

    rows = written(tmp_path)
    found = sorted(
        [(event["user"], event["ts"][17:19], event["origin"]) for of in steps for event in of]
        for steps in (row["events"].values() for row in rows if row["kind"] == "match")
    )
    assert found == [
        [("a", "00", "logins"), ("a", "01", "payments")],
        [("b", "02", "logins"), ("b", "07", "payments")],
        [("c", "04", "logins"), ("c", "55", "payments")],
        [("c", "10", "logins"), ("c", "55", "payments")],
        [("c", "50", "logins"), ("c", "55", "payments")],
    ]
    assert [row["events"]["topic"] for row in rows if row["kind"] == "error"] == ["payments"]
    assert not [row for row in rows if row["kind"] == "late"]
