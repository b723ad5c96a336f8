"""Keys and events as JSON texts: many are what each is alone; and texts put together of pieces."""

from datetime import UTC, date
from typing import Any, Final

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.compiling import is_available
from processor_runtime.output import arrow_texts
from processor_runtime.output.arrow_texts import TooLarge, join_pieces, series_texts, texts
from processor_runtime.output.events.event_table import value_texts
from processor_runtime.rows.json_text import plain_json_text

pytestmark = pytest.mark.skipif(not is_available(), reason="numba is not installed")

COLUMNS: Final[dict[str, tuple[Any, st.SearchStrategy[Any]]]] = {
    "whole": (pl.Int64, st.integers(-(2**63), 2**63 - 1)),
    "small": (pl.Int16, st.integers(-(2**15), 2**15 - 1)),
    "real": (pl.Float64, st.floats() | st.sampled_from([0.1, -0.0, 1e300, 5e-324])),
    "single": (pl.Float32, st.floats(width=32)),
    "truth": (pl.Boolean, st.booleans()),
    "text": (pl.String, st.text(st.characters(codec="utf-8"), max_size=5)),
    'a "plain" text': (pl.String, st.text("abc é漢😀/\x7f\u2028", max_size=5)),
    "sum": (pl.Decimal(20, 3), st.decimals(-(10**9), 10**9, places=3)),
    "day": (pl.Date, st.dates(date(1, 1, 1), date(9999, 12, 31))),
    "at": (pl.Datetime("us", "UTC"), st.datetimes(timezones=st.just(UTC))),
    "bytes": (pl.Binary, st.binary(max_size=5)),
    "many": (pl.List(pl.Int64), st.lists(st.integers(0, 9), max_size=3)),
    "parts": (pl.Struct({"a": pl.String}), st.fixed_dictionaries({"a": st.text("ab\n")})),
    "nothing": (pl.Null, st.none()),
}


@given(st.data())
def test_they_are_the_same_as_one_by_one(data: st.DataObject) -> None:
    names = data.draw(st.permutations(sorted(COLUMNS)))[: data.draw(st.integers(1, 5))]
    schema = {name: COLUMNS[name][0] for name in names}
    row = st.tuples(*(st.none() | COLUMNS[name][1] for name in names))
    rows = data.draw(st.lists(row, max_size=6))
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    wanted = [plain_json_text(each) for each in frame.to_dicts()]
    assert compiled_texts(frame) == wanted


def test_every_escaped_sign_is_escaped() -> None:
    chars = [chr(number) for number in range(0x180)]
    frame = pl.DataFrame({"char": chars, "other": ["a"] * len(chars)})
    assert compiled_texts(frame) == [plain_json_text(each) for each in frame.to_dicts()]
    for char in chars:  # alone: another could let the column be written value by value
        alone = pl.DataFrame({"char": [char]})
        assert compiled_texts(alone) == [plain_json_text({"char": char})]


def test_there_may_be_no_columns_and_no_rows() -> None:
    for frame, wanted in (
        (pl.DataFrame({"a": [1, None]}), ['{"a":1}', '{"a":null}']),
        (pl.DataFrame(schema={"a": pl.Int64}), []),
        (pl.DataFrame(), []),
    ):
        assert compiled_texts(frame) == wanted


def test_compiled_code_writes_parts_of_larger_columns() -> None:
    numbers = [-(2**63), -(10**18), -1, 0, 9, 10, 99, 100, 2**63 - 1]
    frame = pl.DataFrame(
        {
            "number": numbers,
            "text": ["x" * size for size in (0, 1, 2, 3, 4, 7, 8, 16, 40)],
            "real": [None, *map(float, range(8))],
            "large": pl.Series([None, 2**64 - 1, *range(7)], dtype=pl.UInt64),
        }
    )
    for part in (frame[2:7], pl.concat([frame[5:], frame[:3]]), frame[[8, 0, 4]]):
        assert compiled_texts(part) == [plain_json_text(each) for each in part.to_dicts()]
    assert compiled_texts(frame.select("number")) == [f'{{"number":{n}}}' for n in numbers]
    assert compiled_texts(frame.select("text").clear()) == []
    from processor_runtime.output.compiled.json_rows import has_escapes, objects_of  # noqa: PLC0415 - an extra

    functions: list[Any] = [has_escapes, objects_of]
    assert [len(function.signatures) for function in functions] == [1, 1]


def test_what_is_too_large_for_a_column_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    from processor_runtime.output.events import event_objects  # noqa: PLC0415 - an extra

    monkeypatch.setattr(event_objects, "MOST_BYTES", 1_000)
    assert len(event_objects.event_objects(pl.DataFrame({"a": [1] * 142}), no_texts)) == 142
    for rows in (143, 200):  # less than 1,000 bytes stand between the values of 143
        with pytest.raises(TooLarge):
            event_objects.event_objects(pl.DataFrame({"a": [1] * rows}), no_texts)


def no_texts(column: str) -> Any:
    """Fail, as numbers are written by compiled code itself."""
    raise AssertionError(column)


def compiled_texts(frame: pl.DataFrame) -> list[str]:
    """Return rows as compiled code writes them."""
    from processor_runtime.output.events.event_objects import event_objects  # noqa: PLC0415 - an extra

    found: list[str] = event_objects(
        frame, lambda name: series_texts(value_texts(frame.get_column(name)))
    ).to_pylist()
    return found


PIECES = [text * times for text in ("", "a", "é", "{}", "\x00") for times in (0, 1, 2, 3, 5, 9, 40)]


@given(st.lists(st.lists(st.integers(0, len(PIECES) - 1), max_size=6), max_size=12), st.data())
def test_texts_are_their_pieces_one_after_the_other(
    wanted: list[list[int]], data: st.DataObject
) -> None:
    first = data.draw(st.integers(0, 3))
    # A part of a larger column begins somewhere in its bytes.
    table = texts([*["before"] * first, *PIECES, "behind"])[first : first + len(PIECES)]
    pieces = np.array([piece for text in wanted for piece in text], np.int64)
    begin = np.cumsum([0, *map(len, wanted)]).astype(np.int64)
    found = join_pieces(table, pieces, begin)
    found.validate(full=True)
    assert found.type == pa.string()
    assert found.to_pylist() == ["".join(PIECES[piece] for piece in text) for text in wanted]


def test_they_have_a_greatest_size(monkeypatch: pytest.MonkeyPatch) -> None:
    from processor_runtime.output.compiled import joining  # noqa: PLC0415 - an extra

    monkeypatch.setattr(arrow_texts, "MOST_BYTES", 100)
    table, begin = texts(["x" * 10]), np.array([0, 10], np.int64)
    assert join_pieces(table, np.zeros(10, np.int64), begin).to_pylist() == ["x" * 100]
    with pytest.raises(TooLarge):
        join_pieces(table, np.zeros(11, np.int64), begin + np.array([0, 1]))
    functions: list[Any] = [joining.join_octets, joining.joined_sizes]
    assert [len(function.signatures) for function in functions] == [1, 1]
