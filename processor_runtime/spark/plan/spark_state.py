"""The state of a shard in Spark's map state.

shard matcher ──KeyedState──► SparkState ──messages, many at once──► state store of the task
"""

from collections.abc import Mapping, Sequence

from pyspark.sql.streaming.stateful_processor import MapState

from processor_runtime.spark.plan.state_requests import StateRequests


class SparkState:
    """The state of one shard in Spark's map state; see `KeyedState`."""

    def __init__(self, values: MapState) -> None:
        self._values = values
        self._requests = StateRequests.of(values)

    def get(self, name: str) -> bytes | None:
        """Return a value, `None` if there is none."""
        return self.get_many([name])[0]

    def put(self, name: str, value: bytes) -> None:
        """Set a value."""
        self.put_many({name: value})

    def delete(self, name: str) -> None:
        """Remove a value."""
        self._values.removeKey((name,))

    def get_many(self, names: Sequence[str]) -> list[bytes | None]:
        """Return values in the order of their names, `None` for those that are not there."""
        if self._requests is not None:
            return self._requests.get_many(names)
        rows = [self._values.getValue((name,)) for name in names]
        return [None if row is None else bytes(row[0]) for row in rows]

    def put_many(self, changes: Mapping[str, bytes | None]) -> None:
        """Set values, and remove those that are `None`."""
        if self._requests is not None:
            self._requests.put_many(changes)
            return
        for name, value in changes.items():
            if value is None:
                self._values.removeKey((name,))
            else:
                self._values.updateValue((name,), (value,))
