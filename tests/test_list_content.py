"""The content of lists: canonical, named by its digest, read back; and which texts are values."""

import csv
import io
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.list_content import (
    LIST_TYPES,
    ListType,
    ListValue,
    csv_cell,
    list_content,
    list_digest,
    list_values,
    value_in_cell,
    value_of,
)
from contract.snapshot import Snapshot, content_hash, read_snapshot, snapshot_json
from tests.discoverers.sources import STREAM

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
BIGINTS = st.integers(-(2**63), 2**63 - 1)


@given(st.sets(TEXTS), st.sets(BIGINTS), st.sets(st.dates()))
def test_content_reads_back_and_does_not_depend_on_order(
    texts: set[str], numbers: set[int], days: set[date]
) -> None:
    every: tuple[tuple[ListType, set[ListValue]], ...] = (
        ("STRING", {*texts}),
        ("BIGINT", {*numbers}),
        ("DATE", {*days}),
    )
    for data_type, values in every:
        given_values = sorted(values, key=str)
        content = list_content(given_values)
        assert content == list_content([*reversed(given_values), *given_values])
        assert set(list_values(data_type, content)) == values
        assert all(value_of(data_type, str(each)) == each for each in values)


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("ana", "ana"),
        ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"),
        ("+1", "'+1"),
        ("-2+3", "'-2+3"),
        ("-2", "-2"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", '"\'\t=1"'),
        ("\uff1d1", "'\uff1d1"),
        ("'=1", "''=1"),
        ("'ana", "'ana"),
        ('=HYPERLINK("a";"b")', '"\'=HYPERLINK(""a"";""b"")"'),
    ],
)
def test_no_value_is_a_formula_in_a_spreadsheet(text: str, cell: str) -> None:
    assert csv_cell(text) == cell


@given(st.text("'=+-@\t\r\n\",;1a", min_size=1, max_size=8) | TEXTS)
def test_a_value_comes_back_from_its_cell(text: str) -> None:
    lines = io.StringIO(f"{csv_cell(text)}\r\n", newline="")
    assert [[value_in_cell(cell) for cell in row] for row in csv.reader(lines)] == [[text]]


@pytest.mark.parametrize(
    ("data_type", "text"),
    [
        ("STRING", ""),
        ("STRING", "x" * 1_001),
        ("STRING", "\ud800"),
        ("BIGINT", "1.5"),
        ("BIGINT", " 1"),
        ("BIGINT", "1_000"),
        ("BIGINT", "٣"),
        ("BIGINT", str(2**63)),
        ("BIGINT", "9" * 5_000),
        ("DATE", "2024-02-30"),
        ("DATE", "20240101"),
        ("DATE", "2024-W01-1"),
    ],
)
def test_what_is_no_value_is_refused(data_type: str, text: str) -> None:
    assert data_type in LIST_TYPES
    with pytest.raises(ValueError, match=r".+"):
        value_of(data_type, text)  # type: ignore[arg-type]


def test_lists_are_in_a_snapshot_only_if_there_are_some() -> None:
    plain = Snapshot(format=1, epoch=1, stream=STREAM, processors=[])
    assert b"lists" not in snapshot_json(plain)
    digest = list_digest(list_content(["ann"]))
    versions = [{"version": 1, "effective_from_ms": None, "digest": digest, "count": 1}]
    lists = [{"name": "vip", "type": "STRING", "versions": versions}]
    listed = Snapshot.model_validate(plain.model_dump(by_alias=True) | {"lists": lists})
    assert read_snapshot(snapshot_json(listed)) == listed
    assert content_hash(listed) != content_hash(plain)
