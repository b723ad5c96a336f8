"""The shard of a key depends on its bytes and its group alone."""

from datetime import UTC, date, datetime
from decimal import Decimal
from hashlib import blake2b

import polars as pl
import pytest

from processor_runtime.rows.key_hashing import key_bytes, key_hash, shard_of
from processor_runtime.stages.key_shards import key_shards

GROUP = "by value"
NUMBERS = [*range(50)]


def shards_of(values: pl.Series, shards: int) -> list[int]:
    return key_shards(GROUP, pl.DataFrame({"value": values}), shards).to_list()


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
def test_a_key_has_the_shard_of_its_bytes(values: pl.Series) -> None:
    for shards in (1, 2, 7):
        assert shards_of(values, shards) == expected(values, shards)


def test_keys_may_have_several_parts() -> None:
    keys = pl.DataFrame({"user": [1, None, 1, 2], "shop": ["a", "b", "a", None]})
    shards = key_shards(GROUP, keys, 5).to_list()
    assert shards == [shard_of(key_hash(GROUP, key_bytes(row)), 5) for row in keys.rows()]


def test_the_hash_of_a_key_is_blake2b_under_its_group() -> None:
    assert key_hash("g", b"k") == int.from_bytes(blake2b(b"k", digest_size=8, key=b"g").digest())
