"""A cache with a bound: when it is full everything is forgotten, and it fills again.

What repeats is soon there again, and what never repeats costs no bookkeeping, so this suits caches
of which few entries matter at a time.

Source: lazy DFAs, whose states are cached so (RE2; `regex-automata`, module `hybrid`).
"""

from collections.abc import Callable
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class BoundedCache(dict[K, V]):
    """Values computed when their key is first asked for (`cache[key]`).

    `size` is how much is kept, `clears` how often it was too much.

    Args:
        work_out: from a key to its value.
        capacity: how much is kept at most; an entry that alone is more is not kept.
        size_of: how much an entry counts; by default entries are counted.
    """

    __slots__ = ("_size_of", "_work_out", "capacity", "clears", "size")

    def __init__(
        self,
        work_out: Callable[[K], V],
        capacity: int,
        size_of: Callable[[K, V], int] = lambda _key, _value: 1,
    ) -> None:
        super().__init__()
        self._work_out = work_out
        self._size_of = size_of
        self.capacity = capacity
        self.size = 0
        self.clears = 0

    def __missing__(self, key: K) -> V:
        value = self._work_out(key)
        size = self._size_of(key, value)
        if size > self.capacity:
            return value
        if self.size + size > self.capacity:
            self.clear()
            self.clears += 1
        self[key] = value
        self.size += size
        return value

    def clear(self) -> None:
        """Forget everything."""
        super().clear()
        self.size = 0
