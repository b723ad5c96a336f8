"""Bytes as bytes below 128, and back: seven bits of each, then the upper bits, seven to a byte.

    large value ──in_seven_bits──► its lower bits · upper ones ──in_eight_bits──► value
    many small ones ──all_in_seven_bits──► the same of each, block by block ──all_in_eight_bits──► …

Of many small values a call for each would take as long as what they save.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

_BITS: Final = np.arange(7, dtype=np.uint8)[:, np.newaxis]
_UPPER_BYTES: Final = 64
"""Of small values, so many bytes hold the upper bits of seven times as many, a block."""
_BLOCK_BYTES: Final = 7 * _UPPER_BYTES
_WRITTEN_BLOCK_BYTES: Final = 8 * _UPPER_BYTES
_TOGETHER: Final = 32
"""More at once are slower: memory of that size is given back and fetched again each time."""


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


def all_in_seven_bits(values: Sequence[bytes]) -> list[bytes]:
    """Return of each value the lower seven bits of each byte, then the upper ones of each block."""
    return [written for part in _parts(values) for written in _part_in_seven_bits(part)]


def all_in_eight_bits(written: Sequence[bytes]) -> list[bytes]:
    """Return the values of which `all_in_seven_bits` was written."""
    return [value for part in _parts(written) for value in _part_in_eight_bits(part)]


def _parts(values: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    return (values[begin : begin + _TOGETHER] for begin in range(0, len(values), _TOGETHER))


def _part_in_seven_bits(values: Sequence[bytes]) -> Iterator[bytes]:
    padded = b"".join([value + bytes(-len(value) % _BLOCK_BYTES) for value in values])
    signs = np.frombuffer(padded, np.uint8)
    bits = (signs >> 7).reshape(-1, 7, _UPPER_BYTES)
    blocks = bits[:, 0].copy()
    for place in range(1, 7):
        blocks |= bits[:, place] << place
    lower, upper = (signs & 0x7F).tobytes(), blocks.tobytes()
    begin, upper_begin = 0, 0
    for value in values:
        count = -(-len(value) // _BLOCK_BYTES)
        upper_end = upper_begin + count * _UPPER_BYTES
        yield lower[begin : begin + len(value)] + upper[upper_begin:upper_end]
        begin, upper_begin = begin + count * _BLOCK_BYTES, upper_end


def _part_in_eight_bits(written: Sequence[bytes]) -> Iterator[bytes]:
    lengths = [len(each) - _UPPER_BYTES * -(-len(each) // _WRITTEN_BLOCK_BYTES) for each in written]
    padded = bytearray()
    for each, length in zip(written, lengths, strict=True):
        padded += each[:length]
        padded += bytes(-length % _BLOCK_BYTES)
    signs = np.frombuffer(padded, np.uint8).reshape(-1, 7, _UPPER_BYTES)
    upper = b"".join([each[length:] for each, length in zip(written, lengths, strict=True)])
    blocks = np.frombuffer(upper, np.uint8).reshape(-1, _UPPER_BYTES)
    for place in range(7):
        signs[:, place] |= blocks >> place << 7
    begin = 0
    for length in lengths:
        yield bytes(padded[begin : begin + length])
        begin += length + -length % _BLOCK_BYTES
