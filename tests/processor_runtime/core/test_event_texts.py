"""Many events as JSON are what each of them is alone."""

from datetime import UTC, date
from typing import Any, Final

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from processor_runtime.rows.event_texts import event_text, event_texts
from processor_runtime.rows.json_text import plain_json_text

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
    assert event_texts(frame) == wanted
    assert [event_text(each, names) for each in frame.rows()] == wanted


def test_every_escaped_sign_is_escaped() -> None:
    signs = [chr(number) for number in range(0x180)]
    frame = pl.DataFrame({"sign": signs, "other": ["a"] * len(signs)})
    assert event_texts(frame) == [plain_json_text(each) for each in frame.to_dicts()]
    for sign in signs:  # alone, so that no other sign lets the column be written value by value
        alone = pl.DataFrame({"sign": [sign]})
        assert event_texts(alone) == [plain_json_text({"sign": sign})]


def test_there_may_be_no_columns_and_no_rows() -> None:
    assert event_texts(pl.DataFrame({"a": [1, None]})) == ['{"a":1}', '{"a":null}']
    assert event_texts(pl.DataFrame(schema={"a": pl.Int64})) == []
    assert event_texts(pl.DataFrame()) == []
