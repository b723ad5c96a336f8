"""The state of a shard in Spark's map state: the same values again, in bytes below 128."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from processor_runtime.spark.plan.spark_state import SparkState, in_eight_bits, in_seven_bits

VALUES = st.binary(max_size=70) | st.sampled_from([bytes(range(256)) * n for n in (1, 64, 65)])


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


@given(VALUES, st.sampled_from([b"", b"7", b"P", b"\xff"]))
def test_a_value_comes_back(value: bytes, begin: bytes) -> None:
    values = Values()
    state(values).put("name", begin + value)
    assert state(values).get("name") == begin + value
    state(values).delete("name")
    assert state(values).get("name") is None


def test_values_that_were_written_as_they_are_can_be_read() -> None:
    values = Values()
    earlier = b"PCPT\x01" + bytes(range(256)) * 90
    values.updateValue(("name",), (earlier,))
    assert state(values).get("name") == earlier
    state(values).put("name", earlier)
    assert max(values.rows["name",]) < 128
    assert state(values).get("name") == earlier
