"""CSV: what a line is, a value and a row that cannot be read, however a file is cut into blocks."""

import csv
import io
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final

import cloudpickle
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cep.events.values import text_reader
from cep.expression import Schema
from processor_runtime.sources import csv_lines, lines
from processor_runtime.sources.column_values import UnknownType
from processor_runtime.sources.csv_lines import CsvLines
from processor_runtime.sources.directories import directory_texts
from processor_runtime.sources.time_patterns import TimePatterns
from processor_runtime.sources.values import Malformed, UnreadableFile

INSTANT: Final = pa.timestamp("us", "UTC")
COLUMNS: Final = pa.schema(
    [
        ("number", pa.int64()),
        ("text", pa.string()),
        ("real", pa.float64()),
        ("truth", pa.bool_()),
        ("small", pa.int16()),
        ("at", INSTANT),
    ]
)
AT: Final = "2026-05-01T10:00:00Z"
NOON: Final = datetime(2026, 5, 1, 10, tzinfo=UTC)
COUNT: Final = "it has not as many values as there are columns"
OPEN: Final = "a value in quotes does not end with a quote, and with it the value"
Rows = list[tuple[Any, ...]]
Refused = dict[int, Malformed]


def read(
    text: str | bytes,
    reader: CsvLines | None = None,
    directories: Mapping[str, str | None] | None = None,
) -> tuple[Rows, Refused]:
    """Return all rows, and by place those that are malformed."""
    data = text.encode() if isinstance(text, str) else text
    rows: Rows = []
    malformed: Refused = {}
    parts = (reader or CsvLines(COLUMNS)).read(io.BytesIO(data), len(data), directories or {})
    for part in parts:
        malformed |= {len(rows) + row: why for row, why in part.malformed.items()}
        rows += part.columns.rows()
    return rows, malformed


def shown(values: Iterable[Any]) -> list[str]:
    """Return values as texts, in which NaN is equal to itself and UTC has one name."""

    def text(value: Any) -> str:
        if isinstance(value, datetime) and value.tzinfo:
            return repr(value.astimezone(UTC))
        return repr(value + 0 if isinstance(value, Decimal) else value)  # -0 is 0

    return list(map(text, values))


def reasons(text: str | bytes, reader: CsvLines | None = None) -> dict[int, str]:
    return {row: why.reason for row, why in read(text, reader)[1].items()}


def test_plain_lines_are_read() -> None:
    rows, malformed = read(f"-5,a b,1e3,TRUE,+7,{AT}\n,,,,,{AT}")
    assert rows == [(-5, "a b", 1000.0, True, 7, NOON), (*[None] * 5, NOON)]
    assert not malformed


def test_quoted_lines_are_read() -> None:
    found = read(
        f'"-5","a, bé","1e3","TRUE","+7","{AT}"\n1,"",,"",2,"{AT}"\n"1",\\,"",,"",""\n'
        f'1,"a""b",,,,\n1,"""",,,,\n1,"a\\",,,,\n1,"""a, ""b""",,,,\n'
    )
    assert found == (
        [
            (-5, "a, bé", 1000.0, True, 7, NOON),
            (1, None, None, None, 2, NOON),
            (1, "\\", None, None, None, None),
            *((1, text, None, None, None, None) for text in ('a"b', '"', "a\\", '"a, "b"')),
        ],
        {},
    )


@pytest.mark.parametrize(
    ("line", "values"),
    [
        (f'1,a"b",1,true,1,{AT}', (1, 'a"b"', 1.0, True, 1, NOON)),
        (f'1, "a",1,true,1,{AT}', (1, ' "a"', 1.0, True, 1, NOON)),
        (f'1," a", 1 ,true,1,{AT}', (1, " a", 1.0, True, 1, NOON)),
        (f"1,\ta, 1,true,1, {AT} ", (1, "\ta", 1.0, True, 1, NOON)),
        (f"1,a,nan,true,1,{AT}", (1, "a", "nan", True, 1, NOON)),
        (f"1,a,1e999,true,1,{AT}", (1, "a", float("inf"), True, 1, NOON)),
        (f"1,a\rb,1,true,1,{AT}\r\n", (1, "a\rb", 1.0, True, 1, NOON)),
        (f"\ufeff1,a,1,true,1,{AT}", (1, "a", 1.0, True, 1, NOON)),
        (f"\n  \n1,a,1,true,1,{AT}\n\n \t\n", (1, "a", 1.0, True, 1, NOON)),
        (b"1,\xffa,1,true,1," + AT.encode(), (1, "\ufffda", 1.0, True, 1, NOON)),
        ("1,a,1,true,1,2026-05-01 12:00:00+02", (1, "a", 1.0, True, 1, NOON)),
        ("1,a,1,true,1,1777629600000", (1, "a", 1.0, True, 1, NOON)),
        ("1,a,1,true,1,2026-05-01T10:00:00.5Z", (1, "a", 1.0, True, 1, "2026-05-01 10:00:00.5")),
    ],
)
def test_odd_lines_are_read(line: str | bytes, values: tuple[Any, ...]) -> None:
    (row,), malformed = read(line)
    assert not malformed
    for found, wanted in zip(row, values, strict=True):
        assert found == wanted or str(found).startswith(str(wanted))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (f'1,"a,1,true,1,{AT}', OPEN),
        (f'1,"a"b,1,true,1,{AT}', OPEN),
        (f'1,"a" ,1,true,1,{AT}', OPEN),
        (f'1,"a,"b",c",1,true,1,{AT}', OPEN),
        (f'1,"a,b",1,true,{AT}', COUNT),
        ("1,a,1,true,1", COUNT),
        (f"1,a,1,true,1,{AT},2", COUNT),
        (f"1,a,1,true,1,{AT},", COUNT),
        (f"1,a\0,1,true,1,{AT}", "it has a character NUL"),
        (f"x,a,1,true,1,{AT}", "number"),
        (f"1.0,a,1,true,1,{AT}", "number"),
        (f"9223372036854775808,a,1,true,1,{AT}", "number"),
        (f"1,a,1,true,40000,{AT}", "small"),
        (f" 1,a,1,true,1,{AT}", "number"),
        (f"1,a,1,true,\t1,{AT}", "small"),
        (f'" 1",a,1,true,1,{AT}', "number"),
        (f'1,"a",1,true,"1,2",{AT}', "small"),
        (f"1,a,1x, true,1,{AT}", "real, truth"),
        ("1,a,1,true,1,2026-02-30T10:00:00Z", "at"),
        ("1,a,1,true,1,2026-05-01T24:00:00Z", "at"),
        ("x,a,1,true,1,noon", "number, at"),
    ],
)
def test_a_line_that_is_no_row_costs_itself(line: str, reason: str) -> None:
    good = f'1,"a",1,true,1,{AT}'
    rows, malformed = read(f"{good}\n{line}\n{good}\n")
    assert rows[0] == rows[2] == (1, "a", 1.0, True, 1, NOON)
    (row,) = malformed
    assert row == 1
    assert malformed[1].reason.removeprefix("does not fit the stream's schema: ") == reason
    assert malformed[1].raw == line.encode()


def test_a_line_end_ends_a_row_in_quotes_too() -> None:
    text = f'1,"a\nb",2,true,1,{AT}\n1,"a,1,true,1,{AT}\n1,a,1,true,1,{AT}\n'
    assert reasons(text) == {0: OPEN, 1: COUNT, 2: OPEN}


def test_one_bad_line_among_many_is_found_wherever_it_is() -> None:
    good = [f"{number},a,1,true,1,{AT}" for number in range(2_000)]
    for bad, reason in (("x", COUNT), ('1,"a', OPEN), (f"x,a,1,true,1,{AT}", "schema: number")):
        for place in (0, 700, 1_999):
            written = [*good[:place], bad, *good[place:]]
            rows, malformed = read("\n".join(written))
            assert [row[0] for row in rows] == [*range(place), None, *range(place, 2_000)]
            assert list(malformed) == [place]
            assert malformed[place].reason.endswith(reason)
            assert malformed[place].raw == bad.encode()


def test_a_file_is_cut_at_the_ends_of_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "\n".join(f'{number},"{"é" * number}",0.5,false,1,{AT}' for number in range(40))
    wanted = read(text)
    monkeypatch.setattr(csv_lines, "_FEW_LINES", 3)
    for size in (1, 7, 64, 10_000):
        monkeypatch.setattr(lines, "_BLOCK_BYTES", size)
        for written in (text, text + "\n", text.replace("\n", "\r\n") + "\r\n"):
            assert read(written) == wanted


def test_a_line_without_end_is_not_kept_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "_BLOCK_BYTES", 10)
    monkeypatch.setattr(lines, "_LONGEST_LINE_BYTES", 50)
    monkeypatch.setattr(lines, "_BYTES_OF_LONG_LINE", 20)
    rows, malformed = read(f"{'1' * 200}\n1,a,1,true,1,{AT}\n")
    assert malformed == {0: Malformed("it has a character NUL", b"1" * 20 + b"\0")}
    assert rows[1][0] == 1


def test_what_is_written_behind_the_length_does_not_count() -> None:
    data = f"1,a,1,true,1,{AT}\n2,b,1,true,1,{AT}\n".encode()
    parts = CsvLines(COLUMNS).read(io.BytesIO(data), data.index(b"\n") + 1)
    assert [row[0] for part in parts for row in part.columns.rows()] == [1]


@pytest.mark.parametrize("quotes", [1, 2, 3, 255, 256, 257])
def test_many_quoted_values_are_read(quotes: int) -> None:
    columns = pa.schema([(f"c{number}", pa.string()) for number in range(300)])
    bare = [f"{number}" for number in range(300 - quotes)]
    texts = [f"{number}|," for number in range(quotes)] + bare
    written = [f'"{text}"' if "|" in text else text for text in texts]
    assert read("|".join(written), CsvLines(columns, separator="|")) == ([tuple(texts)], {})


def test_one_column_is_read_and_its_empty_lines_are_none() -> None:
    columns = pa.schema([("text", pa.string())])
    for text in ("a\n\nb\n", "\na\nb", "a\nb\n \n"):
        assert read(text, CsvLines(columns)) == ([("a",), ("b",)], {})
    assert read('""\na\n', CsvLines(columns)) == ([(None,), ("a",)], {})


def test_tabs_and_other_signs_are_separators() -> None:
    columns = pa.schema([("a", pa.int64()), ("b", pa.string()), ("c", pa.int64())])
    for sign in ("\t", ";", "|", " ", "\x01", "^"):
        text = "1,x,2\n,,\n3,,\n".replace(",", sign)
        rows = [(1, "x", 2), (None,) * 3, (3, None, None)]
        assert read(text, CsvLines(columns, separator=sign)) == (rows, {})
    assert reasons("1\tx\t 2\n", CsvLines(columns, separator="\t")) == {
        0: "does not fit the stream's schema: c"
    }


def test_a_header_names_the_columns_in_any_order_and_others_beside() -> None:
    columns = pa.schema([("a", pa.int64()), ("b", pa.string())])
    reader = CsvLines(columns, ("a", "Who"), ";", has_header=True)
    for header in ("a;Who", "A;who", '"a";"Who"', "\ufeffa;Who\r", "\n\na;Who"):
        assert read(f"{header}\n1;x\n", reader) == ([(1, "x")], {})
    assert read("Who;more;a\nx;5;1\ny;;2\n", reader) == ([(1, "x"), (2, "y")], {})
    assert read("a;Who", reader) == read("", reader) == ([], {})
    assert reasons("more;Who;a\n1;x\n1;x;y\n", reader) == {
        0: COUNT,
        1: "does not fit the stream's schema: a",
    }


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ("a;b", r"no column 'who'\. .*source\.columns: \{b: …\}"),
        ("a;whose", "Did you mean 'whose'"),
        ("a;who;WHO", "names the column 'who' 2 times"),
        ('a;"who', "header cannot be read"),
        ("1;x", "no column 'a'"),
    ],
)
def test_another_header_ends_the_job(header: str, reason: str) -> None:
    columns = pa.schema([("a", pa.int64()), ("b", pa.string())])
    with pytest.raises(UnreadableFile, match=reason):
        read(f"{header}\n1;x\n", CsvLines(columns, ("a", "who"), ";", has_header=True))


def test_a_directory_gives_a_column_that_a_header_lacks() -> None:
    columns = pa.schema([("a", pa.int64()), ("day", pa.date32()), ("at", INSTANT)])
    reader = CsvLines(columns, has_header=True)
    given = directory_texts("file:/in/Day=2026-05-01/at=2026-05-01T10%3A00%3A00Z/a=9/x.csv")
    assert read("a\n1\n2\n", reader, given)[0] == [
        (number, date(2026, 5, 1), NOON) for number in (1, 2)
    ]
    null = directory_texts("file:/in/day=__HIVE_DEFAULT_PARTITION__/x.csv") | {"at": "1000"}
    assert read("a\n1\n", reader, null)[0][0][1] is None
    with pytest.raises(UnreadableFile, match="gives 'May', which does not fit the column 'day'"):
        read("a\n1\n", reader, given | {"day": "May"})


TYPES: Final[dict[str, pa.DataType]] = {
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "BOOLEAN": pa.bool_(),
    "STRING": pa.string(),
    "DECIMAL(10,2)": pa.decimal128(10, 2),
    "DECIMAL(3,3)": pa.decimal128(3, 3),
    "DECIMAL(20,0)": pa.decimal128(20, 0),
    "DATE": pa.date32(),
    "TIMESTAMP": INSTANT,
    "TIMESTAMP_NTZ": pa.timestamp("us"),
}
ODD: Final = [
    *("", " ", "0", "-0", "+5", "--5", "5.0", "007", "1e3", "1E+3", "1E3", ".5", "-.5", "5.", "."),
    *("1_000", "0x1F", "9223372036854775807", "9223372036854775808", "-9223372036854775808"),
    *(
        "127",
        "128",
        "32768",
        "2147483648",
        "1,5",
        "1.555",
        "1.545",
        "-1.005",
        "12345678.91",
        "0.001",
    ),
    *("123456789.00", "0.1234567", "16777217", "3.4028236e38", "12345678901234567890"),
    *("nan", "NaN", "-nan", "Inf", "-Infinity", "infinit", "1d", "1f", "1e-400", "4.9E-324", "1e"),
    *("2.2250738585072011e-308", "123456789012345678901234567890.5", "5 ", " 5", "\t5", "\x0b5"),
    *("\\", 'a"b', "é", "\u0661", "\u00a05", "5\u00a0", "\u2028", "½", "0000000000000000001"),
    *("true", "False", "TRUE", " true", "t", "yes", "fal\u017fe", "null", AT, f" {AT}"),
    *("2026-05-01T10:00:00.123Z", "2026-05-01T10:00:00.123456Z", "2026-05-01T10:00:00.12Z"),
    *("2026-05-01T10:00:60Z", "2026-05-01T24:00:00Z", "2026-02-29T10:00:00Z", "2026-05-01"),
    *("2026-02-30", "1582-10-10", "0001-01-01", "2026-5-1", "20260501", "2026-05-01 10:00"),
    *("2026-05-01T10:00:00+02:00", "2026-05-01T10:00:00.1234567Z", "1969-12-31T23:59:59Z"),
    *("1777629600000", "-1", "+1000", "253402300799999", "2026", "12:00"),
]


@pytest.mark.parametrize("ddl", TYPES)
def test_a_value_is_what_archives_make_of_it(ddl: str) -> None:
    """One at a time, and all at once with others."""
    columns = pa.schema([("v", TYPES[ddl]), ("other", pa.string())])
    kind = dict(Schema.from_ddl(f"v {ddl}").columns)["v"]
    wanted: list[Any] = []
    for text in ODD:
        try:
            wanted.append(text_reader(kind)(text or None))
        except ValueError:
            wanted.append("refused")
    written = [f'"{text.replace(chr(34), chr(34) * 2)}",x\n' for text in ODD]
    alone = [read(line, CsvLines(columns)) for line in written]
    together = read("".join(written), CsvLines(columns))
    found = ["refused" if malformed else rows[0][0] for rows, malformed in alone]
    assert dict(zip(ODD, shown(found), strict=True)) == dict(zip(ODD, shown(wanted), strict=True))
    assert shown(row[0] for row in together[0]) == shown(rows[0][0] for rows, _ in alone)
    assert list(together[1]) == [place for place, each in enumerate(alone) if each[1]]


def test_a_time_after_all_years_is_left_to_the_check_of_times() -> None:
    columns = pa.schema([("at", INSTANT)])
    for text in ("999999999999999", "9223372036854775"):
        reader = cloudpickle.loads(cloudpickle.dumps(CsvLines(columns)))  # as it comes to workers
        (part,) = reader.read(io.BytesIO(text.encode()), len(text))
        assert not part.malformed
        assert part.columns.to_series().cast(pl.Int64).item() == int(text) * 1_000


def test_times_of_many_forms_are_read_beside_each_other() -> None:
    columns = pa.schema([("at", INSTANT), ("here", pa.timestamp("us"))])
    forms = ["2026-05-01T10:00:00Z", "2026-05-01 10:00:00", "2026-05-01T11:00:00.000+01:00"]
    forms += ["2026-05-01T10:00:00.000Z", "2026-05-01 09:00:00.0000-0100", "1777629600000"]
    forms += ["2026-05-01T10:00Z", "2026-05-01 10:00:00 UTC", " 2026-05-01T10:00:00.000000 "]
    for first in forms:
        written = [first, *forms, "2026-02-30T10:00:00Z", "", first]
        rows, malformed = read("".join(f"{each},{each}\n" for each in written), CsvLines(columns))
        assert list(malformed) == [len(forms) + 1]
        rows = [row for row in rows if row != (None, None)]
        assert rows == [(NOON, NOON.replace(tzinfo=None))] * (len(forms) + 2)


def test_times_are_read_by_patterns() -> None:
    columns = pa.schema(
        [("at", INSTANT), ("here", pa.timestamp("us")), ("day", pa.date32()), ("raw", pa.binary())]
    )
    times = TimePatterns("dd.MM.yyyy HH:mm", "yyyyMMddHHmm", "dd.MM.yyyy")
    (row, *_), malformed = read(
        "01.05.2026 10:00,202605011000,01.05.2026,é\n1000,1000,2026-05-01,\n",
        CsvLines(columns, times=times),
    )
    assert row == (NOON, NOON.replace(tzinfo=None), date(2026, 5, 1), "é".encode())
    assert malformed[1].reason == "does not fit the stream's schema: at, here, day"


def test_values_with_parts_are_not_in_csv() -> None:
    for data_type in (pa.list_(pa.int64()), pa.struct([("a", pa.int64())]), pa.duration("us")):
        with pytest.raises(UnknownType, match=r"the column v is .*not read from text"):
            CsvLines(pa.schema([("v", data_type)]))


def test_columns_have_the_types_of_the_stream() -> None:
    columns = pa.schema(list(TYPES.items()))
    wanted = pl.DataFrame(pl.from_arrow(columns.empty_table())).schema
    plain = "1,1,1,1,1,1,true,x,1.5,.5,1,2026-05-01,2026-05-01T10:00:00Z,2026-05-01T10:00:00Z"
    for text in (plain, plain.replace(",x,", ',a"b,'), f"{plain},"):
        (part,) = CsvLines(columns).read(io.BytesIO(text.encode()), len(text))
        assert part.columns.schema == wanted
    assert part.malformed[0].reason == COUNT
    assert next(CsvLines(columns).read(io.BytesIO(plain.encode()), 999)).columns.row(0)[8:10] == (
        Decimal("1.50"),
        Decimal("0.500"),
    )


_VALUES: Final = st.one_of(
    st.sampled_from([*ODD, "12", "some text", "-2.5", "true", "3", AT]),
    st.text(st.sampled_from('a1 ,"\r\t.é-'), max_size=6),
)
_LINES: Final = st.one_of(
    st.lists(_VALUES, min_size=5, max_size=7).map(",".join),
    st.lists(_VALUES, min_size=6, max_size=6).map(",".join),
    st.lists(_VALUES, min_size=6, max_size=6).map(
        lambda values: ",".join('"' + each.replace('"', '""') + '"' for each in values)
    ),
    st.just(f"1,a,1.5,true,3,{AT}"),
)
_KINDS: Final = [
    kind
    for _, kind in Schema.from_ddl(
        "number BIGINT, text STRING, real DOUBLE, truth BOOLEAN, small SMALLINT, at TIMESTAMP"
    ).columns
]


def of_python(line: str) -> tuple[Any, ...] | None:
    """Return a row as Python's own reader has its texts, and archives their values."""
    if "\r" in line:  # a line end to that reader: in quotes it is none
        line = line.replace("\r", "\x1d")
    try:
        texts = next(csv.reader([line], strict=True))
    except csv.Error:
        return None
    if len(texts) != len(_KINDS):
        return None
    try:
        return tuple(
            text_reader(kind)(text.replace("\x1d", "\r") or None)
            for text, kind in zip(texts, _KINDS, strict=True)
        )
    except ValueError:
        return None


@settings(max_examples=150, deadline=None)
@given(written=st.lists(_LINES, max_size=12), size=st.integers(1, 200), few=st.integers(1, 8))
def test_lines_are_as_python_reads_each(written: list[str], size: int, few: int) -> None:
    kept = [line for line in written if line.strip(" \t\r\v\f")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "_BLOCK_BYTES", size)
        patch.setattr(csv_lines, "_FEW_LINES", few)
        rows, malformed = read("".join(f"{line}\r\n" for line in written))
    found = [None if place in malformed else row for place, row in enumerate(rows)]
    assert [row and shown(row) for row in found] == [
        row and shown(row) for row in map(of_python, kept)
    ]
    assert all(malformed[place].raw == kept[place].encode() for place in malformed)
