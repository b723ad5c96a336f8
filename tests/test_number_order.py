"""The different ones of many numbers, and where each of them is."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cep.nfa.chains import ranked

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
