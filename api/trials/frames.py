"""What service and workers say to each other: a kind and bytes, with their length in front."""

from enum import Enum
from typing import IO, Final

MAXIMUM_ANSWER_BYTES: Final = 8_000_000

_LENGTH_BYTES: Final = 4


class Kind(bytes, Enum):
    """What a frame is."""

    READY = b"r"
    TASK = b"t"
    ANSWER = b"a"
    UNFIT = b"u"
    OUT_OF_MEMORY = b"m"
    TOO_LONG = b"l"
    FAILED = b"f"


def write_frame(stream: IO[bytes], kind: Kind, content: bytes = b"") -> None:
    """Write one frame.

    Raises:
        OSError: the other side has ended.
    """
    length = (len(kind.value) + len(content)).to_bytes(_LENGTH_BYTES, "big")
    stream.write(length + kind.value + content)
    stream.flush()


def read_frame(stream: IO[bytes]) -> tuple[Kind, bytes] | None:
    """Return the next frame, `None` if the other side has ended."""
    head = stream.read(_LENGTH_BYTES)
    if len(head) < _LENGTH_BYTES:
        return None
    length = int.from_bytes(head, "big")
    content = stream.read(length)
    if len(content) < length:
        return None
    return Kind(content[:1]), content[1:]
