"""The state of a shard in Spark's map state, in bytes that it hands to Python fast.

    shard matcher ──KeyedState──► SparkState ──messages, many at once──► state store of the task

Spark's Java side writes bytes for Python as a text, sign by sign, those from 128 on as two: 20 µs a
kilobyte in both processes together. Of bytes below 128, one in eight of which holds the upper bits
of the others, it takes a quarter, which is worth it for large values such as events that wait.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from pyspark.sql.streaming.stateful_processor import MapState

from processor_runtime.spark.plan.state_requests import StateRequests

_IN_SEVEN_BITS: Final = b"7"
"""Begins no value that was written before there were such values."""
_BYTES_WORTH_IT: Final = 16_384
_BITS: Final = np.arange(7, dtype=np.uint8)[:, np.newaxis]


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
        self._values.updateValue((name,), (_written(value),))

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
        return [None if value is None else _read(value) for value in found]

    def put_many(self, changes: Mapping[str, bytes | None]) -> None:
        """Set values, and remove those that are `None`."""
        if self._requests is not None:
            written = {
                name: None if value is None else _written(value) for name, value in changes.items()
            }
            self._requests.put_many(written)
            return
        for name, value in changes.items():
            if value is None:
                self.delete(name)
            else:
                self.put(name, value)


def _written(value: bytes) -> bytes:
    if len(value) >= _BYTES_WORTH_IT or value.startswith(_IN_SEVEN_BITS):
        return _IN_SEVEN_BITS + in_seven_bits(value)
    return value


def _read(written: bytes) -> bytes:
    return in_eight_bits(written[1:]) if written.startswith(_IN_SEVEN_BITS) else written


def in_seven_bits(value: bytes) -> bytes:
    """Return the lower seven bits of each byte, then the upper ones, seven to a byte."""
    signs = np.frombuffer(value, np.uint8)
    upper = np.zeros((7, -(-len(signs) // 7)), np.uint8)
    upper.reshape(-1)[: len(signs)] = signs >> 7
    return bytes(np.concatenate((signs & 0x7F, np.bitwise_or.reduce(upper << _BITS))))


def in_eight_bits(written: bytes) -> bytes:
    """Return the bytes of which `in_seven_bits` was written."""
    signs = np.frombuffer(written, np.uint8)
    count = len(signs) - -(-len(signs) // 8)
    upper = (signs[count:] >> _BITS).reshape(-1)[:count]
    return bytes(signs[:count] | upper << 7)
