"""The state of a shard in Spark's map state, many values at once.

    shard matcher ──KeyedState──► SparkState ──names, values──► StateRequests ──► state server (JVM)
                                                          answers in order ──► bytes

PySpark waits for the answer to each request, in which both sides do little but fall asleep and wake
up again. The server reads one request after the other and answers in their order, so that many can
be sent ahead. PySpark has no public way for that: where its private names are others, values are
asked for one by one.
"""

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from pyspark.errors import PySparkRuntimeError
from pyspark.sql.streaming.stateful_processor import MapState

_MOST_AHEAD: Final = 64
"""So many answers to changes, of some bytes each, always have room on their way: the server never
waits for this side to read them while this side waits for it to read requests. Requests for values,
the answers to which are large, are so small that all of them have room."""
_MOST_BYTES_AHEAD: Final = 1 << 16
_BEGIN: Final = struct.Struct("!ii")  # version of the protocol, length of the message
_PROTOCOL: Final = 0
_OF_MAP: Final = ("_mapStateClient", "_stateName")
_OF_CLIENT: Final = ("_receive_proto_message", "pickleSer", "sockfile")


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


class StateRequests:
    """Requests for values of one map state; its key is a column of text, its value one of bytes."""

    def __init__(self, client: Any, state_name: str) -> None:
        # Lazily, as PySpark does: on the driver there need not be protobuf.
        from pyspark.sql.streaming.proto import StateMessage_pb2 as messages  # noqa: PLC0415

        self._client = client
        self._pickled = client.pickleSer.dumps
        self._unpickled = client.pickleSer.loads
        of: list[Any] = [messages.StateRequest() for _ in range(3)]
        self._get, self._put, self._remove = of
        for request in of:
            request.stateVariableRequest.mapStateCall.stateName = state_name

    @classmethod
    def of(cls, values: Any) -> "StateRequests | None":
        """Return requests for a map state of PySpark; `None` if it is not as known here."""
        if not all(hasattr(values, name) for name in _OF_MAP):
            return None
        client = getattr(values._mapStateClient, "_stateful_processor_api_client", None)  # noqa: SLF001
        if not all(hasattr(client, name) for name in _OF_CLIENT):
            return None
        return cls(client, values._stateName)  # noqa: SLF001

    def get_many(self, names: Sequence[str]) -> list[bytes | None]:
        """Return values in the order of their names, `None` for those that are not there.

        Raises:
            PySparkRuntimeError: the server has failed.
        """
        call = self._get.stateVariableRequest.mapStateCall.getValue

        def requests() -> Iterator[bytes]:
            for name in names:
                call.userKey = self._pickled((name,))
                yield self._get.SerializeToString()

        answers = self._answers(requests())
        return [bytes(self._unpickled(each)[0]) if each else None for each in answers]

    def put_many(self, changes: Mapping[str, bytes | None]) -> None:
        """Set values, and remove those that are `None`.

        Raises:
            PySparkRuntimeError: the server has failed.
        """
        update = self._put.stateVariableRequest.mapStateCall.updateValue
        remove = self._remove.stateVariableRequest.mapStateCall.removeKey

        def requests() -> Iterator[bytes]:
            for name, value in changes.items():
                if value is None:
                    remove.userKey = self._pickled((name,))
                    yield self._remove.SerializeToString()
                else:
                    update.userKey = self._pickled((name,))
                    update.value = self._pickled((value,))
                    yield self._put.SerializeToString()

        for _ in self._answers(requests()):
            pass

    def _answers(self, requests: Iterable[bytes]) -> Iterator[bytes]:
        """Send requests, and yield the value of each answer; to be taken to the end."""
        sent, sent_bytes = 0, 0
        for request in requests:
            self._client.sockfile.write(_BEGIN.pack(_PROTOCOL, len(request)) + request)
            sent, sent_bytes = sent + 1, sent_bytes + len(request)
            if sent == _MOST_AHEAD or sent_bytes >= _MOST_BYTES_AHEAD:
                yield from self._received(sent)
                sent, sent_bytes = 0, 0
        if sent:
            yield from self._received(sent)

    def _received(self, count: int) -> Iterator[bytes]:
        self._client.sockfile.flush()
        for _ in range(count):
            status, message, value = self._client._receive_proto_message()  # noqa: SLF001
            if status != 0:
                raise PySparkRuntimeError(f"the state store has failed: {message}")
            yield value
