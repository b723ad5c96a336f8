"""The state of a shard that ends with its process; see `KeyedState`."""


class StateInMemory(dict[str, bytes]):
    """Named values in a dict."""

    def put(self, name: str, value: bytes) -> None:
        """Set a value."""
        self[name] = value

    def delete(self, name: str) -> None:
        """Remove a value, if there is one."""
        self.pop(name, None)
