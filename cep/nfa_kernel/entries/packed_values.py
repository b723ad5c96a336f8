"""Compiled: values as msgpack writes them, found, read and written in place.

    bytes of many values ──end_of, read_int, read_array──► numbers, and where other values end

Integers are written in as few bytes as msgpack takes for them.

Source: MessagePack specification, "Formats"; `cep.nfa.codec.pack_values`.
"""

from typing import Final

from cep.compiling import in_place
from cep.compiling.byte_copying import Bytes

MALFORMED: Final = -1
"""In the place of where a value ends: it is another sort of value, or not one at all."""
MOST_BYTES_OF_NUMBER: Final = 9
MOST_BYTES_OF_SIZE: Final = 5

TRUE: Final = 0xC3
_NULL: Final = 0xC0
_LEAST_BELOW_0: Final = 0xE0
_FIX_MAP: Final = 0x80
_FIX_ARRAY: Final = 0x90
_FIX_TEXT: Final = 0xA0
_NEVER_USED: Final = 0xC1
_BYTES_8: Final = 0xC4
_OTHER_8: Final = 0xC7
_FLOAT_32: Final = 0xCA
_FLOAT_64: Final = 0xCB
_UNSIGNED_8: Final = 0xCC
_UNSIGNED_16: Final = 0xCD
_UNSIGNED_32: Final = 0xCE
_UNSIGNED_64: Final = 0xCF
_SIGNED_8: Final = 0xD0
_SIGNED_16: Final = 0xD1
_SIGNED_32: Final = 0xD2
_SIGNED_64: Final = 0xD3
_FIX_OTHER_1: Final = 0xD4
_FIX_OTHER_16: Final = 0xD8
_TEXT_8: Final = 0xD9
_TEXT_32: Final = 0xDB
_ARRAY_16: Final = 0xDC
_ARRAY_32: Final = 0xDD
_MAP_16: Final = 0xDE
_MAP_32: Final = 0xDF


@in_place
def unsigned_at(data: Bytes, place: int, size: int) -> int:
    """Return the number that some bytes are, the highest first."""
    value = 0
    for number in range(size):
        value = (value << 8) | data[place + number]
    return value


@in_place
def end_of(data: Bytes, place: int, most: int) -> int:  # noqa: C901, PLR0912 - one loop over all sorts of values
    """Return where a value ends, with all that is in it; `MALFORMED` if that is beyond `most`."""
    left = 1
    while left > 0:
        left -= 1
        if place >= most:
            return MALFORMED
        tag = int(data[place])
        place += 1
        size, size_of_size = 0, 0
        if tag < _FIX_MAP or tag >= _LEAST_BELOW_0 or tag == _NULL:
            continue
        if tag < _FIX_ARRAY:
            left += 2 * (tag - _FIX_MAP)
        elif tag < _FIX_TEXT:
            left += tag - _FIX_ARRAY
        elif tag < _NULL:
            size = tag - _FIX_TEXT
        elif tag == _NEVER_USED:
            return MALFORMED
        elif tag < _BYTES_8:
            continue
        elif tag < _FLOAT_32:
            size_of_size = 1 << ((tag - _BYTES_8) % 3)
        elif tag <= _FLOAT_64:
            size = 4 << (tag - _FLOAT_32)
        elif tag <= _UNSIGNED_64:
            size = 1 << (tag - _UNSIGNED_8)
        elif tag <= _SIGNED_64:
            size = 1 << (tag - _SIGNED_8)
        elif tag <= _FIX_OTHER_16:
            size = 1 + (1 << (tag - _FIX_OTHER_1))
        elif tag <= _TEXT_32:
            size_of_size = 1 << (tag - _TEXT_8)
        else:
            width = 2 if tag in (_ARRAY_16, _MAP_16) else 4
            if place + width > most:
                return MALFORMED
            count = unsigned_at(data, place, width)
            left += count if tag <= _ARRAY_32 else 2 * count
            place += width
            continue
        if size_of_size:
            if place + size_of_size > most:
                return MALFORMED
            size = unsigned_at(data, place, size_of_size)
            place += size_of_size
            if _OTHER_8 <= tag < _FLOAT_32:
                size += 1
        place += size
    return place if place <= most else MALFORMED


@in_place
def read_int(data: Bytes, place: int, most: int) -> tuple[int, int]:  # noqa: PLR0911 - a return for each sort
    """Return an integer and where it ends; `MALFORMED` if there is none that fits 64 bits."""
    if place >= most:
        return 0, MALFORMED
    tag = int(data[place])
    place += 1
    if tag < _FIX_MAP:
        return tag, place
    if tag >= _LEAST_BELOW_0:
        return tag - 256, place
    if tag < _UNSIGNED_8 or tag > _SIGNED_64:
        return 0, MALFORMED
    size = 1 << ((tag - _UNSIGNED_8) % 4)
    if place + size > most:
        return 0, MALFORMED
    value = unsigned_at(data, place, size)
    place += size
    if tag == _UNSIGNED_64 and value < 0:
        return 0, MALFORMED
    if _SIGNED_8 <= tag < _SIGNED_64 and value >> (8 * size - 1):
        value -= 1 << (8 * size)
    return value, place


@in_place
def read_array(data: Bytes, place: int, most: int) -> tuple[int, int]:
    """Return how many values an array has and where the first is; `MALFORMED` if it is none.

    There are no more than the bytes that are left.
    """
    if place >= most:
        return 0, MALFORMED
    tag = int(data[place])
    place += 1
    if _FIX_ARRAY <= tag < _FIX_TEXT:
        count = tag - _FIX_ARRAY
    elif tag in (_ARRAY_16, _ARRAY_32):
        width = 2 if tag == _ARRAY_16 else 4
        if place + width > most:
            return 0, MALFORMED
        count = unsigned_at(data, place, width)
        place += width
    else:
        return 0, MALFORMED
    return (count, place) if count <= most - place else (0, MALFORMED)


@in_place
def _write_unsigned(data: Bytes, place: int, value: int, size: int) -> int:
    for number in range(size):
        data[place + number] = (value >> (8 * (size - 1 - number))) & 0xFF
    return place + size


@in_place
def write_int(data: Bytes, place: int, value: int) -> int:
    """Write an integer; return where it ends. There is room for `MOST_BYTES_OF_NUMBER`."""
    if _LEAST_BELOW_0 - 256 <= value < _FIX_MAP:
        data[place] = value & 0xFF
        return place + 1
    if value >= 0:
        width = 0 if value < 1 << 8 else 1 if value < 1 << 16 else 2 if value < 1 << 32 else 3
        data[place] = _UNSIGNED_8 + width
    else:
        width = (
            0
            if value >= -(1 << 7)
            else 1
            if value >= -(1 << 15)
            else 2
            if value >= -(1 << 31)
            else 3
        )
        data[place] = _SIGNED_8 + width
    return _write_unsigned(data, place + 1, value, 1 << width)


@in_place
def write_array(data: Bytes, place: int, count: int) -> int:
    """Begin an array; return where its first value goes. There is room for `MOST_BYTES_OF_SIZE`."""
    if count < _FIX_TEXT - _FIX_ARRAY:
        data[place] = _FIX_ARRAY + count
        return place + 1
    is_short = count < 1 << 16
    data[place] = _ARRAY_16 if is_short else _ARRAY_32
    return _write_unsigned(data, place + 1, count, 2 if is_short else 4)
