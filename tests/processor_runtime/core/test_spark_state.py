"""The state of a shard in Spark's map state: the same values again, in bytes below 128."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from processor_runtime.spark.plan.seven_bits import (
    all_in_eight_bits,
    all_in_seven_bits,
    in_eight_bits,
    in_seven_bits,
)
from processor_runtime.spark.plan.spark_state import SparkState

VALUES = st.binary(max_size=70) | st.sampled_from(
    [bytes(range(255, 255 - size, -1)) for size in (1, 63, 64, 65)]
    + [(bytes(range(256)) * 70)[:size] for size in (447, 448, 449, 511, 512, 895, 896, 16_384)]
)


class Values:
    """Stands for `MapState`, which returns the bytes of a row as a bytearray."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str], bytes] = {}

    def getValue(self, key: tuple[str]) -> tuple[bytearray] | None:  # noqa: N802 - Spark's name
        found = self.rows.get(key)
        return None if found is None else (bytearray(found),)

    def updateValue(self, key: tuple[str], value: tuple[bytes]) -> None:  # noqa: N802
        (self.rows[key],) = value

    def removeKey(self, key: tuple[str]) -> None:  # noqa: N802
        self.rows.pop(key, None)


def state(values: Any) -> SparkState:
    return SparkState(values)


@given(VALUES)
def test_bytes_of_seven_bits_hold_those_of_eight(value: bytes) -> None:
    written = in_seven_bits(value)
    assert max(written, default=0) < 128
    assert len(written) == len(value) + -(-len(value) // 7)
    assert in_eight_bits(written) == value


@given(st.lists(VALUES, max_size=70))
def test_many_values_in_seven_bits_hold_those_of_eight(values: list[bytes]) -> None:
    written = all_in_seven_bits(values)
    assert max(map(max, filter(None, written)), default=0) < 128
    assert all_in_eight_bits(written) == values
    assert [all_in_seven_bits([value]) for value in values] == [[each] for each in written]


@given(st.dictionaries(st.integers(0, 99).map(str), VALUES, max_size=40))
def test_many_values_come_back(changes: dict[str, bytes]) -> None:
    values = Values()
    state(values).put_many(changes)
    assert state(values).get_many([*changes, "none"]) == [*changes.values(), None]
    state(values).put_many(dict.fromkeys(changes))
    assert values.rows == {}


@given(VALUES, st.sampled_from([b"", b"7", b"8", b"P", b"\xff"]))
def test_a_value_comes_back(value: bytes, begin: bytes) -> None:
    values = Values()
    state(values).put("name", begin + value)
    assert state(values).get("name") == begin + value
    state(values).delete("name")
    assert state(values).get("name") is None


def test_values_that_were_written_as_they_are_can_be_read() -> None:
    values = Values()
    earlier = b"PCPT\x01" + bytes(range(256)) * 90
    for written in (earlier, b"7" + in_seven_bits(earlier)):
        values.updateValue(("name",), (written,))
        assert state(values).get("name") == earlier
    state(values).put("name", earlier)
    assert max(values.rows["name",]) < 128
    assert state(values).get("name") == earlier
