"""The shard of a key does not depend on which keys this process has met before."""

from datetime import UTC, date, datetime
from decimal import Decimal

import polars as pl
import pytest

from processor_runtime.rows.key_hashing import key_bytes, key_hash, shard_of
from processor_runtime.stages import key_shards as at

GROUP = "by value"
NUMBERS = [*range(50)]


def shards_of(values: pl.Series, shards: int) -> list[int]:
    return at.key_shards(GROUP, pl.DataFrame({"value": values}), shards).to_list()


def expected(values: pl.Series, shards: int) -> list[int]:
    return [shard_of(key_hash(GROUP, key_bytes((value,))), shards) for value in values]


def test_equal_keys_of_other_types_have_shards_of_their_own() -> None:
    for data_type in (pl.Int64, pl.Float64, pl.Int64):
        values = pl.Series(NUMBERS).cast(data_type)
        assert shards_of(values, 7) == expected(values, 7)
    assert shards_of(pl.Series([False, True]), 7) == expected(pl.Series([False, True]), 7)


def test_with_more_shards_keys_move() -> None:
    values = pl.Series([*map(str, NUMBERS), None])
    for shards in (1, 3, 8, 3):
        assert shards_of(values, shards) == expected(values, shards)


@pytest.mark.parametrize(
    "values",
    [
        pl.Series([*NUMBERS, None, -1, 2**63 - 1, *NUMBERS]),
        pl.Series([0.5, -0.5, None, 1e300]),
        pl.Series([*map(str, NUMBERS), None, "", "ü", "x" * 300]),
        pl.Series([True, None, False]),
        pl.Series([b"", b"\0", None, b"x" * 70_000]),
        pl.Series([date(1, 1, 1), date(2026, 11, 27), None, date(9999, 12, 31)]),
        pl.Series([datetime(2026, 11, 27, 1, 2, 3, 4), datetime(1, 1, 1), None]),  # noqa: DTZ001
        pl.Series([datetime(2026, 11, 27, tzinfo=UTC), None]),
        pl.Series([Decimal("-1.50"), Decimal("1234567890123456789.01"), None]),
    ],
)
def test_many_keys_have_the_shards_that_few_have(
    monkeypatch: pytest.MonkeyPatch, values: pl.Series
) -> None:
    pytest.importorskip("numba")
    monkeypatch.setattr(at, "_MANY_KEYS", 1)
    monkeypatch.setattr(at, "is_ready", lambda _package: True)
    for shards in (1, 2, 7):
        assert shards_of(values, shards) == expected(values, shards)


def test_keys_may_have_several_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    keys = pl.DataFrame({"user": [1, None, 1, 2], "shop": ["a", "b", "a", None]})
    few = at.key_shards(GROUP, keys, 5)
    monkeypatch.setattr(at, "_MANY_KEYS", 1)
    monkeypatch.setattr(at, "is_ready", lambda _package: True)
    assert at.key_shards(GROUP, keys, 5).to_list() == few.to_list()
    assert few.to_list() == [shard_of(key_hash(GROUP, key_bytes(row)), 5) for row in keys.rows()]
