"""Ids of matches: equal finds are numbered, whether they come one by one or thousands at once."""

from collections import Counter
from hashlib import blake2b
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from processor_runtime.output.match_ids import (
    DIGEST_BYTES,
    MatchIds,
    as_numbers,
    find_digests,
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
        of_finds = find_digests(map(text_of, at_once))
        if isinstance(given_find, list):
            together = ids.ids(as_numbers(of_rules), as_numbers(of_finds))
            assert together.hex() == "".join(expected)
        else:
            assert [ids.match_id(of_rules[0], of_finds[0])] == expected
