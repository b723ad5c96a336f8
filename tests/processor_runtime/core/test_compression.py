"""Values of the state, compressed: the same again, or an error that says so."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.nfa.codec import pack, unpack
from cep.nfa.errors import StateEncodingError
from processor_runtime.state.compression import compressed, uncompressed


@given(st.lists(st.binary(max_size=50) | st.integers(0, 9), max_size=50))
def test_what_was_compressed_comes_back(values: list[bytes | int]) -> None:
    assert unpack(uncompressed(compressed(pack(values)))) == values


def test_what_never_was_compressed_is_left_as_it_is() -> None:
    assert uncompressed(pack(["x"])) == pack(["x"])


@given(st.data())
def test_a_broken_value_is_told_of(data: st.DataObject) -> None:
    whole = compressed(pack(["some text"] * 20))
    place = data.draw(st.integers(0, len(whole) - 1))
    broken = bytearray(whole)
    broken[place] ^= data.draw(st.integers(1, 255))
    for written in (bytes(broken), whole[:place]):
        with pytest.raises(StateEncodingError):
            unpack(uncompressed(written))


def test_bytes_that_are_missing_are_told_of() -> None:
    whole = compressed(pack(["some text"] * 20))
    for end in range(len(whole)):
        with pytest.raises(StateEncodingError):
            unpack(uncompressed(whole[:end]))
