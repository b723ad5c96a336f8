"""Packed values of the state, smaller: what a batch reads of it costs by the byte.

packed bytes ──compressed──► name of the form · size · checksum · LZ4 ──uncompressed──► packed bytes

The checksum is of the LZ4: of a value that is cut off, what is missing may still be in memory, with
which the packed bytes and their own checksum are right.
"""

from functools import cache
from struct import Struct
from typing import Any, Final
from zlib import crc32

from cep.nfa.errors import StateEncodingError
from processor_runtime.rows.arrow import has_arrow

_FORM: Final = b"LZ4"
_BEGIN: Final = Struct(">3sII")  # the form, how many bytes there were, their checksum
_CODEC: Final = "lz4_raw"


def compressed(packed: bytes) -> bytes:
    """Return what `cep.nfa.codec.pack` wrote, compressed; as it is where there is no Arrow."""
    codec = _codec()
    if codec is None:
        return packed
    body: bytes = codec.compress(packed, asbytes=True)
    return _BEGIN.pack(_FORM, len(packed), crc32(body)) + body


def uncompressed(data: bytes) -> bytes:
    """Return what was compressed, or the bytes themselves if that was done without Arrow.

    Raises:
        StateEncodingError: the bytes are corrupt.
    """
    if not data.startswith(_FORM):
        return data
    import pyarrow as pa  # noqa: PLC0415 - an extra, which has written them

    if len(data) < _BEGIN.size:
        raise StateEncodingError("the encoded state is corrupt: it is cut off")
    _form, size, checksum = _BEGIN.unpack_from(data)
    body = data[_BEGIN.size :]
    if crc32(body) != checksum:
        raise StateEncodingError("the encoded state is corrupt: its checksum does not fit")
    try:
        packed: bytes = _codec().decompress(body, size, asbytes=True)
    except (pa.ArrowException, OSError) as error:
        raise StateEncodingError(f"the encoded state is corrupt: {error}") from error
    return packed


@cache
def _codec() -> Any:
    """Return the codec; looking for it takes longer than compressing a bucket."""
    if not has_arrow():
        return None
    import pyarrow as pa  # noqa: PLC0415 - an extra

    return pa.Codec(_CODEC)
