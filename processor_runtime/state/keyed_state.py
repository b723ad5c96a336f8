"""What the matching stage needs of a state store: named values of one shard, as bytes.

    shard matcher ──► KeyedState ──► Spark's map state (spark/stages), or a dict in tests

Few and large values beat many small ones: each access crosses a process border.
"""

from typing import Protocol


class KeyedState(Protocol):
    """The values of one shard by name. What is written is seen by later reads of the same batch."""

    def get(self, name: str) -> bytes | None:
        """Return a value, `None` if there is none."""

    def put(self, name: str, value: bytes) -> None:
        """Set a value."""

    def delete(self, name: str) -> None:
        """Remove a value; nothing happens if there is none."""


class StateUnder:
    """The part of a state whose names begin with a prefix."""

    def __init__(self, state: KeyedState, prefix: str) -> None:
        self._state = state
        self._prefix = prefix

    def get(self, name: str) -> bytes | None:
        """See `KeyedState`."""
        return self._state.get(self._prefix + name)

    def put(self, name: str, value: bytes) -> None:
        """See `KeyedState`."""
        self._state.put(self._prefix + name, value)

    def delete(self, name: str) -> None:
        """See `KeyedState`."""
        self._state.delete(self._prefix + name)
