"""The different ones of many numbers, where each of them is, and the order of rows of numbers."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cep.number_order import ranked, stable_order

NEAR = st.integers(-20, 20)
FAR = st.integers(-(2**40), 2**40)


@given(st.lists(NEAR) | st.lists(FAR) | st.lists(NEAR | FAR))
@example([])
@example([7])
def test_numbers_are_ranked_as_numpy_does_by_sorting(numbers: list[int]) -> None:
    given_numbers = np.array(numbers, np.int64)
    different, places = ranked(given_numbers)
    assert different.tolist() == sorted(set(numbers))
    assert different[places].tolist() == numbers


@pytest.mark.parametrize("apart", [1, 10_000])
def test_many_numbers_are_ranked_however_far_apart(apart: int) -> None:
    numbers = np.random.default_rng(1).integers(0, 1_000, 5_000) * apart
    different, places = ranked(numbers)
    expected, expected_places = np.unique(numbers, return_inverse=True)
    assert (different == expected).all()
    assert (places == expected_places).all()


@given(st.lists(st.tuples(NEAR | FAR, NEAR, NEAR | st.integers(-(2**62), 2**62))))
@example([])
@example([(2**40, 0, 2**62), (-(2**40), 0, -(2**62))])
@example([(1, 2, 2), (1, 2, 1), (1, 2, 2), (0, 9, 9)])
def test_rows_are_ordered_as_python_sorts_them(rows: list[tuple[int, int, int]]) -> None:
    columns = np.array(rows, np.int64).reshape(-1, 3).T
    for count in (1, 2, 3):
        order = stable_order(*columns[:count]).tolist()
        assert order == sorted(range(len(rows)), key=lambda place: rows[place][:count])


@pytest.mark.parametrize("span", [2, 1 << 20, 1 << 62])
def test_many_rows_are_ordered_however_far_apart(span: int) -> None:
    drawn = np.random.default_rng(2).integers(-span, span, (2, 50_000))
    assert (stable_order(*drawn) == np.lexsort(drawn[::-1])).all()
