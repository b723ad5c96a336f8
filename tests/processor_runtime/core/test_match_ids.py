"""Ids of matches: equal finds are numbered, whether they come one by one or thousands at once."""

from collections import Counter
from hashlib import blake2b
from typing import Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from processor_runtime.output.match_ids import (
    DIGEST_BYTES,
    MatchIds,
    as_numbers,
    find_digest,
    rule_digest,
)

FINDS: Final = st.tuples(st.integers(0, 3), st.integers(0, 10))
"""Which rule has found what."""


def id_of(find: tuple[int, int], number: int) -> str:
    """Return the id of a find that came so often before."""
    texts = f"p\0{find[0]}\0match".encode(), text_of(find)
    rule, found = (
        int.from_bytes(blake2b(text, digest_size=DIGEST_BYTES).digest()) for text in texts
    )
    first = (rule ^ found).to_bytes(DIGEST_BYTES)
    if not number:
        return first.hex()
    return blake2b(first + number.to_bytes(4, "big"), digest_size=DIGEST_BYTES).hexdigest()


def text_of(find: tuple[int, int]) -> bytes:
    return f'{find[1]},9,["k"]{{}}'.encode()


@given(st.lists(st.one_of(FINDS, st.lists(FINDS, min_size=1, max_size=60))))
def test_each_find_is_numbered_by_how_often_it_came(
    given_finds: list[tuple[int, int] | list[tuple[int, int]]],
) -> None:
    ids, counts = MatchIds(), Counter[tuple[int, int]]()
    for given_find in given_finds:
        at_once = given_find if isinstance(given_find, list) else [given_find]
        expected = []
        for find in at_once:
            expected.append(id_of(find, counts[find]))
            counts[find] += 1
        of_rules = [rule_digest("p", find[0], "match") for find in at_once]
        of_finds = [find_digest(text_of(find)) for find in at_once]
        if isinstance(given_find, list):
            together = ids.ids(as_numbers(of_rules), as_numbers(of_finds))
            assert together.hex() == "".join(expected)
        else:
            assert [ids.match_id(of_rules[0], of_finds[0])] == expected


def test_ids_that_share_half_of_their_numbers_are_not_taken_for_one_another() -> None:
    ids = MatchIds()
    no_rule = np.zeros((1, 2), np.uint64)
    for other in range(3):
        of_find = np.array([[7, other]], np.uint64)
        assert ids.ids(no_rule, of_find) == of_find.tobytes()
    again = np.array([[7, 1]], np.uint64)
    assert ids.ids(no_rule, again) != again.tobytes()


@given(
    st.lists(
        st.binary(max_size=400) | st.sampled_from([bytes(size) for size in (127, 128, 129, 256)])
    )
)
def test_compiled_hashes_are_those_of_the_library(texts: list[bytes]) -> None:
    pytest.importorskip("numba")
    from processor_runtime.output.compiled.blake2b import blake2b_many  # noqa: PLC0415 - an extra

    data = np.frombuffer(bytearray(b"".join(texts)), np.uint8)
    begins = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    assert blake2b_many(data, begins).tolist() == as_numbers(map(find_digest, texts)).tolist()
