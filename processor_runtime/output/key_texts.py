"""The keys of matches as texts, each made once for all blocks and shapes of a call.

keys of a call, their numbers in finds ──KeyTable──► KeyTexts, for rows and ids
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa

from cep.compiling import Ints
from cep.number_order import ranked
from processor_runtime.output.arrow_texts import texts
from processor_runtime.rows.json_text import list_texts

_MOST_KEPT: Final = 65_536
"""Of more keys, few come again soon, and to add to the texts of all takes longer than to make some
anew."""


@dataclass(frozen=True, slots=True)
class KeyTexts:
    """Keys, and which of them each of some finds is of.

    Args:
        json_texts: keys as JSON.
        places: of each find the place of its key.
    """

    json_texts: pa.StringArray
    places: Ints


@dataclass(slots=True)
class KeyTable:
    """The texts of those keys of a call that were asked for.

    Args:
        keys: all of them.
    """

    keys: Sequence[Hashable]
    _place_of: Ints = field(init=False)
    _json_texts: pa.StringArray = field(default_factory=lambda: texts([]))

    def __post_init__(self) -> None:
        self._place_of = np.full(len(self.keys), -1, np.int64)

    def of(self, key_numbers: Sequence[Ints]) -> list[KeyTexts]:
        """Return the keys of each of some parts, which have one table.

        Args:
            key_numbers: of each part the places of its keys in `keys`.

        Raises:
            NoJson: there is something in a key that JSON has no form for.
        """
        different, ranks = ranked(np.concatenate(key_numbers))
        self._add(different)
        places = self._place_of[different][ranks]
        ends = np.cumsum([len(each) for each in key_numbers])
        return [KeyTexts(self._json_texts, part) for part in np.split(places, ends[:-1])]

    def _add(self, numbers: Ints) -> None:
        """Have the texts of these keys."""
        new = numbers[self._place_of[numbers] < 0]
        if not len(new):
            return
        is_full = len(self._json_texts) + len(new) > _MOST_KEPT
        if is_full:
            new = numbers
        written = texts(list_texts([self.keys[number] for number in new.tolist()]))
        if is_full:
            self._place_of.fill(-1)
        else:
            written = pa.concat_arrays([self._json_texts, written])
        self._place_of[new] = np.arange(len(written) - len(new), len(written))
        self._json_texts = written
