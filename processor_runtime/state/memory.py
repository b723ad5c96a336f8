"""The state of a shard that ends with its process; see `KeyedState`."""

from collections.abc import Mapping, Sequence


class StateInMemory(dict[str, bytes]):
    """Named values in a dict."""

    def put(self, name: str, value: bytes) -> None:
        """Set a value."""
        self[name] = value

    def delete(self, name: str) -> None:
        """Remove a value, if there is one."""
        self.pop(name, None)

    def get_many(self, names: Sequence[str]) -> list[bytes | None]:
        """Return values in the order of their names, `None` for those that are not there."""
        return [self.get(name) for name in names]

    def put_many(self, changes: Mapping[str, bytes | None]) -> None:
        """Set values, and remove those that are `None`."""
        for name, value in changes.items():
            if value is None:
                self.delete(name)
            else:
                self.put(name, value)
