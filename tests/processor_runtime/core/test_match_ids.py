"""Ids of matches: equal finds are numbered, whether they come one by one or thousands at once."""

from collections import Counter
from hashlib import blake2b
from typing import Any, Final, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.compiling import is_available
from processor_runtime.rows.match_ids import DIGEST_BYTES, Digests, MatchIds

pytestmark = pytest.mark.skipif(not is_available(), reason="numba is not installed")

FINDS: Final = st.integers(0, 40)
WORDS: Final = st.one_of(st.integers(0, 3), st.integers(0, 2**32 - 1).map(lambda word: word << 32))
"""Few, and those that want the same place in any table."""


def text_of(find: int) -> bytes:
    """Return the text of a find: its identity and its events."""
    return f"{('p', find)!r}{{}}".encode()


def digest_of(text: bytes) -> bytes:
    """Return the digest of a text."""
    return blake2b(text, digest_size=DIGEST_BYTES).digest()


def digests_of(finds: list[int]) -> Digests:
    """Return the digests of finds as compiled code does."""
    return np.frombuffer(b"".join(digest_of(text_of(find)) for find in finds), np.uint8).copy()


def ids_of(ids: MatchIds, finds: list[int]) -> list[str]:
    """Return the ids of finds that come at once."""
    found = [digest_of(text_of(find)) for find in finds]
    for place, digest in ids.numbered(digests_of(finds), lambda place: text_of(finds[place])):
        found[place] = digest
    return [digest.hex() for digest in found]


@given(st.lists(st.one_of(FINDS, st.lists(FINDS, min_size=1, max_size=60))))
def test_each_find_is_numbered_by_how_often_it_has_come_before(
    given_finds: list[int | list[int]],
) -> None:
    ids, counts = MatchIds(), Counter[int]()
    for given_find in given_finds:
        at_once = given_find if isinstance(given_find, list) else [given_find]
        expected = []
        for find in at_once:
            number = counts[find].to_bytes(4, "big") if counts[find] else b""
            expected.append(digest_of(text_of(find) + number).hex())
            counts[find] += 1
        if isinstance(given_find, list):
            assert ids_of(ids, given_find) == expected
        else:
            assert [ids.match_id(("p", given_find), "{}")] == expected


def test_thousands_that_are_different_are_not_counted_one_by_one() -> None:
    ids = MatchIds()
    for begin in range(0, 20_000, 5_000):
        finds = [*range(begin, begin + 5_000)]
        assert ids_of(ids, finds) == [digest_of(text_of(find)).hex() for find in finds]
    assert not ids._counts
    again = ids_of(ids, [7, 20_001])
    assert again[0] == digest_of(text_of(7) + (1).to_bytes(4, "big")).hex()
    assert again[1] == digest_of(text_of(20_001)).hex()
    from cep.nfa_kernel.word_set import add_words  # noqa: PLC0415 - an extra

    assert len(cast("Any", add_words).signatures) == 1


@given(st.lists(st.lists(WORDS)))
def test_a_table_knows_what_has_come(given_words: list[list[int]]) -> None:
    from cep.nfa_kernel.word_set import add_words  # noqa: PLC0415 - an extra

    table, seen = np.empty(0, np.uint64), set[int]()
    for words in given_words:
        # One stands for 0 in the table, and is taken for it.
        written = [max(word, 1) for word in words]
        before = len(seen)
        table, are_new = add_words(table, before, np.array(words, np.uint64))
        seen.update(written)
        assert are_new == (len(seen) - before == len(words))
        assert set(table[table != 0].tolist()) == seen
