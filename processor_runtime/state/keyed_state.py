"""The interface of a state store for the matching stage: named values of one shard, as bytes.

    shard matcher ──► KeyedState ──► Spark's map state (spark/plan/stages), or a dict in tests

Each access goes to another process; many at once cost half of what they cost one by one.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol


class KeyedState(Protocol):
    """The values of one shard by name. What is written is seen by later reads of the same batch."""

    def get(self, name: str) -> bytes | None:
        """Return a value, `None` if there is none."""

    def put(self, name: str, value: bytes) -> None:
        """Set a value."""

    def delete(self, name: str) -> None:
        """Remove a value, if there is one."""

    def get_many(self, names: Sequence[str]) -> list[bytes | None]:
        """Return values in the order of their names, `None` for those that are not there."""

    def put_many(self, changes: Mapping[str, bytes | None]) -> None:
        """Set values, and remove those that are `None`."""


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

    def get_many(self, names: Sequence[str]) -> list[bytes | None]:
        """See `KeyedState`."""
        return self._state.get_many([self._prefix + name for name in names])

    def put_many(self, changes: Mapping[str, bytes | None]) -> None:
        """See `KeyedState`."""
        self._state.put_many({self._prefix + name: value for name, value in changes.items()})
