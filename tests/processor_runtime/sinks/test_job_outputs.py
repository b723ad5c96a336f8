"""Every output gets the rows it wants; one that fails is named, with what to do."""

import json
from pathlib import Path

import pytest
from pyspark.sql import DataFrame
from pyspark.sql.functions import lit

from processor_runtime.output.row_columns import LINES
from processor_runtime.rows.line_route import BatchLines
from processor_runtime.rows.output_rows import SCHEMA, RowKind
from processor_runtime.spark.sinks import JobOutput, JobOutputs, OutputFailed, create_sinks
from processor_runtime.spark.sinks.files.delta import DeltaSink
from tests.processor_runtime.sinks.rows import Frame, error, late, match, output, side, surroundings


class RememberingSink:
    """Keeps what it is given, or raises."""

    remedy = "Look at the disk."
    secrets = frozenset({"hush-hush"})

    def __init__(self, failure: Exception | None = None) -> None:
        self.batches: list[tuple[int, int, list[str]]] = []
        self.columns: list[str] = []
        self.is_closed = False
        self._failure = failure

    def write(self, rows: DataFrame, batch_id: int, row_count: int) -> None:
        if self._failure is not None:
            raise self._failure
        self.columns = rows.columns
        kinds = sorted(f"{row['kind']} {row['tag'] or ''}".strip() for row in rows.collect())
        self.batches.append((batch_id, row_count, kinds))

    def close(self) -> None:
        self.is_closed = True


def wanting(kinds: list[str], sink: RememberingSink) -> JobOutput:
    wanted = output(type="console", kinds=kinds)
    return JobOutput("console", wanted.row_kinds, wanted.side_tags, sink)


ROWS = [match(1), match(2, kind="timeout"), side("audit"), side("mail"), late(), error()]
COUNTS = {"match": 1, "timeout": 1, "side": 2, "late": 1, "error": 1}


def test_outputs_get_the_kinds_and_tags_they_ask_for_and_their_number(frame: Frame) -> None:
    # The job's own frame has columns and rows besides, which are none of an output's business.
    rows = frame(*ROWS, {"kind": "status"}).withColumn("status", lit("{}"))
    for kinds, expected in [
        (["match"], ["match"]),
        (["match", "side"], ["match", "side audit", "side mail"]),
        (["side:audit", "timeout"], ["side audit", "timeout"]),
        (["side:nothing"], []),
        (["late", "error"], ["error", "late"]),
    ]:
        sink = RememberingSink()
        JobOutputs([wanting(kinds, sink)]).write(rows, 3, COUNTS | {"status": 1})
        assert sink.batches == [(3, len(expected), expected)]
        assert sink.columns == SCHEMA.names()


def test_an_output_of_lines_gets_those_that_are_no_rows(frame: Frame, tmp_path: Path) -> None:
    given = [{"kinds": ["match", "late"]}, {"kinds": ["late"]}, {"kinds": ["match"]}]
    outputs = [
        output(type="json", path=str(tmp_path / str(number)), name=f"o{number}", **one)
        for number, one in enumerate(given)
    ]
    lines = [b'{"kind":"match","n":1}\n{"kind":"match","n":2}', b'{"kind":"match","n":3}']
    outputs.append(output(type="console", kinds=["timeout"]))
    with create_sinks(outputs, surroundings()) as sinks:
        assert [each.takes_lines for each in sinks.outputs] == [True, True, True, False]
        counts = {"match": 3, "late": 1}
        sinks.write(frame(late()), 0, counts, BatchLines(lines))
    for number, kinds in enumerate((["late", *["match"] * 3], ["late"], ["match"] * 3)):
        texts = [path.read_text("utf-8") for path in tmp_path.glob(f"{number}/batch=0/*.json")]
        lines_of = [json.loads(line) for text in texts for line in text.splitlines()]
        assert sorted(line["kind"] for line in lines_of) == kinds


def test_a_sink_that_fails_is_named_with_the_reason_and_what_to_do(frame: Frame) -> None:
    sinks = [RememberingSink(), RememberingSink(OSError("no space left")), RememberingSink()]
    outputs = JobOutputs([wanting(["match"], sink) for sink in sinks])
    reason = r"^output 'console': OSError: no space left\. Look at the disk\.$"
    with outputs, pytest.raises(OutputFailed, match=reason) as told:
        outputs.write(frame(match()), 0, {"match": 1})
    assert isinstance(told.value.__cause__, OSError)
    assert [len(sink.batches) for sink in sinks] == [1, 0, 0]
    assert all(sink.is_closed for sink in sinks)


def test_a_cause_with_a_secret_in_it_is_neither_told_nor_kept(frame: Frame) -> None:
    sink = RememberingSink(ValueError("password hush-hush is wrong"))
    with pytest.raises(OutputFailed, match=r"password \*\*\* is wrong") as told:
        JobOutputs([wanting(["match"], sink)]).write(frame(match()), 0, {"match": 1})
    assert told.value.__cause__ is None
    assert told.value.__suppress_context__


def test_errors_of_spark_are_told_without_the_stack_of_java(frame: Frame) -> None:
    outputs = create_sinks([output(type="delta", path="/nowhere")], surroundings())
    with pytest.raises(OutputFailed) as told:
        outputs.write(frame(match()), 0, {"match": 1})
    assert "Failed to find the data source: delta" in str(told.value)
    assert "io.delta:delta-spark_2.13" in str(told.value)
    assert "\tat " not in str(told.value)


def test_delta_is_told_the_same_transaction_whenever_a_batch_is_written() -> None:
    def transaction(checkpoint_id: str, name: str, batch_id: int) -> dict[str, str]:
        wanted = output(type="delta", name=name, path="/nowhere")
        return DeltaSink(wanted, surroundings(checkpoint_id)).transaction(batch_id)

    first = transaction("a", "delta", 7)
    assert first == {"txnAppId": "percept/a/delta", "txnVersion": "7"}
    others = [transaction(*given) for given in (("b", "delta", 7), ("a", "other", 7))]
    assert first["txnAppId"] not in {other["txnAppId"] for other in others}


def test_when_one_output_cannot_be_created_none_is_left_open() -> None:
    keys = {"type": "webhook", "url": "https://example.org"}
    missing = output(**keys, token_env="NOT_SET")  # noqa: S106 - the name of a variable
    with pytest.raises(OutputFailed, match=r"output 'webhook': token_env: .* NOT_SET is not set"):
        create_sinks([output(type="console"), missing], surroundings())


def test_only_an_output_of_lines_is_given_lines(frame: Frame) -> None:
    sinks = [RememberingSink(), RememberingSink()]
    kinds: frozenset[RowKind] = frozenset({"match"})
    outputs = [
        JobOutput("other", kinds, frozenset(), sinks[0]),
        JobOutput("json", kinds, frozenset(), sinks[1], takes_lines=True),
    ]
    rows = frame(match())
    JobOutputs(outputs).write(rows, 0, {"match": 1})
    assert sinks[0].columns == sinks[1].columns == SCHEMA.names()
    JobOutputs(outputs).write(rows.withColumn(LINES, lit("{}")), 1, {"match": 1})
    assert sinks[0].columns == SCHEMA.names()
    assert sinks[1].columns == [*SCHEMA.names(), LINES]
