"""A job from topic to topic, by `percept run`: killed wherever it is, it finds everything."""

import json
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest
import yaml

from tests.docs.fences import fences
from tests.letters import followed, with_step
from tests.processor_runtime.kafka.brokers import FETCH, PRODUCE, Brokers, brokers
from tests.processor_runtime.kafka.card_testing import PAYMENTS, write_rules
from tests.processor_runtime.resilience.job_process import JobProcess, job_document, numbers
from tests.processor_runtime.rule_documents import put_job, rule_of, stream_of
from tests.processor_runtime.written_rows import written
from tests.properties import seed

pytestmark = [pytest.mark.spark, pytest.mark.faults]

NOT_LEADER: Final = 6
PAGE: Final = "docs/kafka.md"
PASSWORD: Final = "hush-hush-secret"  # noqa: S105 - made up
STREAM: Final = stream_of("steps", "who STRING, n BIGINT, ts BIGINT, place BIGINT")
PAIR: Final = followed(("a", "n % 2 = 0"), ("b", "n % 2 = 1"), within_ms=60_000)
RULE: Final = rule_of(
    "pairs",
    "steps",
    with_step(PAIR, 1, contiguity="next"),
    key_by=["who"],
    select={"first": "a.n", "second": "b.n"},
)

TIMES: Final = [100_000, 1_000, None, 7_000_000_000_000, 10**16]
"""Event times, of which only the first is on time."""


@pytest.fixture
def kafka() -> Iterator[Brokers]:
    with brokers() as cluster:
        cluster.create("steps", 3)
        cluster.create("found", 1)
        yield cluster


def give(kafka: Brokers, begin: int, end: int) -> None:
    """Write events: `who` has a partition of their own, and even numbers before odd ones."""
    for who in range(3):
        events = ({"who": f"w{who}", "n": n, "ts": 1_000 * n} for n in range(begin, end))
        kafka.give("steps", who, *(json.dumps(event).encode() for event in events))


def document(kafka: Brokers, **keys: Any) -> dict[str, Any]:
    options = {
        "subscribe": "steps",
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": 30,
        "kafka.sasl.password": "${KAFKA_PASSWORD}",
    }
    columns = {"place": "offset"}
    return job_document(
        stream="steps",
        source={"format": "kafka", "options": kafka.options | options, "columns": columns},
        outputs=[
            {"type": "kafka", "topic": "found", "options": kafka.options},
            {"type": "json", "path": "out", "kinds": ["match", "error", "late"]},
        ],
        **keys,
    )


def offsets_read(checkpoint: Path) -> int:
    """Return how many records the newest batch and those before have planned to read."""
    planned = numbers(checkpoint / "offsets")
    if not planned:
        return 0
    lines = (checkpoint / f"offsets/{planned[-1]}").read_text().splitlines()
    if len(lines) < 3 or not lines[2].startswith("{"):
        return 0
    return sum(json.loads(lines[2]).get("steps", {}).values())


def has_read(checkpoint: Path, records: int) -> bool:
    return offsets_read(checkpoint) >= records


def pairs(rows: list[dict[str, Any]]) -> Counter[tuple[str, int, int]]:
    return Counter((row["key"][0], row["output"]["first"], row["output"]["second"]) for row in rows)


def test_a_job_that_is_killed_reads_every_record_once_and_writes_every_match(
    kafka: Brokers, tmp_path: Path
) -> None:
    chosen = seed()
    print(f"PERCEPT_SEED={chosen}")  # noqa: T201 - shown if the test fails
    random = Random(chosen)  # noqa: S311 - no secret
    folder = put_job(tmp_path, STREAM, RULE)
    environment = {"KAFKA_PASSWORD": PASSWORD}
    given = 0
    for _ in range(2):
        give(kafka, given, given + 40)
        given += 40
        kafka.fail(FETCH, NOT_LEADER)
        kafka.fail(PRODUCE, NOT_LEADER)
        target = min(offsets_read(folder / "checkpoint") + random.randrange(1, 110), 3 * given)
        with JobProcess(folder, document(kafka), environment) as job:
            job.wait_until(partial(has_read, folder / "checkpoint", target))
            time.sleep(random.uniform(0, 1.5))
            job.kill()
    last = document(kafka, trigger={"available_now": True, "close_at_end": True})
    with JobProcess(folder, last, environment) as job:
        assert job.wait() == 0, job.text
    wanted = Counter({(f"w{who}", n, n + 1): 1 for who in range(3) for n in range(0, given, 2)})
    rows = written(folder)
    assert {row["kind"] for row in rows} == {"match"}
    assert pairs(rows) == wanted
    records = kafka.records("found", [0])
    assert set(pairs([json.loads(each.value()) for each in records])) == set(wanted)
    assert len({dict(each.headers())["row_id"] for each in records}) == len(wanted)
    said = [path.read_text(errors="replace") for path in folder.glob("*.log")]
    assert not [text for text in said if PASSWORD in text]


def test_each_record_that_no_rule_sees_is_told_with_its_place(
    kafka: Brokers, tmp_path: Path
) -> None:
    events = [{"who": "w", "n": n, "ts": ts} for n, ts in enumerate(TIMES)]
    kafka.give("steps", 1, *(json.dumps(event).encode() for event in events), b"{broken")
    wanted = document(kafka, trigger={"available_now": True})
    wanted["source"]["options"]["maxOffsetsPerTrigger"] = 1
    environment = {"KAFKA_PASSWORD": PASSWORD}
    with JobProcess(put_job(tmp_path, STREAM, RULE), wanted, environment) as job:
        assert job.wait() == 0, job.text
    told = [row["error"] | row["events"] for row in written(tmp_path)]
    keys = ("reason", "topic", "partition", "offset")
    assert sorted(tuple(each.get(key) for key in keys) for each in told) == [
        ("future", "steps", 1, 3),
        ("late", "steps", 1, 1),
        ("no-time", "steps", 1, 2),
        ("not a JSON object", "steps", 1, 5),
        ("out-of-range", "steps", 1, 4),
    ]


@pytest.mark.nightly
def test_the_example_of_the_page_finds_the_alert_it_shows(
    kafka: Brokers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_file, *_ = (each.text for each in fences(PAGE) if each.language == "yaml")
    (alert,) = (json.loads(each.text) for each in fences(PAGE) if each.language == "json")
    monkeypatch.setenv("KAFKA_SERVERS", kafka.servers)
    kafka.give("payments", 0, *PAYMENTS)
    write_rules(tmp_path / "rules")
    small = {"spark": job_document()["spark"]}
    with JobProcess(tmp_path, yaml.safe_load(job_file) | small) as job:
        assert job.wait() == 0, job.text
    (found,) = kafka.records("alerts")
    assert json.loads(found.value()).items() >= alert.items()
    assert written(tmp_path) == []
