"""Where CSV is read in another way than by Spark's reader: in these places, and in no others."""

import io
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as all of Spark's documentation has it

from processor_runtime.job_file.source import Source
from processor_runtime.sources.csv_lines import CsvLines
from processor_runtime.spark.sources import SourceError
from processor_runtime.spark.sources.columns import arrow_schema, stream_schema
from tests.processor_runtime.sources.streams import opened, stream

DDL: Final = (
    "number BIGINT, text STRING, real DOUBLE, truth BOOLEAN, exact DECIMAL(5,1), at TIMESTAMP"
)
AT: Final = "2026-05-01T10:00:00Z"
END: Final = f"1.5,true,2.5,{AT}"
SAME: Final = [
    f"1,a,{END}",
    f'"1","a","1.5","true","2.5","{AT}"',
    ",,,,,",
    '"","","","","",""',
    f'1,"a, b",{END}',
    f'1,a"b,{END}',
    f'1, "a" ,{END}',
    f"1, a ,{END}",
    f"\ufeff1,a,{END}\r\n",
    f"1,a,{END}\n\n  \n2,b,{END}\n",
    f"1,é\u2028,{END}",
    f"x,a,{END}",
    f"1.0,a,{END}",
    f" 1,a,{END}",
    f"9223372036854775808,a,{END}",
    f'1,"a,{END}',
    f"1,a,{END},2",
    "1,a,1.5",
    "1",
    f'1,"a\nb",{END}',
    f"1,a, 1e3 ,TRUE,-2.55,{AT}",
    f"1,a,NaN,yes,2.5,{AT}",
    f"1,a,five,true,2.5,{AT}",
    "1,a,1.5,true,2.5,2026-05-01T12:00:00.123456+02:00",
    "1,a,1.5,true,2.5,2026-02-30T10:00:00Z",
    f"1,a,1.5,true,99999.5,{AT}",
]
OTHER: Final = {
    "a doubled quote in quotes is one quote": f'1,"a ""b""",{END}',
    "a backslash is a character": f'1,"a\\\\b",{END}',
    "a backslash before a quote does not take it out of its place": f'1,"a\\",{END}',
    "what follows a closing quote makes the row malformed": f'1,"a"b,{END}',
    "a carriage return alone ends no line": f"1,a\rb,{END}",
    "a row with a NUL is malformed": f"1,a\0b,{END}",
    "a number has no letter of Java at its end": f"1,a,1.5d,true,2.5,{AT}",
    "words for what is no number may be small": f"1,a,inf,true,2.5,{AT}",
    "a comma in a decimal is no sign of thousands": f'1,a,1.5,true,"1,000",{AT}',
    "a whole number in a column of times is milliseconds": "1,a,1.5,true,2.5,1777629600000",
    "a time has a day": "1,a,1.5,true,2.5,12:00",
}


def of_percept(written: bytes) -> list[Any]:
    parts = CsvLines(arrow_schema(stream_schema(stream(DDL, "at")))).read
    return [
        "malformed" if place in part.malformed else shown(row)
        for part in parts(io.BytesIO(written), len(written))
        for place, row in enumerate(part.columns.rows())
    ]


def shown(row: tuple[Any, ...]) -> str:
    *others, at = row
    at = at.replace(tzinfo=UTC) if isinstance(at, datetime) else at
    return repr((*others, at))


def of_spark(spark: SparkSession, folder: Path, texts: list[str]) -> list[list[Any]]:
    for number, text in enumerate(texts):
        (folder / f"{number}.csv").write_bytes(text.encode())
    found: list[list[Any]] = [[] for _ in texts]
    columns = [F.col(name) for name in ("number", "text", "real", "truth", "exact")]
    rows = (
        spark.read.schema(f"{DDL}, raw STRING")
        .options(mode="PERMISSIVE", columnNameOfCorruptRecord="raw")
        .csv(str(folder))
        .select("_metadata.file_name", "raw", *columns, F.unix_micros("at"))
        .collect()
    )
    for name, raw, *values, micros in rows:
        at = None if micros is None else datetime.fromtimestamp(micros / 1e6, UTC)
        row = "malformed" if raw is not None else repr((*values, at))
        found[int(name.partition(".")[0])].append(row)
    return found


@pytest.mark.spark
@pytest.mark.long
def test_all_other_lines_are_read_as_spark_reads_them(spark: SparkSession, tmp_path: Path) -> None:
    texts = [*SAME, *OTHER.values()]
    ours = dict(zip(texts, (of_percept(text.encode()) for text in texts), strict=True))
    theirs = dict(zip(texts, of_spark(spark, tmp_path, texts), strict=True))
    assert {text: ours[text] for text in SAME} == {text: theirs[text] for text in SAME}
    assert [name for name, text in OTHER.items() if ours[text] == theirs[text]] == []


@pytest.mark.spark
def test_a_column_that_is_not_in_csv_is_refused_at_the_start(
    spark: SparkSession, tmp_path: Path
) -> None:
    source = Source.model_validate({"format": "csv", "path": str(tmp_path)})
    with pytest.raises(SourceError, match=r"csv.*the column tags is list.*written as STRING"):
        opened(spark, source, stream("tags ARRAY<STRING>, ts BIGINT"))
