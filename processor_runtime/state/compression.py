"""Packed values of the state, smaller: what a batch reads of it costs by the byte.

packed bytes ──compressed──► name of the form · size · checksum · LZ4 ──uncompressed──► packed bytes
"""

from typing import Final
from zlib import crc32

from cep.nfa.errors import StateEncodingError
from processor_runtime.rows.arrow import has_arrow

_FORM: Final = b"LZ4"
_NUMBER_BYTES: Final = 4
_BEGIN: Final = len(_FORM) + 2 * _NUMBER_BYTES
_CODEC: Final = "lz4_raw"


def compressed(packed: bytes) -> bytes:
    """Return what `cep.nfa.codec.pack` wrote, compressed; as it is where there is no Arrow."""
    if not has_arrow():
        return packed
    import pyarrow as pa  # noqa: PLC0415 - an extra

    body: bytes = pa.compress(packed, codec=_CODEC, asbytes=True)
    return _FORM + _written(len(packed)) + _written(crc32(packed)) + body


def uncompressed(data: bytes) -> bytes:
    """Return what was compressed, or the bytes themselves if they never were.

    Raises:
        StateEncodingError: the bytes are corrupt.
    """
    if not data.startswith(_FORM):
        return data
    import pyarrow as pa  # noqa: PLC0415 - an extra, which has written them

    size, checksum = (
        int.from_bytes(data[begin : begin + _NUMBER_BYTES], "big")
        for begin in (len(_FORM), len(_FORM) + _NUMBER_BYTES)
    )
    try:
        packed: bytes = pa.decompress(data[_BEGIN:], size, codec=_CODEC, asbytes=True)
    except (pa.ArrowException, OSError) as error:
        raise StateEncodingError(f"the encoded state is corrupt: {error}") from error
    # Of fewer bytes than there were, the rest is what happened to be in memory.
    if crc32(packed) != checksum:
        raise StateEncodingError("the encoded state is corrupt: it has another checksum")
    return packed


def _written(number: int) -> bytes:
    return number.to_bytes(_NUMBER_BYTES, "big")
