"""Which kinds of rows there are, by the tests that hold for each.

    rows and tests that hold, or a word of bits for each row ──► rows whose kind is truthy, kinds

A row for which no test holds is of a kind, too: that of no tests.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cep.compiling import Ints

Kind = TypeVar("Kind")
KindOf = Callable[[tuple[int, ...]], Kind]
"""From the numbers of the tests that hold for a row, ascending, to its kind."""
Concerned = tuple[pl.Series, list[Kind], Ints]
"""Some rows, in order; the kinds there are among them; and of each row the place of its kind."""

WORDS: Final[dict[int, pl.DataType]] = {
    8: pl.UInt8(),
    16: pl.UInt16(),
    32: pl.UInt32(),
    64: pl.UInt64(),
}
"""What a word is, by how many tests it has bits for."""
_SHORT_WORD_BYTES: Final = 2
_NOT_CONCERNED: Final = -1


@dataclass(slots=True)
class _Places(Generic[Kind]):
    """The places of truthy kinds, which are listed in `kinds`."""

    kind_of: KindOf[Kind]
    kinds: list[Kind] = field(default_factory=list)

    def of(self, tests: tuple[int, ...]) -> int:
        kind = self.kind_of(tests)
        if not kind:
            return _NOT_CONCERNED
        self.kinds.append(kind)
        return len(self.kinds) - 1


def kinds_of_hits(hits: pl.DataFrame, count: int, kind_of: KindOf[Kind]) -> Concerned[Kind]:
    """Return the rows whose kind is truthy, out of `count`; asks for one kind per set of tests.

    `hits` has the columns `row` and `test`; each pair once.
    """
    places = _Places(kind_of)
    rows, tests = (hits.get_column(name).to_numpy() for name in ("row", "test"))
    times = np.bincount(rows, minlength=count)
    # One test holds for nearly every row where each rule is about one shop or customer.
    is_alone = times[rows] == 1
    of_rows = np.full(count, _NOT_CONCERNED, np.int64)
    if not times.all():
        of_rows[times == 0] = places.of(())
    of_rows[rows[is_alone]] = _of_one_test(tests[is_alone], places)
    if not is_alone.all():
        several = hits.filter(pl.Series(~is_alone))
        by_row = several.group_by("row").agg(pl.col("test").sort())
        alike = by_row.group_by("test", maintain_order=True).agg("row")
        found = [places.of(tuple(each)) for each in alike.get_column("test").to_list()]
        each_row = alike.select("row", place=pl.Series(found, dtype=pl.Int64)).explode("row")
        of_rows[each_row.get_column("row").to_numpy()] = each_row.get_column("place").to_numpy()
    concerned = np.flatnonzero(of_rows != _NOT_CONCERNED)
    return pl.Series(concerned, dtype=pl.UInt32), places.kinds, of_rows[concerned]


def _of_one_test(tests: NDArray[np.uint32], places: _Places[Kind]) -> Ints:
    """Return the place of the kind of each row, given the one test that holds for it."""
    times = np.bincount(tests)
    of_tests = np.full(len(times), _NOT_CONCERNED, np.int64)
    for test in np.flatnonzero(times).tolist():
        of_tests[test] = places.of((test,))
    found: Ints = of_tests[tests]
    return found


def kinds_of_words(words: pl.Series, tests: int, kind_of: KindOf[Kind]) -> Concerned[Kind]:
    """Return the rows whose kind is truthy, given words of `WORDS`: bit by bit, what holds."""
    kinds = {
        word: kind_of(tuple(number for number in range(tests) if word >> number & 1))
        for word in words.unique().to_list()
    }
    concerned = pl.Series(sorted(word for word in kinds if kinds[word]), dtype=words.dtype)
    if len(concerned) == len(kinds):
        rows = pl.int_range(len(words), dtype=pl.UInt32, eager=True)
    else:
        rows = words.is_in(concerned.implode()).arg_true()
        words = words[rows]
    numbers = _places_among(concerned.to_numpy(), words.to_numpy())
    return rows, [kinds[word] for word in concerned.to_list()], numbers


def _places_among(different: NDArray[Any], words: NDArray[Any]) -> Ints:
    """Return the place of each word among the different ones, which are ascending."""
    if words.itemsize > _SHORT_WORD_BYTES:
        return np.searchsorted(different, words).astype(np.int64)
    places = np.zeros(1 << 8 * words.itemsize, np.int64)
    places[different] = np.arange(len(different))
    found: Ints = places[words]
    return found
