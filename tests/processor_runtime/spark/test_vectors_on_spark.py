"""Vectors answered by Flink, through both stages on Spark, in one query."""

import json
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from contract.snapshot import Snapshot, SnapshotProcessor
from processor_runtime.rows.output_rows import OutputRow
from tests.conformance.cases import Case
from tests.processor_runtime.core.vector_stream import (
    AT_ONCE,
    COPIES,
    END_MS,
    IN_DEADLINE_ORDER,
    arrivals,
    batches,
    found_by_flink,
    found_by_key,
    in_deadline_order,
    processors,
    running_cases,
    stream,
)
from tests.processor_runtime.spark.stage_query import StageQuery

DELAY_MS = 5


def grouped(published: list[SnapshotProcessor]) -> list[SnapshotProcessor]:
    """Return processors of which each hundred have a key selector of their own.

    An event then concerns the machines of one selector, not those of all.
    """
    changed = []
    for number, processor in enumerate(published):
        (version,) = processor.versions
        key = {"key_by": ["vector", "copy", f"{number // AT_ONCE}"]}
        keyed = version.model_copy(update={"definition": version.definition | key})
        changed.append(processor.model_copy(update={"versions": [keyed]}))
    return sorted(changed, key=lambda processor: processor.id)


def without_group(row: OutputRow) -> OutputRow:
    """Return a row whose key is the vector and the copy again."""
    if row.key is None:
        return row
    vector, copy, _ = json.loads(row.key)
    return row._replace(key=json.dumps([vector, copy]))


# Without the filter they run in core/test_vectors.py, which needs no Spark.
@pytest.mark.parametrize("every", [40, pytest.param(1, marks=pytest.mark.nightly)])
def test_both_stages_find_on_spark_what_flink_finds(
    spark: SparkSession, tmp_path: Path, every: int
) -> None:
    cases: list[Case] = running_cases()[::every]
    random = Random(1)  # noqa: S311 - any batches, but always the same
    # It concerns nobody and lets the watermark come to the end.
    last = {"vector": -1, "copy": 0, "id": -1, "ts": 0, "at": END_MS + DELAY_MS + 1}
    given = [*batches(arrivals(cases, DELAY_MS, random), 4, random), [last]]
    snapshot = Snapshot(
        format=1, epoch=1, stream=stream(DELAY_MS), processors=grouped(processors(cases))
    )
    query = StageQuery(spark, tmp_path, snapshot.stream, filters=True)
    by_batch = query.run(given, lambda _: snapshot)
    rows = [row for batch_id in sorted(by_batch) for row in by_batch[batch_id]]
    assert not [row for row in rows if row.kind == "late"]

    found = found_by_key([without_group(row) for row in rows], cases)
    failed = Counter(row.processor_id for row in rows if row.kind == "error")
    wrong = []
    for number, case in enumerate(cases):
        wanted = in_deadline_order(case.id)
        if case.id not in IN_DEADLINE_ORDER:
            assert Counter(wanted) == Counter(found_by_flink(case))
        aborts = case.expected.failure is not None
        copies = [found.get((number, copy), []) for copy in range(1 if aborts else COPIES)]
        if any(each != wanted for each in copies) or failed[f"v{number:03}"] != aborts:
            wrong.append(case.id)
    assert wrong == []
