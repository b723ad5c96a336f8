"""The interface of a state store for the matching stage: named values of one shard, as bytes.

    shard matcher ──► KeyedState ──► Spark's map state (spark/plan/stages), or a dict in tests

A few large values are faster than many small ones: each access goes to another process.
"""

from typing import Protocol


class KeyedState(Protocol):
    """The values of one shard by name. What is written is seen by later reads of the same batch."""

    def get(self, name: str) -> bytes | None:
        """Return a value, `None` if there is none."""

    def put(self, name: str, value: bytes) -> None:
        """Set a value."""

    def delete(self, name: str) -> None:
        """Remove a value, if there is one."""


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
