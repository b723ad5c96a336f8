"""The state of a shard in Spark's map state, in bytes that it hands to Python fast.

    shard matcher ──KeyedState──► SparkState ──messages, many at once──► state store of the task

Spark's Java side writes bytes for Python as a text, sign by sign, those from 128 on as two: 20 µs a
kilobyte in both processes together. Of bytes below 128, one in eight of which holds the upper bits
of the others, it takes a quarter. That is worth it for large values, such as events that wait, and
for all but the smallest of many, such as keys, of which that is done at once.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from pyspark.sql.streaming.stateful_processor import MapState

from processor_runtime.spark.plan.seven_bits import (
    all_in_eight_bits,
    all_in_seven_bits,
    in_eight_bits,
    in_seven_bits,
)
from processor_runtime.spark.plan.state_requests import StateRequests

_LARGE: Final = b"7"
_SMALL: Final = b"8"
"""These marks begin no value that was written before there were such values."""
_LARGE_BYTES: Final = 16_384
_SMALL_BYTES: Final = 512


class SparkState:
    """The state of one shard in Spark's map state; see `KeyedState`."""

    def __init__(self, values: MapState) -> None:
        self._values = values
        self._requests = StateRequests.of(values)

    def get(self, name: str) -> bytes | None:
        """Return a value, `None` if there is none."""
        return self.get_many([name])[0]

    def put(self, name: str, value: bytes) -> None:
        """Set a value."""
        self.put_many({name: value})

    def delete(self, name: str) -> None:
        """Remove a value."""
        self._values.removeKey((name,))

    def get_many(self, names: Sequence[str]) -> list[bytes | None]:
        """Return values in the order of their names, `None` for those that are not there."""
        if self._requests is not None:
            found = self._requests.get_many(names)
        else:
            rows = [self._values.getValue((name,)) for name in names]
            found = [None if row is None else bytes(row[0]) for row in rows]
        return _read(found)

    def put_many(self, changes: Mapping[str, bytes | None]) -> None:
        """Set values, and remove those that are `None`."""
        written = _written(changes)
        if self._requests is not None:
            self._requests.put_many(written)
            return
        for name, value in written.items():
            if value is None:
                self._values.removeKey((name,))
            else:
                self._values.updateValue((name,), (value,))


def _written(changes: Mapping[str, bytes | None]) -> dict[str, bytes | None]:
    """Return values as they are written, in the order of the changes."""
    written = dict(changes)
    small = {}
    for name, value in changes.items():
        if value is None:
            continue
        if len(value) >= _LARGE_BYTES:
            written[name] = _LARGE + in_seven_bits(value)
        elif len(value) >= _SMALL_BYTES or value.startswith((_LARGE, _SMALL)):
            small[name] = value
    in_bits = all_in_seven_bits(list(small.values()))
    return written | {name: _SMALL + value for name, value in zip(small, in_bits, strict=True)}


def _read(written: Sequence[bytes | None]) -> list[bytes | None]:
    """Return the values that were written so."""
    values = list(written)
    small = []
    for place, value in enumerate(written):
        if value is None:
            continue
        if value.startswith(_LARGE):
            values[place] = in_eight_bits(value[1:])
        elif value.startswith(_SMALL):
            small.append((place, value[1:]))
    in_bits = all_in_eight_bits([value for _, value in small])
    for (place, _), value in zip(small, in_bits, strict=True):
        values[place] = value
    return values
