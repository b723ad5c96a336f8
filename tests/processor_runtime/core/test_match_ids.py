"""Ids of matches: equal finds are numbered, whether they come one by one or thousands at once."""

from collections import Counter
from hashlib import blake2b
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from processor_runtime.output.match_ids import DIGEST_BYTES, MatchIds

FINDS: Final = st.integers(0, 40)


def text_of(find: int) -> bytes:
    """Return the text of a find: its identity and its events."""
    return f"{('p', find)!r}{{}}".encode()


@given(st.lists(st.one_of(FINDS, st.lists(FINDS, min_size=1, max_size=60))))
def test_each_find_is_numbered_by_how_often_it_came(given_finds: list[int | list[int]]) -> None:
    ids, counts = MatchIds(), Counter[int]()
    for given_find in given_finds:
        at_once = given_find if isinstance(given_find, list) else [given_find]
        expected = []
        for find in at_once:
            number = counts[find].to_bytes(4, "big") if counts[find] else b""
            expected.append(blake2b(text_of(find) + number, digest_size=DIGEST_BYTES).hexdigest())
            counts[find] += 1
        if isinstance(given_find, list):
            assert [each.hex() for each in ids.digests([*map(text_of, at_once)])] == expected
        else:
            assert [ids.match_id(("p", given_find), "{}")] == expected
