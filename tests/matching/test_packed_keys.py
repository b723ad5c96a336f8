"""What compiled code reads and writes of keys is what `cep.nfa.codec` reads and writes."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from cep.nfa.codec import pack_values, unpack_values
from cep.nfa.errors import StateEncodingError
from cep.nfa.machine import Machine
from cep.nfa.runs import KeyRuns
from percept import BatchMatcher, Pattern, PatternError, Schema
from tests.brute_force.strategies import event_lists, patterns

pytest.importorskip("numba")

from cep.nfa_kernel.entries import reading
from cep.nfa_kernel.entries.compacting import compacted
from cep.nfa_kernel.entries.packed_values import (
    MALFORMED,
    end_of,
    read_array,
    read_int,
    write_array,
    write_int,
)
from cep.nfa_kernel.entries.writing import payloads_of

SCHEMA = Schema.from_ddl("ts BIGINT, id BIGINT, name STRING, price DOUBLE")
NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.sampled_from(
    [sign * (1 << bits) + more for bits in range(63) for sign in (1, -1) for more in (-1, 0, 1)]
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | st.text(max_size=300)
    | st.binary(max_size=300)
    | st.dates()
    | st.datetimes()
    | st.decimals(allow_nan=False),
    lambda inner: (
        st.lists(inner, max_size=40) | st.dictionaries(st.text(max_size=3), inner, max_size=20)
    ),
    max_leaves=60,
)
EVERY_RULE = 2**62 - 1


def as_array(data: bytes) -> Any:
    return np.frombuffer(data, np.uint8)


@given(NUMBERS)
def test_integers_are_written_as_msgpack_writes_them(number: int) -> None:
    room = np.zeros(16, np.uint8)
    end = write_int(room, 3, number)
    packed = pack_values(number)
    assert room[3:end].tobytes() == packed
    assert read_int(as_array(packed), 0, len(packed)) == (number, len(packed))
    for short in range(len(packed)):
        assert read_int(as_array(packed), 0, short)[1] == MALFORMED


@given(st.integers(0, 70_000))
def test_arrays_begin_as_msgpack_begins_them(count: int) -> None:
    room = np.zeros(16, np.uint8)
    end = write_array(room, 2, count)
    packed = pack_values([None] * count)
    assert packed.startswith(room[2:end].tobytes())
    assert read_array(as_array(packed), 0, len(packed)) == (count, end - 2)
    if count > 2:
        assert read_array(as_array(packed), 0, end - 2)[1] == MALFORMED


@given(VALUES, st.data())
def test_values_end_where_msgpack_says(value: Any, data: st.DataObject) -> None:
    packed = pack_values(value)
    assert end_of(as_array(packed + b"\x01"), 0, len(packed) + 1) == len(packed)
    short = data.draw(st.integers(0, len(packed) - 1))
    assert end_of(as_array(packed), 0, short) == MALFORMED


def test_numbers_that_do_not_fit_are_none() -> None:
    for value in (2**63, 2**64 - 1, 1.5, None, "7", [7]):
        packed = pack_values(value)
        assert read_int(as_array(packed), 0, len(packed))[1] == MALFORMED


def copy_of(payload: bytes) -> bytes | None:
    """Return a payload that has gone through arrays; `None` if it is not well formed."""
    data = as_array(payload)
    states = reading.states_of(data, np.array([[0, len(payload)]]), 5, EVERY_RULE)
    if not states.is_well_formed:
        return None
    kept = compacted(states.keys, 5 + len(states.events))
    spans = np.zeros((len(kept.events), 3), np.int64)
    spans[:, 1:] = states.events[kept.events - 5]
    written, begins = payloads_of(states.keys, kept, data, as_array(b"\x90"), spans)
    assert begins.tolist() == [0, len(written)]
    return written.tobytes()


@given(patterns(), event_lists(max_size=12), st.data())
def test_payloads_are_read_and_written_as_objects_are(
    document: dict[str, Any], events: list[dict[str, Any]], data: st.DataObject
) -> None:
    try:
        pattern = Pattern.from_document(document, flink_quirks=True)
    except PatternError:
        reject()
    matcher = BatchMatcher({"p": pattern, "q": pattern}, schema=SCHEMA, compiles=False)
    (shape,) = matcher.matcher.shapes
    machine = shape.machine
    assert isinstance(machine, Machine)
    for event in events:
        matcher.process(pl.DataFrame([event], schema=SCHEMA.to_polars()))
        runs = shape.keys.get(None)
        if not isinstance(runs, KeyRuns):
            continue
        payload = pack_values(machine.payload(runs))
        assert copy_of(payload) == payload
        spoiled = bytearray(payload)
        place = data.draw(st.integers(0, len(payload) - 1))
        spoiled[place] = data.draw(st.integers(0, 255))
        agrees_on(bytes(spoiled[: data.draw(st.sampled_from([len(payload), place]))]), machine)


def agrees_on(spoiled: bytes, machine: Machine) -> None:
    """See that whatever compiled code takes for well formed is so for the machine in Python."""
    copy = copy_of(spoiled)
    if copy is None or not copy:
        return
    try:
        runs = machine.of_payload(unpack_values(spoiled))
        runs.keep_only(EVERY_RULE)  # matches held back for no rule are given up
    except (StateEncodingError, ValueError, TypeError):
        # Events are not looked into, nor are numbers that only Python's objects have to be.
        return
    assert unpack_values(copy) == unpack_values(pack_values(machine.payload(runs)))


def test_a_rule_that_compiled_code_has_no_bit_for_is_left_to_python() -> None:
    for held_back, is_read in ((1, True), (-32, False)):
        payload = [1, True, [[7]], [-1, 0, 0, 0], [], [[held_back, [0, 0]]]]
        assert (copy_of(pack_values(payload)) is not None) == is_read


def test_of_an_entry_shapes_are_told_apart() -> None:
    payloads = [[2, True, [[7]], [-1, 0, 0, 0], [1, 1, 0, 5, 5, 0], []] for _ in range(3)]
    entries = [pack_values([[0, payloads[0]], [2, payloads[1]]]), b"", pack_values([[1, [3]]])]
    data = as_array(b"".join(entries))
    begins = np.cumsum([0, *map(len, entries)])
    spans = np.stack([begins[:-1], begins[1:]], axis=1)
    layouts = np.zeros(3, np.int64)
    numbers = np.array([[4, 0, reading.GONE]])
    parts, could = reading.parts_of(data, spans, layouts, numbers)
    assert could
    assert parts[:, :2].tolist() == [[0, 4], [2, 0]]
    begin, end = parts[0, 2:].tolist()
    assert unpack_values(data[begin:end].tobytes()) == payloads[0]
    numbers = np.array([[4, reading.NO_SHAPE, 5]])
    assert not reading.parts_of(data, spans, layouts, numbers)[1]
    assert not reading.parts_of(data, spans, layouts, numbers[:, :1].copy())[1]


@given(st.binary(max_size=40))
def test_nothing_is_read_beside_the_bytes_there_are(data: bytes) -> None:
    spans, layouts = np.array([[0, len(data)]]), np.zeros(1, np.int64)
    parts, could = reading.parts_of(as_array(data), spans, layouts, np.zeros((1, 3), np.int64))
    for _, _, begin, end in parts.tolist() if could else ():
        copy_of(data[begin:end])
    copy_of(data)
