"""Packed values of the state, smaller: what a batch reads of it costs by the byte.

packed bytes ──compressed──► name of the form · size · LZ4 ──uncompressed──► packed bytes
"""

from typing import Final

import pyarrow as pa

from cep.nfa.errors import StateEncodingError

_FORM: Final = b"LZ4"
_SIZE_BYTES: Final = 4
_BEGIN: Final = len(_FORM) + _SIZE_BYTES
_CODEC: Final = "lz4_raw"


def compressed(packed: bytes) -> bytes:
    """Return what `cep.nfa.codec.pack` wrote, compressed."""
    body: bytes = pa.compress(packed, codec=_CODEC, asbytes=True)
    return _FORM + len(packed).to_bytes(_SIZE_BYTES, "big") + body


def uncompressed(data: bytes) -> bytes:
    """Return what was compressed, or the bytes themselves if they never were.

    Raises:
        StateEncodingError: the bytes are corrupt.
    """
    if not data.startswith(_FORM):
        return data
    size = int.from_bytes(data[len(_FORM) : _BEGIN], "big")
    try:
        packed: bytes = pa.decompress(data[_BEGIN:], size, codec=_CODEC, asbytes=True)
    except (pa.ArrowException, OSError) as error:
        raise StateEncodingError(f"the encoded state is corrupt: {error}") from error
    return packed
