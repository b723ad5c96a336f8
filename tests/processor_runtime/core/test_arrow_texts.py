"""Texts that are put together of pieces."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.compiling import is_available
from processor_runtime.output import arrow_texts
from processor_runtime.output.arrow_texts import TooLarge, join_pieces, texts

pytestmark = pytest.mark.skipif(not is_available(), reason="numba is not installed")

PIECES = [text * times for text in ("", "a", "é", "{}", "\x00") for times in (0, 1, 2, 3, 5, 9, 40)]


@given(st.lists(st.lists(st.integers(0, len(PIECES) - 1), max_size=6), max_size=12), st.data())
def test_texts_are_their_pieces_one_after_the_other(
    wanted: list[list[int]], data: st.DataObject
) -> None:
    first = data.draw(st.integers(0, 3))
    # A part of a larger column begins somewhere in its bytes.
    table = texts([*["before"] * first, *PIECES, "behind"])[first : first + len(PIECES)]
    pieces = np.array([piece for text in wanted for piece in text], np.int64)
    begin = np.cumsum([0, *map(len, wanted)]).astype(np.int64)
    found = join_pieces(table, pieces, begin)
    found.validate(full=True)
    assert found.type == pa.string()
    assert found.to_pylist() == ["".join(PIECES[piece] for piece in text) for text in wanted]


def test_they_have_a_greatest_size(monkeypatch: pytest.MonkeyPatch) -> None:
    from cep.nfa_kernel import text_joining  # noqa: PLC0415 - an extra

    monkeypatch.setattr(arrow_texts, "MOST_BYTES", 100)
    table, begin = texts(["x" * 10]), np.array([0, 10], np.int64)
    assert join_pieces(table, np.zeros(10, np.int64), begin).to_pylist() == ["x" * 100]
    with pytest.raises(TooLarge):
        join_pieces(table, np.zeros(11, np.int64), begin + np.array([0, 1]))
    functions: list[Any] = [text_joining.join_octets, text_joining.joined_sizes]
    assert [len(function.signatures) for function in functions] == [1, 1]
