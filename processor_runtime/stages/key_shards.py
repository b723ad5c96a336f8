"""The shards of the keys of events, once for each different key.

keys of events ──key_shards──► the shard of each event
"""

import polars as pl

from processor_runtime.rows.key_hashing import key_bytes, key_hashes, shard_of


def key_shards(group: str, keys: pl.DataFrame, shards: int) -> pl.Series:
    """Return the shard of each event, as column `_shard`.

    `keys`: the key of each event, a column for each part.

    Raises:
        StateEncodingError: a value is of a type that has no encoding.
    """
    distinct = keys.unique()
    hashes = key_hashes(group, map(key_bytes, distinct.iter_rows()))
    by_key = distinct.with_columns(pl.Series("_shard", shard_of(hashes, shards), dtype=pl.Int32))
    found = keys.join(by_key, on=keys.columns, how="left", nulls_equal=True, maintain_order="left")
    return found.get_column("_shard")
