"""Keys of matches as texts: whatever blocks ask for, each find has the texts of its key."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from processor_runtime.output import key_texts
from processor_runtime.output.key_texts import KeyTable
from processor_runtime.rows.json_text import NoJson, list_texts

KEYS = [(number, f'user "{number}"') for number in range(12)]
PARTS = st.lists(st.lists(st.integers(0, len(KEYS) - 1), max_size=6), min_size=1, max_size=3)


@pytest.mark.parametrize("most_kept", [0, 3, 8, 100])
@given(blocks=st.lists(PARTS, max_size=6))
def test_each_find_has_the_texts_of_its_key(most_kept: int, blocks: list[list[list[int]]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(key_texts, "_MOST_KEPT", most_kept)
        table = KeyTable(KEYS)
        for parts in blocks:
            for part, of in zip(
                parts, table.of([np.array(part, np.int64) for part in parts]), strict=True
            ):
                expected = list_texts([KEYS[number] for number in part])
                assert of.json_texts.take(of.places).to_pylist() == expected


def test_after_a_key_without_a_text_the_others_are_right() -> None:
    table = KeyTable([(1,), (object(),), (3,)])
    table.of([np.array([0])])
    with pytest.raises(NoJson):
        table.of([np.array([1, 2])])
    (of,) = table.of([np.array([2, 0])])
    assert of.json_texts.take(of.places).to_pylist() == ["[3]", "[1]"]
