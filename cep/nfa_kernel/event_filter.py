"""Compiled: those of many events that are of some kinds, key by key, in one pass over all of them.

events key by key, numbers of kinds ──of_kinds──► events key by key, their keys
"""

import numpy as np

from cep.compiling import Ints, compiled
from cep.nfa_kernel.arrays import KeyEvents


@compiled
def of_kinds(events: KeyEvents, numbers: Ints, count: int) -> tuple[KeyEvents, Ints]:
    """Return the events of some kinds, and the places of the keys that have any, ascending.

    Args:
        events: all events, of some kinds each.
        numbers: of each kind, how events of it are numbered in what is returned; 0 if there are
            none in it.
        count: how many events are returned.
    """
    keys_at_most = min(count, len(events.begin) - 1)
    # What does not belong there is overwritten by what does: chance is nothing to jump on.
    order = np.empty(count + 1, np.int64)
    times_ms, kinds = np.empty(count + 1, np.int64), np.empty(count + 1, np.int64)
    begin, keys = np.empty(keys_at_most + 2, np.int64), np.empty(keys_at_most + 1, np.int64)
    found, of_keys = 0, 0
    for key in range(len(events.begin) - 1):
        begin[of_keys], keys[of_keys] = found, key
        for place in range(events.begin[key], events.begin[key + 1]):
            number = numbers[events.kinds[place]]
            order[found], times_ms[found] = events.order[place], events.times_ms[place]
            kinds[found] = number
            found += number != 0
        of_keys += found > begin[of_keys]
    begin[of_keys] = found
    of_some = KeyEvents(
        begin[: of_keys + 1], order[:found], times_ms[:found], kinds[:found], events.first_held
    )
    return of_some, keys[:of_keys]
