"""Compiled: which words have come before, of many that are as good as random.

words ──add_words──► a table of all that have come, and whether one of them has come again
"""

from typing import Final

import numpy as np

from cep.compiling import compiled, in_place
from cep.nfa_kernel.blake2b import Words

_FREE: Final = np.uint64(0)
_INSTEAD_OF_FREE: Final = np.uint64(1)
_PLACES_PER_WORD: Final = 2


@compiled
def add_words(table: Words, count: int, words: Words) -> tuple[Words, bool]:
    """Return a table with more words, and whether all of them are new: none comes twice.

    Of two words one may be taken for the other, which happens to one in 2**63.

    Args:
        table: of `count` words, or empty.
        count: how many are in it.
        words: more.
    """
    if (count + len(words)) * _PLACES_PER_WORD > len(table):
        grown = np.zeros(_places_for(2 * (count + len(words))), np.uint64)
        for place in range(len(table)):
            if table[place] != _FREE:
                _is_added(grown, table[place])
        table = grown
    are_new = True
    for number in range(len(words)):
        word = words[number]
        are_new &= _is_added(table, word if word != _FREE else _INSTEAD_OF_FREE)
    return table, are_new


@in_place
def _places_for(count: int) -> int:
    """Return how many places a table has, a power of two."""
    places = 1
    while places < count * _PLACES_PER_WORD:
        places *= 2
    return places


@in_place
def _is_added(table: Words, word: np.uint64) -> bool:
    """Add a word; return whether it was not there."""
    last = np.uint64(len(table) - 1)
    place = word & last
    while table[place] != _FREE:
        if table[place] == word:
            return False
        place = (place + np.uint64(1)) & last
    table[place] = word
    return True
