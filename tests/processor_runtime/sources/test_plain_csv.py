"""Plain CSV read without Spark: the same values as Spark's reader, or a refusal."""

import io
from pathlib import Path
from random import Random
from typing import Any, Final

import polars as pl
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as all of Spark's documentation has it
from pyspark.sql import types as T  # noqa: N812 - as all of Spark's documentation has it

from processor_runtime.job_file.source import Source
from processor_runtime.rows import plain_csv
from processor_runtime.rows.plain_csv import CsvForm
from processor_runtime.rows.plain_form import TIMESTAMP, NotPlain
from processor_runtime.spark.sources.parsing import RAW, reader_options, reader_schema
from processor_runtime.spark.sources.plain_files import plain_form
from processor_runtime.spark.sources.text_values import text_value
from tests.processor_runtime.sources.streams import struct

FORM: Final = CsvForm(
    {
        "number": pl.Int64(),
        "text": pl.String(),
        "real": pl.Float64(),
        "truth": pl.Boolean(),
        "small": pl.Int16(),
        "at": TIMESTAMP,
    }
)
AT: Final = "2026-05-01T10:00:00Z"


def events(text: str | bytes, form: CsvForm = FORM) -> list[tuple[Any, ...]]:
    data = text.encode() if isinstance(text, str) else text
    return [row for frame in form.events(io.BytesIO(data), len(data)) for row in frame.rows()]


def test_plain_lines_are_read() -> None:
    found = events(f"-5,a b,1e3,TRUE,+7,{AT}\n,,,,,{AT}")
    assert [row[:5] for row in found] == [(-5, "a b", 1000.0, True, 7), (None,) * 5]
    assert [row[5].isoformat() for row in found] == ["2026-05-01T10:00:00+00:00"] * 2


def test_quoted_lines_are_read() -> None:
    found = events(f'"-5","a, bé","1e3","TRUE","+7","{AT}"\n1,"",,"",2,"{AT}"\n"1",\\,"",,"",""')
    assert [row[:5] for row in found] == [
        (-5, "a, bé", 1000.0, True, 7),
        (1, None, None, None, 2),
        (1, "\\", None, None, None),
    ]
    assert [str(row[5]) for row in found] == ["2026-05-01 10:00:00+00:00"] * 2 + ["None"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (f'1,"a,1,true,1,{AT}', "not closed"),
        (f'1,"a\n1,b",1,true,1,{AT}\n', "line end in a quoted"),
        (f'1,"a""b",1,true,1,{AT}', "inside"),
        (f'1,"""",1,true,1,{AT}', "inside"),
        (f'1,"a"b,1,true,1,{AT}\n1,"","",true,1,{AT}', "inside"),
        (f'1,a"b",1,true,1,{AT}', "inside"),
        (f'1,"a" ,1,true,1,{AT}', "inside"),
        (f'1, "a",1,true,1,{AT}', "inside"),
        (f'1,"a,"b",c",1,true,1,{AT}', "inside"),
        (f'1,"a\\",b",1,true,1,{AT}', "not closed"),
        (f'1,"a\\\\",1,true,1,{AT}', r"\\"),
        (f'1,"a\\",b",1,true,1,{AT}\n1,"a\\",b",1,true,1,{AT}\n', "inside"),
        (f'" 1",a,1,true,1,{AT}', "space"),
        (f'1,"\ta",1,true,1,{AT}', "space"),
        (f'1,"a", 1,true,1,{AT}', "space"),
        (f'1,"a",1,true,"1,2",{AT}', "type"),
        (f'1,"a,b",1,true,{AT}', "fewer|type"),
        (f'1,"a,b",1,true,1,{AT}\n1,"a,b",1,true,1', "fewer|type"),
        (f'1,"a\rb",1,true,1,{AT}', "carriage"),
        (f'1,"a\0b",1,true,1,{AT}', "NUL"),
        (f'1,"a",1,true,1,{AT}\n\n1,a,1,true,1,{AT}', "fewer"),
        ('1,"a",1,true,1,"2026-05-01 10:00:00"', "instant"),
        ("1,a,1,true,1", "fewer|type"),
        (f"1,a,1,true,1,{AT}\n1,a,1,true", "fewer|type"),
        (f"1,a,1,true,1,{AT},2", "type"),
        (f"1,a,1,true,1,{AT}\n1,a,1,true,1,{AT},2\n1,a,1,true", "type"),
        (f"x,a,1,true,1,{AT}", "type"),
        (f"1.0,a,1,true,1,{AT}", "type"),
        (f"9223372036854775808,a,1,true,1,{AT}", "type"),
        (f"1,a,1,true,40000,{AT}", "type"),
        (f"1,a,nan,true,1,{AT}", "finite"),
        (f"1,a,1e999,true,1,{AT}", "finite"),
        (f" 1,a,1,true,1,{AT}", "space"),
        (f"1,a, 1,true,1,{AT}", "space"),
        (f"1,a,1,true,\t1,{AT}", "space"),
        (f"1,a,1,true,1,{AT}\r\n", "carriage"),
        (f"1,a\0,1,true,1,{AT}", "NUL"),
        (f"1,a,1,true,1,{AT}\n\n1,a,1,true,1,{AT}", "fewer"),
        (f"\n1,a,1,true,1,{AT}", "empty line"),
        (f"\ufeff1,a,1,true,1,{AT}", "byte order"),
        (f"1,a,1,true,1,{AT}\n  \n", "space|fewer"),
        ("1,a,1,true,1,2026-05-01 10:00:00", "instant"),
        ("1,a,1,true,1,2026-02-30T10:00:00Z", "day or time"),
        ("1,a,1,true,1,2026-05-01T24:00:00Z", "instant"),
        ("1,a,1,true,1,2026-05-01T10:00:60Z", "instant"),
        (b"1,\xff,1,true,1," + AT.encode(), "utf-8"),
    ],
)
def test_what_spark_may_read_in_another_way_is_refused(line: str | bytes, reason: str) -> None:
    with pytest.raises(NotPlain, match=reason):
        events(line)


def test_a_file_is_cut_at_the_ends_of_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"{number},{'é' * number},0.5,false,1,{AT}" for number in range(40)]
    wanted = events("\n".join(lines))
    for size in (1, 7, 64, 10_000):
        monkeypatch.setattr(plain_csv, "_CHUNK_BYTES", size)
        monkeypatch.setattr(plain_csv, "_LONGEST_LINE_BYTES", 1_000)
        assert events("\n".join(lines)) == wanted
        assert events("\n".join(lines) + "\n") == wanted


def test_a_line_without_end_is_not_kept_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_csv, "_CHUNK_BYTES", 10)
    monkeypatch.setattr(plain_csv, "_LONGEST_LINE_BYTES", 50)
    with pytest.raises(NotPlain, match="long"):
        events("1" * 200)


def test_what_is_written_behind_the_length_does_not_count() -> None:
    data = f"1,a,1,true,1,{AT}\n2,b,1,true,1,{AT}\n".encode()
    found = [frame.rows() for frame in FORM.events(io.BytesIO(data), data.index(b"\n") + 1)]
    assert [row[0] for rows in found for row in rows] == [1]


@pytest.mark.parametrize("quotes", [1, 2, 3, 255, 256, 257])
def test_many_quoted_values_are_read(quotes: int) -> None:
    form = CsvForm({f"c{number}": pl.String() for number in range(300)}, "|")
    bare = [f"{number}" for number in range(300 - quotes)]
    texts = [f"{number}|," for number in range(quotes)] + bare
    written = [f'"{text}"' if "|" in text else text for text in texts]
    assert events("|".join(written), form) == [tuple(texts)]


def test_the_header_must_name_the_columns() -> None:
    form = CsvForm({"a": pl.Int64(), "b": pl.String()}, ";", "a;b")
    assert events("a;b\n1;x\n", form) == [(1, "x")]
    assert events('"a";"b"\n1;x\n', form) == [(1, "x")]
    assert events("a;b", form) == []
    assert events("", form) == []
    for other in ("b;a\n", "a;b;c\n", "a;B\n", "a;b\r\n", "1;x\n", '"a;b"\n', '"a";b\n'):
        with pytest.raises(NotPlain, match="header"):
            events(other + "1;x\n", form)


SCHEMA: Final = struct(
    number=T.LongType(),
    text=T.StringType(),
    real=T.DoubleType(),
    truth=T.BooleanType(),
    small=T.ShortType(),
    at=T.TimestampType(),
)


@pytest.mark.parametrize(
    ("keys", "is_plain"),
    [
        ({}, True),
        ({"options": {"header": "true", "sep": ";", "maxFilesPerTrigger": "5"}}, True),
        ({"options": {"sep": "\t"}}, False),
        ({"options": {"nullValue": "-"}}, False),
        ({"options": {"ignoreCorruptFiles": "true"}}, False),
        ({"options": {"enforceSchema": "true"}}, False),
        ({"format": "json"}, False),
        ({"path": "s3a://bucket/in"}, False),
        ({"columns": {"text": "what, then"}}, False),
        ({"columns": {"text": 'the "text"'}}, False),
        ({"path": "/missing/part=*/"}, True),
    ],
)
def test_which_sources_are_plain(keys: dict[str, Any], *, is_plain: bool) -> None:
    source = Source.model_validate({"format": "csv", "path": "/missing"} | keys)
    assert (plain_form(source, SCHEMA, "at") is not None) is is_plain


def test_other_types_and_single_columns_are_left_to_spark() -> None:
    source = Source.model_validate({"format": "csv", "path": "/missing"})
    at, number = T.TimestampType(), T.IntegerType()
    assert plain_form(source, struct(at=at, other=number), "at") is not None
    for columns in (
        struct(at=at, other=T.DecimalType(5, 2)),
        struct(at=at, other=T.StringType("UNICODE_CI")),
        struct(at=T.DateType(), other=number),
        struct(at=number, other=number),
        struct(at=at),
    ):
        assert plain_form(source, columns, "at") is None


def test_files_that_are_there_are_looked_into(tmp_path: Path) -> None:
    source = Source.model_validate({"format": "csv", "path": str(tmp_path)})
    (tmp_path / "a.csv").write_text(f"1,a,1,true,1,{AT}\n1,half")
    assert plain_form(source, SCHEMA, "at") is not None
    (tmp_path / "b.csv").write_text(f'1,"a""b",1,true,1,{AT}\n')
    assert plain_form(source, SCHEMA, "at") is None


_ODD: Final = [
    *("", " ", "0", "-0", "+5", "--5", "5.0", "007", "1e3", "1E+3", ".5", "5.", "1_000", "0x1F"),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775808", "32768", "1,5"),
    *("nan", "NaN", "Inf", "-Infinity", "1d", "1f", "1e-400", "4.9E-324"),
    *("2.2250738585072011e-308", "\\", "a\\", '"', 'a"b', '"a"', "'", "#", "#a", "é"),
    *("\u0661", "\u00a05", "5\u00a0", "\u2028"),
    *("0.1", "123456789012345678901234567890.5", "true", "False", "TRUE", "t", "1", "yes", "null"),
    *(AT, "2026-05-01T10:00:00.123Z", "2026-05-01T10:00:00.123456Z", "2026-05-01T10:00:60Z"),
    *("2026-02-29T10:00:00Z", "2026-05-01", "2026-05-01T10:00:00+02:00", "1969-12-31T23:59:59Z"),
    *("2026-05-01T10:00:00.12Z", "2099-12-31T23:59:59.999999Z", "1970-01-01T00:00:00Z"),
]


_TEXT: Final = "some text"
_QUOTED: Final = [
    *('""', '" "', '"a, b"', '",,"', '"a""b"', '""""', '"a"b', '"a" ', ' "a"', 'a"b"', '"', '"a'),
    *('"\\"', '"a\\b"', '"a\\\\"', '"a\\"b"', '"a,"b"', '"a\nb"', '"a\rb"', '\\"a"', '"\u2028"'),
    *('"5 "', '" a"', '"\ta"', '"a",', ',"a"', '"' + "long, é " * 300 + '"', '"#"', '""a""'),
]


def _value(random: Random, usual: str, quoting: float) -> str:
    value = usual if random.random() < 0.92 else random.choice(_ODD)
    if random.random() >= quoting:
        return value
    # In a column of texts all odd ones may be plain; elsewhere most are not of the type.
    odd = _QUOTED if usual == _TEXT else ['""', '"5"', '" 5"', '"5 "', '"\t-5"', '"5" ', '"1e3"']
    return random.choice(odd) if random.random() < 0.4 else f'"{value}"'


def _file(random: Random) -> str:
    usual = ["12", _TEXT, "-2.5", "true", "3", AT]
    lines = []
    quoting = random.choice([0.0, 0.1, 0.4])
    for _ in range(random.randrange(1, 4)):
        values = [_value(random, each, quoting) for each in usual]
        if random.random() < 0.05:
            values = values[: random.randrange(7)]
        lines.append(",".join(values))
    return "\n".join(lines) + random.choice(["", "\n", "\n", "\n", "\r\n", "\n\n"])


_HEADER: Final = ",".join(SCHEMA.names)


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.parametrize(
    "header",
    [
        None,
        pytest.param(_HEADER, marks=pytest.mark.nightly),
        pytest.param('"' + _HEADER.replace(",", '","') + '"', marks=pytest.mark.nightly),
    ],
)
def test_what_is_read_is_what_spark_reads(
    spark: SparkSession, tmp_path: Path, header: str | None
) -> None:
    """Of random files with odd values, those that are taken have the same events in Spark."""
    random = Random(20_261_125)  # noqa: S311 - no secret
    form = FORM if header is None else CsvForm(FORM.columns, header=_HEADER)
    options = {} if header is None else {"header": "true"}
    plain: dict[str, list[tuple[Any, ...]]] = {}
    quoted = 0
    for number in range(3_000):
        text = _file(random) if header is None else f"{header}\n{_file(random)}"
        try:
            plain[f"{number}.csv"] = events(text, form)
        except NotPlain:
            continue
        quoted += '"' in text.removeprefix(header or "")
        (tmp_path / f"{number}.csv").write_text(text, encoding="utf-8", newline="")
    source = Source.model_validate({"format": "csv", "path": str(tmp_path), "options": options})
    values = [text_value(F.col(each.name), each.dataType, {}).alias(each.name) for each in SCHEMA]
    rows = (
        spark.read.format("csv")
        .options(**reader_options(source))
        .schema(reader_schema(source, SCHEMA))
        .load(str(tmp_path))
        .select(F.col("_metadata.file_name").alias("file"), RAW, *values)
        .toArrow()
    )
    found = pl.DataFrame(pl.from_arrow(rows))
    assert found.get_column(RAW).drop_nulls().to_list() == []  # nothing is malformed
    by_file = {
        str(file): part.drop("file", RAW).rows()
        for (file,), part in found.group_by("file", maintain_order=True)
    }
    assert len(plain) > 300
    assert quoted > 100
    assert {name: rows for name, rows in plain.items() if rows} == by_file
