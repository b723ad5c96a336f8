"""The shards of the keys of events, once for each different key.

    keys of events ──key_shards──► the shard of each event

Where keys come again and again, a process knows them; where there are very many, compiled code
works them all out, in a fifth of the time it takes to do so one by one.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import polars as pl

from cep.bounded_cache import BoundedCache
from cep.compiling import is_ready
from processor_runtime.rows.key_hashing import key_bytes, key_hash, shard_of

_MOST_KEYS: Final = 200_000
"""Of so many keys, over all groups, a process keeps the shard: some 30 MB."""
_MANY_KEYS: Final = 20_000
"""From so many different keys on, among some megabytes of events, few come again soon."""
_shards_known: BoundedCache[tuple[str, int, str, tuple[Any, ...]], int] = BoundedCache(
    lambda asked: shard_of(key_hash(asked[0], key_bytes(asked[3])), asked[1]), _MOST_KEYS
)
"""By group, number of shards, types (1 and 1.0 are equal) and key."""


def key_shards(group: str, keys: pl.DataFrame, shards: int) -> pl.Series:
    """Return the shard of each event, as column `_shard`.

    Args:
        group: the id of the selector group.
        keys: the key of each event, a column for each part.
        shards: how many there are.

    Raises:
        StateEncodingError: a value is of a type that has no encoding.
    """
    distinct = keys.unique()
    rows = distinct.rows()
    if len(rows) >= _MANY_KEYS and is_ready("cep.nfa_kernel"):
        of_distinct: Sequence[int] | np.ndarray[Any, Any] = _worked_out(group, rows, shards)
    else:
        types = str(distinct.dtypes)
        of_distinct = [_shards_known[group, shards, types, key] for key in rows]
    by_key = distinct.with_columns(pl.Series("_shard", of_distinct, dtype=pl.Int32))
    found = keys.join(by_key, on=keys.columns, how="left", nulls_equal=True, maintain_order="left")
    return found.get_column("_shard")


def _worked_out(
    group: str, keys: Sequence[tuple[Any, ...]], shards: int
) -> np.ndarray[Any, np.dtype[np.int32]]:
    # Only here, as numba is an extra, and takes half a second to import.
    from processor_runtime.state.key_columns import key_hashes_of, packed_keys  # noqa: PLC0415

    return shard_of(key_hashes_of(group, packed_keys(keys)), shards).astype(np.int32)
