"""Rows sorted in memory and by way of files: any rows, cut anywhere, any bound.

100 times as many examples: PERCEPT_EXAMPLE_FACTOR=100 pytest FILE
"""

import math
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.matching import external_sort
from cep.matching.external_sort import ExternalSort, SortColumn, SpillError

ARRIVAL = SortColumn("arrival")
VALUES: dict[str, tuple[pl.DataType, list[Any]]] = {
    "whole": (pl.Int64(), [3, -(2**63), 2**63 - 1, 0, None]),
    "small": (pl.Int8(), [1, 2, -128, None]),
    "real": (pl.Float64(), [0.0, -0.0, 1.5, math.nan, math.inf, -math.inf, None]),
    "text": (pl.String(), ["", "a", "B", "ä", "\ue000", "😀", "a" * 40, "a" * 41, None]),
    "exact": (pl.Decimal(38, 2), [Decimal("0.01"), Decimal("-99999999999.99"), None]),
    "day": (pl.Date(), [date(1, 1, 1), date(2024, 2, 29), date(9999, 12, 31), None]),
    "moment": (
        pl.Datetime("us", "UTC"),
        [datetime(1969, 1, 1, 0, 0, 0, 1, UTC), datetime(2024, 1, 1, tzinfo=UTC), None],
    ),
    "flag": (pl.Boolean(), [True, False, None]),
}
SCHEMA = {name: data_type for name, (data_type, _) in VALUES.items()}


@st.composite
def frames(draw: st.DrawFn) -> list[pl.DataFrame]:
    """Return rows of every type, which have come in any order, cut anywhere."""
    row = st.tuples(*(st.sampled_from(values) for _, values in VALUES.values()))
    rows = draw(st.lists(row, min_size=1, max_size=60))
    arrivals = draw(st.permutations(range(len(rows))))
    frame = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    frame = frame.with_columns(arrival=pl.Series(arrivals, dtype=pl.Int64))
    cuts = sorted(draw(st.lists(st.integers(0, len(rows)), max_size=8)))
    return [frame[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(rows)], strict=True)]


def columns() -> st.SearchStrategy[list[SortColumn]]:
    """Return some columns, one of them perhaps twice."""
    names = st.sampled_from(list(VALUES))
    column = st.builds(SortColumn, names, is_descending=st.booleans(), nulls_last=st.booleans())
    return st.lists(column, max_size=3)


def rank(value: Any) -> Any:
    """Return what a value is ordered by: NaN is the greatest, texts go by their bytes."""
    if isinstance(value, float):
        return (math.isnan(value), 0.0 if math.isnan(value) else value)
    return value.encode() if isinstance(value, str) else value


def expected(rows: pl.DataFrame, order: list[SortColumn]) -> list[int]:
    """Return the arrivals of rows in order, by Python's sort."""
    found = rows.sort("arrival").rows(named=True)
    for column in reversed(order):
        known = [row for row in found if row[column.name] is not None]
        nothing = [row for row in found if row[column.name] is None]
        known.sort(key=lambda row: rank(row[column.name]), reverse=column.is_descending)
        found = known + nothing if column.nulls_last else nothing + known
    return [row["arrival"] for row in found]


@given(frames(), columns(), st.sampled_from([0, 1_000, 5_000, 10**9]), st.integers(2, 4))
def test_any_rows_any_bound(
    tmp_path_factory: pytest.TempPathFactory,
    given_frames: list[pl.DataFrame],
    order: list[SortColumn],
    most_bytes: int,
    most_runs: int,
) -> None:
    directory = tmp_path_factory.getbasetemp()
    rows = pl.concat(given_frames)
    sort = ExternalSort((*order, ARRIVAL), most_bytes, str(directory))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(external_sort, "_MOST_RUNS", most_runs)
        found = pl.concat(sort.sorted(given_frames))
    assert found["arrival"].to_list() == expected(rows, order)
    by_arrival = found.sort("arrival")
    assert by_arrival.equals(rows.sort("arrival"))


def numbered(count: int, frames: int = 10) -> Iterator[pl.DataFrame]:
    """Yield rows of one key in reverse order."""
    for number in reversed(range(frames)):
        arrivals = pl.int_range(number * count, (number + 1) * count, eager=True).reverse()
        yield pl.DataFrame({"key": pl.repeat(1, count, eager=True), "arrival": arrivals})


BY_KEY = (SortColumn("key"), ARRIVAL)


def open_files(directory: Path) -> int:
    """Return how many files of a directory this process has open, those without a name too."""
    targets = []
    for link in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile, by a thread of something else
            targets.append(str(link.readlink()))
    return sum(target.startswith(str(directory)) for target in targets)


def test_what_fits_needs_no_file(tmp_path: Path) -> None:
    sort = ExternalSort(BY_KEY, 10**9, str(tmp_path / "is not there"))
    assert pl.concat(sort.sorted(numbered(100)))["arrival"].to_list() == list(range(1_000))
    assert not list(sort.sorted([]))


def test_files_are_gone_when_the_rows_are_sorted(tmp_path: Path) -> None:
    sort = ExternalSort(BY_KEY, 4_000, str(tmp_path))
    seen = 0
    for frame in sort.sorted(numbered(100)):
        assert frame["arrival"].to_list() == list(range(seen, seen + len(frame)))
        seen += len(frame)
        assert open_files(tmp_path)
    assert seen == 1_000
    assert not open_files(tmp_path)
    assert not list(tmp_path.iterdir())


def test_files_are_gone_when_nobody_wants_more(tmp_path: Path) -> None:
    rows = ExternalSort(BY_KEY, 4_000, str(tmp_path)).sorted(numbered(100))
    assert next(rows)["arrival"][0] == 0
    assert open_files(tmp_path)
    rows.close()  # type: ignore[attr-defined] # a generator
    assert not open_files(tmp_path)
    assert not list(tmp_path.iterdir())


def test_files_are_gone_when_the_rows_fail_to_come(tmp_path: Path) -> None:
    def failing() -> Iterator[pl.DataFrame]:
        yield from numbered(100)
        assert open_files(tmp_path)
        raise ConnectionError("gone")

    with pytest.raises(ConnectionError, match="gone"):
        list(ExternalSort(BY_KEY, 4_000, str(tmp_path)).sorted(failing()))
    assert not open_files(tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_directory_that_takes_no_files_is_told(tmp_path: Path) -> None:
    sort = ExternalSort(BY_KEY, 4_000, str(tmp_path / "none"))
    with pytest.raises(SpillError, match=r"4,000 bytes .* in .*none meanwhile: No such file"):
        list(sort.sorted(numbered(100)))


def test_a_disk_that_is_full_is_told(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    sort = ExternalSort(BY_KEY, 400_000, str(tmp_path))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, before[1]))
    try:
        with pytest.raises(SpillError, match="File too large"):
            list(sort.sorted(numbered(10_000)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not open_files(tmp_path)


HELD = """
import sys
import polars as pl
from cep.matching.external_sort import ExternalSort, SortColumn

def resident() -> int:
    return int(open("/proc/self/statm").read().split()[1]) * 4096

def frames():
    for number in range(100):
        rows = pl.int_range(number * 50_000, (number + 1) * 50_000, eager=True)
        yield pl.DataFrame({
            "key": pl.repeat("hot", 50_000, eager=True),
            "at": rows.hash(1) % 1_000,
            "arrival": rows,
            "text": "a text longer than views hold: " + rows.cast(str) + "." * 60,
        })

columns = tuple(map(SortColumn, ("key", "at", "arrival")))
sort = ExternalSort(columns, 40_000_000, sys.argv[1])
begin = most = count = size = 0
last = (-1, -1)
for frame in frames():
    size += frame.estimated_size()
    begin = resident()
for frame in sort.sorted(frames()):
    first = frame.select("at", "arrival").row(0)
    assert first > last
    assert frame.select(pl.struct("at", "arrival")).to_series().is_sorted()
    last = frame.select("at", "arrival").row(-1)
    count += len(frame)
    most = max(most, resident())
print(count, size, most - begin)
"""


@pytest.mark.long
def test_a_hot_key_larger_than_the_memory_stays_out_of_it(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HELD, str(tmp_path)]
    answer = subprocess.run(  # noqa: S603 - fixed words
        command, check=True, capture_output=True, text=True
    ).stdout
    count, size, grown = map(int, answer.split())
    assert count == 5_000_000
    assert size > 550_000_000
    # Libraries and allocators take some 100 MB of it, however many rows there are.
    assert grown < 250_000_000
