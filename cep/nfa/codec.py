"""Run state as bytes, and back, at any event.

    KeyRuns ──encode──► magic · version · checksum · msgpack ──decode──► KeyRuns

Cells are written once each, so partial matches that shared a prefix still share it afterwards.
Aggregate states are not written; they are folded again when first read.
"""

import zlib
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import msgpack

from cep.nfa.errors import StateEncodingError
from cep.nfa.program import Program
from cep.nfa.runs import UNFOLDED, Cell, KeyRuns, accepted_events

FORMAT_VERSION = 1
_MAGIC = b"PCPT"
_HEADER_BYTES = len(_MAGIC) + 1 + 4


def fingerprint(program: Program) -> int:
    """Return a number that differs between programs, the same in every process."""
    return zlib.crc32(repr(program).encode())


def encode(runs: KeyRuns, program: Program) -> bytes:
    """Return the state of one key as bytes.

    Raises:
        StateEncodingError: an event holds a value that cannot be written.
    """
    cells: list[Cell] = []
    numbers: dict[int, int] = {}
    events: list[Any] = []
    event_numbers: dict[int, int] = {}

    def number(tip: Cell) -> int:
        for cell in accepted_events(tip):
            if id(cell) not in numbers:
                numbers[id(cell)] = len(cells)
                cells.append(cell)
                if id(cell[3]) not in event_numbers:
                    event_numbers[id(cell[3])] = len(events)
                    events.append(cell[3])
        return numbers[id(tip)]

    open_runs = [(*run[:5], number(run[5])) for run in runs.runs]
    waiting = [
        (rules, [(start, number(cell)) for start, cell in queue]) for rules, queue in runs.waiting
    ]
    rows = [
        (-1 if cell[0] is None else numbers[id(cell[0])], *cell[1:3], event_numbers[id(cell[3])])
        for cell in cells
    ]
    return pack([fingerprint(program), runs.sequence, events, rows, open_runs, waiting])


def decode(data: bytes, program: Program, *, aggregate_count: int = 0) -> KeyRuns:
    """Return the state of one key that `encode` wrote.

    Args:
        data: what `encode` returned.
        program: the program the state belongs to.
        aggregate_count: how many aggregate states a cell has room for (see `Machine`).

    Raises:
        StateEncodingError: the bytes are corrupt, of a newer format, or of another program.
    """
    payload = unpack(data)
    try:
        owner, sequence, events, rows, open_runs, waiting = payload
        if owner != fingerprint(program):
            raise StateEncodingError(
                "the encoded state belongs to another pattern; it cannot go on with this one"
            )
        cells: list[Cell] = []
        for previous, step, position, event in rows:
            states = [UNFOLDED] * aggregate_count if aggregate_count else None
            before = None if previous < 0 else cells[previous]
            cells.append((before, step, position, events[event], states))
        runs = KeyRuns()
        runs.sequence = sequence
        runs.runs = [(*run[:5], cells[run[5]]) for run in open_runs]
        runs.waiting = [
            (rules, [(start, cells[cell]) for start, cell in queue]) for rules, queue in waiting
        ]
        runs.bound_rules()
    except (ValueError, TypeError, IndexError) as error:
        raise StateEncodingError(f"the encoded state is not well formed: {error}") from error
    return runs


# The envelope, and the values events are made of


def pack(payload: Any) -> bytes:
    """Return a payload of plain values as bytes with magic, version and checksum.

    Raises:
        StateEncodingError: a value is of a type that cannot be written.
    """
    try:
        body: bytes = msgpack.packb(payload, default=_encode_value, strict_types=True)
    except (TypeError, ValueError, OverflowError) as error:
        raise StateEncodingError(f"cannot encode the state: {error}") from error
    return _MAGIC + bytes([FORMAT_VERSION]) + zlib.crc32(body).to_bytes(4, "big") + body


def unpack(data: bytes) -> Any:
    """Return the payload that `pack` wrote.

    Raises:
        StateEncodingError: the bytes are corrupt or of a newer format.
    """
    if len(data) < _HEADER_BYTES or not data.startswith(_MAGIC):
        raise StateEncodingError("not an encoded state: it does not begin as one")
    version = data[len(_MAGIC)]
    if version > FORMAT_VERSION:
        raise StateEncodingError(
            f"the encoded state has format {version}, this program reads up to {FORMAT_VERSION}; "
            "upgrade it"
        )
    if version < 1:
        raise StateEncodingError(f"the encoded state is corrupt: there is no format {version}")
    body = data[_HEADER_BYTES:]
    if zlib.crc32(body) != int.from_bytes(data[len(_MAGIC) + 1 : _HEADER_BYTES], "big"):
        raise StateEncodingError("the encoded state is corrupt: its checksum does not fit")
    try:
        return msgpack.unpackb(body, ext_hook=_decode_value, strict_map_key=False, use_list=True)
    except (ValueError, msgpack.UnpackException) as error:
        raise StateEncodingError(f"the encoded state is corrupt: {error}") from error


_TUPLE, _INT, _DECIMAL, _DATETIME, _DATE, _TIMEDELTA = range(6)

_READERS: dict[int, Callable[[bytes], Any]] = {
    _TUPLE: lambda data: tuple(msgpack.unpackb(data, ext_hook=_decode_value, strict_map_key=False)),
    _INT: lambda data: int.from_bytes(data, "big", signed=True),
    _DECIMAL: lambda data: Decimal(data.decode()),
    _DATETIME: lambda data: datetime.fromisoformat(data.decode()),
    _DATE: lambda data: date.fromisoformat(data.decode()),
    _TIMEDELTA: lambda data: timedelta(microseconds=int(data)),
}


def _encode_value(value: Any) -> Any:
    """Write what msgpack has no type for; it asks for exact types only."""
    match value:
        case tuple():
            return msgpack.ExtType(
                _TUPLE, msgpack.packb(list(value), default=_encode_value, strict_types=True)
            )
        case Decimal():
            return msgpack.ExtType(_DECIMAL, str(value).encode())
        case datetime():
            return msgpack.ExtType(_DATETIME, value.isoformat().encode())
        case date():
            return msgpack.ExtType(_DATE, value.isoformat().encode())
        case timedelta():
            return msgpack.ExtType(_TIMEDELTA, str(value // timedelta(microseconds=1)).encode())
        case int():  # more than 64 bits: the rules of a large set
            size = (value.bit_length() + 8) // 8
            return msgpack.ExtType(_INT, value.to_bytes(size, "big", signed=True))
        case _:
            raise TypeError(f"an event holds a {type(value).__name__}, which has no encoding")


def _decode_value(code: int, data: bytes) -> Any:
    if code not in _READERS:
        raise ValueError(f"unknown extension type {code}")
    return _READERS[code](data)
