"""`sources:` of a job file: which are refused and why, and what fits the stream."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from cep.pattern import Pattern
from contract.snapshot import StreamDefinition
from processor_runtime.job_file.check_report import check_job_file
from processor_runtime.job_file.consistency import misfits
from processor_runtime.job_file.job import job_file_schema
from tests.docs.fences import fences
from tests.processor_runtime.job_file.job_files import loaded, minimal, refusal, written
from tests.processor_runtime.sources.streams import stream

LOGINS: dict[str, Any] = {"name": "logins", "format": "json", "path": "/data/logins"}
PAYMENTS: dict[str, Any] = {"name": "payments", "format": "csv", "path": "/data/payments"}
CENTS = {"cents": "INT"}
STREAM = stream("user STRING, kind STRING, amount DOUBLE, ts BIGINT, origin STRING")


def several(*sources: dict[str, Any], **keys: Any) -> dict[str, Any]:
    return minimal(source=None, sources=list(sources), **keys)


@pytest.mark.parametrize(
    ("document", "told"),
    [
        (minimal(sources=[LOGINS, PAYMENTS]), "sources: there is `source`, too"),
        (minimal(source=None), "source: missing. Add it"),
        (several(LOGINS), "sources: does not fit"),
        (several(LOGINS, PAYMENTS | {"name": None}), "sources[1] needs a name"),
        (several(LOGINS, PAYMENTS | {"name": "logins"}), "another source is called 'logins', too"),
        (several(LOGINS, PAYMENTS | {"name": "a b"}), "sources[1].name: does not fit"),
        (
            several(LOGINS, PAYMENTS | {"path": "/data/logins/"}),
            "sources[1].path: the source logins",
        ),
        (several(LOGINS, PAYMENTS | {"formt": "csv"}), "sources[1].formt: unknown key"),
        (minimal(source_column="origin"), "source needs a name"),
        (
            several(LOGINS, PAYMENTS | {"values": {"origin": "'x'"}}, source_column="origin"),
            "sources[1] gives origin itself",
        ),
        (
            several(LOGINS, PAYMENTS | {"values": {"user": "'x'"}, "columns": {"user": "u"}}),
            "user is read here and computed under values",
        ),
    ],
)
def test_sources_that_cannot_be_told_apart_are_refused(
    document: dict[str, Any], told: str, tmp_path: Path
) -> None:
    assert told in re.sub(r" \(line \d+, column \d+\)", "", refusal(tmp_path, document))


def fits(folder: Path, definition: StreamDefinition = STREAM, **keys: Any) -> list[str]:
    column = keys.pop("source_column", "origin")
    job = loaded(folder, several(LOGINS, PAYMENTS | keys, source_column=column))
    return list(map(str, misfits(job, definition.model_copy(update={"name": "logins"}))))


def test_constants_and_expressions_fit_their_columns(tmp_path: Path) -> None:
    values = {"kind": "'pay'", "amount": "cents / 2 + 1", "ts": "at", "user": "NULL"}
    assert fits(tmp_path, fields={"cents": "BIGINT", "at": "INT"}, values=values) == []


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"values": {"amount": "cents"}}, "sources[1].values.amount: line 1, column 1"),
        ({"values": {"amount": "user"}}, "it is STRING, and the column is DOUBLE"),
        ({"values": {"ts": "1.5"}}, "sources[1].values.ts: it is DECIMAL"),
        ({"values": {"kind": "origin"}}, "sources[1].values.kind: line 1, column 1"),
        ({"values": {"amount": "1 +"}}, "sources[1].values.amount: "),
        ({"values": {"amont": "1"}}, "no column 'amont'. Did you mean 'amount'?"),
        (
            {"values": {"amount": "cents", "kind": "amount"}, "fields": {"cents": "INT"}},
            "values.kind",
        ),
        ({"fields": {"cents": "LONGISH"}}, "sources[1].fields"),
        ({"fields": {"user": "STRING"}}, "sources[1].fields.user: the stream has a column"),
        ({"columns": {"usr": "u"}}, "sources[1].columns.usr: the stream has no column"),
        ({"source_column": "where"}, "source_column: the stream has no column 'where'"),
        ({"source_column": "ts"}, "source_column: the column ts is BIGINT"),
    ],
)
def test_what_does_not_fit_the_stream_is_told_with_its_place(
    keys: dict[str, Any], told: str, tmp_path: Path
) -> None:
    (problem,) = fits(tmp_path, **keys)
    assert told in problem


def test_a_source_has_the_columns_of_kafka_for_fields_too(tmp_path: Path) -> None:
    kafka: dict[str, Any] = {
        "format": "kafka",
        "path": None,
        "options": {"kafka.bootstrap.servers": "b:9092", "subscribe": "payments"},
        "columns": {"who": "key"},
        "fields": {"who": "STRING"},
        "values": {"user": "UPPER(who)"},
    }
    assert fits(tmp_path, **kafka) == []


def test_a_check_names_the_source(tmp_path: Path) -> None:
    kept = tmp_path / "rules"
    kept.mkdir()
    (kept / "stream.yaml").write_text(
        "name: logins\nschema: user STRING, ts BIGINT\nevent_time_column: ts\n", encoding="utf-8"
    )
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.json").write_text('{"user": "a"}\n', encoding="utf-8")
    sources = [LOGINS | {"path": str(tmp_path / "in")}, PAYMENTS | {"path": str(tmp_path / "none")}]
    discoverer = {"type": "directory", "path": str(kept)}
    document = several(*sources, discoverer=discoverer, checkpoint=str(tmp_path / "checkpoint"))
    path = written(tmp_path, document)
    report = check_job_file(path, {}, connect=True, timeout_seconds=5)
    told = "\n".join(report.trouble())
    assert "sources[1] (payments): there is no directory" in told
    assert "sources[0].path: 1 of the first 1 events could not be read: it has no ts" in told
    assert ("source payments", "csv") in list(report.summary())


def test_the_schema_has_them() -> None:
    assert {"source", "sources", "source_column"} <= set(job_file_schema()["properties"])


def test_the_example_of_the_page_fits_its_stream(tmp_path: Path) -> None:
    job_text, rules_text = (
        each.text for each in fences("docs/sources.md") if each.heading == "Several sources"
    )
    stream_document, rule = yaml.safe_load_all(rules_text)
    definition = StreamDefinition.model_validate(
        {"version": 1, "allowed_delay_ms": 0, "order_by": [], **stream_document}
    )
    assert list(misfits(loaded(tmp_path, job_text), definition)) == []
    Pattern.from_document(rule["pattern"])
