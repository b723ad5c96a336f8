"""Run state as bytes, and back, at any event.

    KeyRuns ──runs_payload──► plain values ──pack──► magic · version · checksum · msgpack
    KeyRuns ◄──runs_of_payload── plain values ◄──unpack── the same bytes

Cells are written once each, so partial matches that shared a prefix still share it afterwards.
Aggregate states are not written; they are folded again when first read.
"""

import zlib
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import msgpack

from cep.nfa.errors import StateEncodingError
from cep.nfa.runs import UNFOLDED, Cell, KeyRuns, cells_without_number

FORMAT_VERSION = 1
_MAGIC = b"PCPT"
_HEADER_BYTES = len(_MAGIC) + 1 + 4


def runs_payload(runs: KeyRuns) -> list[Any]:
    """Return the state of one key as plain values, for `pack_values`.

    Numbers stand in flat lists, which are written without a call per cell or partial match.
    """
    numbers: dict[int, int] = {}
    event_numbers: dict[int, int] = {}
    events: list[Any] = []
    cells: list[int] = []

    def number(tip: Cell) -> int:
        new = cells_without_number(tip, numbers)
        for previous, step, sequence, event, _ in reversed(new):
            if id(event) not in event_numbers:
                event_numbers[id(event)] = len(events)
                events.append(event)
            before = -1 if previous is None else numbers[id(previous)]
            numbers[id(new.pop())] = len(cells) // NUMBERS_PER_CELL
            cells.extend((before, step, sequence, event_numbers[id(event)]))
        return numbers[id(tip)]

    open_runs: list[Any] = []
    for state, rules, start, start_ms, previous_ms, tip in runs.runs:
        open_runs += (state, _rules_value(rules), start, start_ms, previous_ms, number(tip))
    waiting = [
        [_rules_value(rules), [value for start, cell in queue for value in (start, number(cell))]]
        for rules, queue in runs.waiting
    ]
    are_tuples = all(type(event) is tuple for event in events)
    written = [list(event) for event in events] if are_tuples else events
    return [runs.sequence, are_tuples, written, cells, open_runs, waiting]


def runs_of_payload(
    payload: list[Any],
    *,
    aggregate_count: int = 0,
    translate: Callable[[Any], Any] | None = None,
) -> KeyRuns:
    """Return the state of one key that `runs_payload` described.

    Args:
        payload: what it returned.
        aggregate_count: how many aggregate states a cell has room for (see `Machine`).
        translate: from an event as it was written to one as it is read now.

    Raises:
        StateEncodingError: the payload is not well formed.
    """
    try:
        sequence, are_tuples, events, numbers, open_runs, waiting = payload
        if are_tuples:
            events = [tuple(event) for event in events]
        if translate is not None:
            events = [translate(event) for event in events]
        cells = _cells(numbers, events, aggregate_count)
        runs = KeyRuns()
        runs.sequence = sequence
        runs.events_bound = len(events)
        runs.runs = [
            (state, rules_of(rules), start, start_ms, previous_ms, cells[cell])
            for state, rules, start, start_ms, previous_ms, cell in parts_of(open_runs, 6)
        ]
        runs.waiting = [
            (rules_of(rules), [(start, cells[cell]) for start, cell in parts_of(queue, 2)])
            for rules, queue in waiting
        ]
        runs.bound_rules()
    except (ValueError, TypeError, IndexError) as error:
        raise StateEncodingError(f"the encoded state is not well formed: {error}") from error
    return runs


NUMBERS_PER_CELL = 4


def _cells(numbers: list[int], events: list[Any], aggregate_count: int) -> list[Cell]:
    cells: list[Cell] = []
    for previous, step, sequence, event in parts_of(numbers, NUMBERS_PER_CELL):
        if previous >= len(cells):
            raise ValueError("an event comes before the one it follows")
        states = [UNFOLDED] * aggregate_count if aggregate_count else None
        before = None if previous < 0 else cells[previous]
        cells.append((before, step, sequence, events[event], states))
    return cells


def parts_of(values: list[Any], size: int) -> Iterator[tuple[Any, ...]]:
    """Yield a flat list in parts of equal size."""
    iterator = iter(values)
    return zip(*[iterator] * size, strict=True)


def _rules_value(rules: int) -> int | bytes:
    """Return a set of rules as something short that msgpack has a type for."""
    if rules < _PLAIN_RULES:
        return rules
    if not rules & (rules - 1):
        return -rules.bit_length()  # one rule of very many, which is usual
    return rules.to_bytes((rules.bit_length() + 7) // 8, "little")


def rules_of(value: int | bytes) -> int:
    """Return the set of rules that `_rules_value` wrote."""
    if isinstance(value, bytes):
        return int.from_bytes(value, "little")
    return value if value >= 0 else 1 << (-value - 1)


_PLAIN_RULES = 1 << 63


# The envelope, and the values events are made of


def pack(payload: Any) -> bytes:
    """Return a payload of plain values as bytes with magic, version and checksum.

    Raises:
        StateEncodingError: a value is of a type that cannot be written.
    """
    return sealed(pack_values(payload))


def unpack(data: bytes) -> Any:
    """Return the payload that `pack` wrote.

    Raises:
        StateEncodingError: the bytes are corrupt or of a newer format.
    """
    return unpack_values(unsealed(data))


def sealed(body: bytes) -> bytes:
    """Return what `pack` makes of packed values."""
    return _MAGIC + bytes([FORMAT_VERSION]) + zlib.crc32(body).to_bytes(4, "big") + body


def unsealed(data: bytes) -> bytes:
    """Return the packed values in what `pack` wrote.

    Raises:
        StateEncodingError: the bytes are corrupt or of a newer format.
    """
    if len(data) < _HEADER_BYTES or not data.startswith(_MAGIC):
        raise StateEncodingError("not an encoded state: it does not begin as one")
    version = data[len(_MAGIC)]
    if version > FORMAT_VERSION:
        raise StateEncodingError(
            f"the encoded state has format {version}, this version of Percept reads up to "
            f"{FORMAT_VERSION}; upgrade it"
        )
    if version < 1:
        raise StateEncodingError(f"the encoded state is corrupt: there is no format {version}")
    body = data[_HEADER_BYTES:]
    if zlib.crc32(body) != int.from_bytes(data[len(_MAGIC) + 1 : _HEADER_BYTES], "big"):
        raise StateEncodingError("the encoded state is corrupt: its checksum does not fit")
    return body


def pack_values(payload: Any) -> bytes:
    """Return plain values as bytes without an envelope, for a part of what `pack` writes.

    Raises:
        StateEncodingError: a value is of a type that cannot be written.
    """
    try:
        packed: bytes = msgpack.packb(payload, default=_encode_value, strict_types=True)
    except (TypeError, ValueError, OverflowError) as error:
        raise StateEncodingError(f"cannot encode the state: {error}") from error
    return packed


def unpack_values(data: bytes) -> Any:
    """Return the values that `pack_values` wrote.

    Raises:
        StateEncodingError: the bytes are corrupt.
    """
    try:
        return msgpack.unpackb(data, ext_hook=_decode_value, strict_map_key=False, use_list=True)
    except (ValueError, msgpack.UnpackException) as error:
        raise StateEncodingError(f"the encoded state is corrupt: {error}") from error


_TUPLE, _INT, _DECIMAL, _DATETIME, _DATE, _TIMEDELTA = range(6)

_READERS: dict[int, Callable[[bytes], Any]] = {
    _TUPLE: lambda data: tuple(msgpack.unpackb(data, ext_hook=_decode_value, strict_map_key=False)),
    _INT: lambda data: int.from_bytes(data, "big", signed=True),
    _DECIMAL: lambda data: Decimal(data.decode()),
    _DATETIME: lambda data: _datetime(data.decode()),
    _DATE: lambda data: date.fromisoformat(data.decode()),
    _TIMEDELTA: lambda data: timedelta(microseconds=int(data)),
}


def _datetime(text: str) -> datetime:
    """Return an instant; one in UTC has the zone that Polars gives, as events of the call have."""
    value = datetime.fromisoformat(text)
    return value.replace(tzinfo=ZoneInfo("UTC")) if value.tzinfo is UTC else value


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
