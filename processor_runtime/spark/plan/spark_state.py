"""The state of a shard in Spark's map state, in bytes that it hands to Python fast.

    shard matcher ──KeyedState──► SparkState ──a message per access──► state store of the task

Spark's Java side writes bytes for Python as a text, sign by sign, those from 128 on as two: 20 µs a
kilobyte in both processes together. Of bytes below 128, one in eight of which holds the upper bits
of the others, it takes a quarter, which is worth it for large values such as events that wait.
"""

from typing import Final

import numpy as np
from pyspark.sql.streaming.stateful_processor import MapState

_IN_SEVEN_BITS: Final = b"7"
"""Begins no value that was written before there were such values."""
_BYTES_WORTH_IT: Final = 16_384
_BITS: Final = np.arange(7, dtype=np.uint8)[:, np.newaxis]


class SparkState:
    """The state of one shard in Spark's map state; see `KeyedState`."""

    def __init__(self, values: MapState) -> None:
        self._values = values

    def get(self, name: str) -> bytes | None:
        """Return a value, `None` if there is none."""
        found = self._values.getValue((name,))
        if found is None:
            return None
        value = bytes(found[0])
        return in_eight_bits(value[1:]) if value.startswith(_IN_SEVEN_BITS) else value

    def put(self, name: str, value: bytes) -> None:
        """Set a value."""
        if len(value) >= _BYTES_WORTH_IT or value.startswith(_IN_SEVEN_BITS):
            value = _IN_SEVEN_BITS + in_seven_bits(value)
        self._values.updateValue((name,), (value,))

    def delete(self, name: str) -> None:
        """Remove a value."""
        self._values.removeKey((name,))


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
