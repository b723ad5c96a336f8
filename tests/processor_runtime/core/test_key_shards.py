"""The shard of a key does not depend on which keys this process has met before."""

from types import SimpleNamespace
from typing import Any

import polars as pl

from processor_runtime.rows.key_hashing import key_bytes, key_hash, shard_of
from processor_runtime.stages.key_stage import KeyStage, KeyStageSettings

GROUP: Any = SimpleNamespace(id="by value", keys=lambda events: events.select("value"))
NUMBERS = [*range(50)]


def shards_of(values: pl.Series, shards: int) -> list[int]:
    stage = KeyStage(rules=None, settings=KeyStageSettings(shards), clock=None)  # type: ignore[arg-type]
    return stage._shards(GROUP, pl.DataFrame({"value": values})).to_list()


def expected(values: pl.Series, shards: int) -> list[int]:
    return [shard_of(key_hash(GROUP.id, key_bytes((value,))), shards) for value in values]


def test_equal_keys_of_other_types_have_shards_of_their_own() -> None:
    for data_type in (pl.Int64, pl.Float64, pl.Int64):
        values = pl.Series(NUMBERS).cast(data_type)
        assert shards_of(values, 7) == expected(values, 7)
    assert shards_of(pl.Series([False, True]), 7) == expected(pl.Series([False, True]), 7)


def test_with_more_shards_keys_move() -> None:
    values = pl.Series([*map(str, NUMBERS), None])
    for shards in (1, 3, 8, 3):
        assert shards_of(values, shards) == expected(values, shards)
