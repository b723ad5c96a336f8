"""Packed values of the state, smaller: what a batch reads of it costs by the byte.

packed bytes ──compressed──► name of the form · size · checksum · LZ4 ──uncompressed──► packed bytes

The checksum is of the LZ4, in the form before it was of the packed bytes. Those have their own.
"""

from functools import cache
from struct import Struct
from typing import Any, Final
from zlib import crc32

from cep.nfa.errors import StateEncodingError
from processor_runtime.rows.arrow import has_arrow

_FORM: Final = b"LZC"
_EARLIER_FORM: Final = b"LZ4"
_BEGIN: Final = Struct(">3sII")  # the form, how many bytes there were, their checksum
_CODEC: Final = "lz4_raw"
_OTHER_CHECKSUM: Final = "the encoded state is corrupt: it has another checksum"


def compressed(packed: bytes) -> bytes:
    """Return what `cep.nfa.codec.pack` wrote, compressed; as it is where there is no Arrow."""
    codec = _codec()
    if codec is None:
        return packed
    body: bytes = codec.compress(packed, asbytes=True)
    return _BEGIN.pack(_FORM, len(packed), crc32(body)) + body


def uncompressed(data: bytes) -> bytes:
    """Return what was compressed, or the bytes themselves if they never were.

    Raises:
        StateEncodingError: the bytes are corrupt.
    """
    if not data.startswith((_FORM, _EARLIER_FORM)):
        return data
    import pyarrow as pa  # noqa: PLC0415 - an extra, which has written them

    if len(data) < _BEGIN.size:
        raise StateEncodingError("the encoded state is corrupt: it is cut off")
    form, size, checksum = _BEGIN.unpack_from(data)
    body = data[_BEGIN.size :]
    if form == _FORM and crc32(body) != checksum:
        raise StateEncodingError(_OTHER_CHECKSUM)
    try:
        packed: bytes = _codec().decompress(body, size, asbytes=True)
    except (pa.ArrowException, OSError) as error:
        raise StateEncodingError(f"the encoded state is corrupt: {error}") from error
    # Of fewer bytes than there were, the rest is what happened to be in memory.
    if form == _EARLIER_FORM and crc32(packed) != checksum:
        raise StateEncodingError(_OTHER_CHECKSUM)
    return packed


@cache
def _codec() -> Any:
    """Return the codec; looking for it takes longer than compressing a bucket."""
    if not has_arrow():
        return None
    import pyarrow as pa  # noqa: PLC0415 - an extra

    return pa.Codec(_CODEC)
