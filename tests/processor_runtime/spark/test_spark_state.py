"""Many requests to the state server at once: a server that speaks its protocol, and Spark."""

import pickle
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from socket import socketpair
from typing import IO, Any, cast

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.errors import PySparkRuntimeError
from pyspark.serializers import PickleSerializer
from pyspark.sql import SparkSession
from pyspark.sql.streaming.map_state_client import MapStateClient
from pyspark.sql.streaming.proto import StateMessage_pb2 as messages
from pyspark.sql.streaming.stateful_processor import (
    MapState,
    StatefulProcessor,
    StatefulProcessorHandle,
)
from pyspark.sql.streaming.stateful_processor_api_client import StatefulProcessorApiClient
from pyspark.sql.types import BinaryType, StringType, StructType

from processor_runtime.spark.plan.spark_state import SparkState, StateRequests

KEY = StructType().add("name", StringType())
VALUE = StructType().add("value", BinaryType())
FAILING = "fails"


def row(value: bytes) -> bytes:
    """Return a row as Spark's Java side pickles it: with its schema, and bytes as a text."""
    text, schema = value.decode("latin-1").encode(), VALUE.json().encode()
    return b"".join(
        [
            b"\x80\x02cpyspark.sql.types\n_create_row_inbound_converter\nq\x00",
            b"cpyspark.sql.types\n_parse_datatype_json_string\n",
            b"X" + struct.pack("<i", len(schema)) + schema + b"q\x01\x85Rq\x02\x85R(",
            b"cbuiltins\nbytes\nc__builtin__\nbytearray\n",
            b"X" + struct.pack("<i", len(text)) + text + b"q\x03X\x07\x00\x00\x00latin-1q\x04",
            b"\x86Rq\x05\x85Rq\x06tRq\x07.",
        ]
    )


class Server(threading.Thread):
    """Answers requests for values one by one, as the server in Java does."""

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__(daemon=True)
        self.values: dict[str, bytes] = {}
        self._stream = stream

    def run(self) -> None:
        while begin := self._stream.read(8):
            version, length = struct.unpack("!ii", begin)
            assert version == 0
            request = messages.StateRequest.FromString(self._stream.read(length))
            call = request.stateVariableRequest.mapStateCall
            assert call.stateName == "shard"
            answer = self._answer(call).SerializeToString()
            self._stream.write(struct.pack("!i", len(answer)) + answer)
            self._stream.flush()

    def _answer(self, call: Any) -> Any:
        method = call.WhichOneof("method")
        (name,) = pickle.loads(getattr(call, method).userKey)  # noqa: S301 - of this test
        if name == FAILING:
            return messages.StateResponse(statusCode=1, errorMessage="no such disk")
        if method == "updateValue":
            (self.values[name],) = pickle.loads(call.updateValue.value)  # noqa: S301
        elif method == "removeKey":
            self.values.pop(name, None)
        elif name in self.values:
            return messages.StateResponse(value=row(self.values[name]))
        return messages.StateResponse()


@contextmanager
def served() -> Iterator[tuple[MapState, Server]]:
    """Yield a map state of PySpark, connected to a server."""
    mine, its = socketpair()
    with mine, its, its.makefile("rwb") as stream:
        server = Server(cast(IO[bytes], stream))
        server.start()
        client = StatefulProcessorApiClient.__new__(StatefulProcessorApiClient)
        client.sockfile = mine.makefile("rwb", 65_536)
        client.pickleSer = PickleSerializer()
        yield MapState(MapStateClient(client, KEY, VALUE), "shard"), server
        client.sockfile.close()
        mine.close()
        server.join(10)
        assert not server.is_alive()


VALUES = st.none() | st.binary(max_size=30) | st.sampled_from([bytes(range(256)) * 300, b"latin-1"])


@given(st.lists(st.dictionaries(st.integers(0, 200).map(str), VALUES), max_size=4), st.booleans())
def test_values_come_back_whatever_is_asked_at_once(
    batches: list[dict[str, bytes | None]],
    is_one_by_one: bool,  # noqa: FBT001
) -> None:
    expected: dict[str, bytes] = {}
    with served() as (values, _):
        state = SparkState(cast(MapState, Public(values)) if is_one_by_one else values)
        for batch in batches:
            state.put_many(batch)
            expected |= {name: value for name, value in batch.items() if value is not None}
            for name in [name for name, value in batch.items() if value is None]:
                expected.pop(name, None)
            names = [*map(str, range(201)), "stranger"]
            assert state.get_many(names) == [expected.get(name) for name in names]
            assert state.get("stranger") is None
        state.put("7", b"once")
        assert state.get("7") == b"once"
        state.delete("7")
        assert state.get_many(["7"]) == [None]


def test_neither_side_waits_for_the_other_for_ever() -> None:
    # More than there is room for on the way, in both directions.
    large = {f"n{number}": bytes(range(128)) * 800 for number in range(300)}
    small = {f"s{number}": b"x" for number in range(5_000)}
    with served() as (values, server):
        state = SparkState(values)
        state.put_many(large | small)
        assert len(server.values) == 5_300
        assert state.get_many(list(large | small)) == [*large.values(), *small.values()]
        state.put_many(dict.fromkeys(large | small))
        assert server.values == {}


def test_what_the_server_cannot_do_is_told() -> None:
    with served() as (values, _):
        with pytest.raises(PySparkRuntimeError, match="no such disk"):
            SparkState(values).get_many(["a", FAILING])
        with pytest.raises(PySparkRuntimeError, match="no such disk"):
            SparkState(values).put_many({FAILING: b"x"})


class Public:
    """A map state of which only what is public is known."""

    def __init__(self, values: MapState) -> None:
        self.getValue = values.getValue
        self.updateValue = values.updateValue
        self.removeKey = values.removeKey


def test_without_private_names_of_pyspark_there_are_no_such_requests() -> None:
    with served() as (values, _):
        assert StateRequests.of(values) is not None
        assert StateRequests.of(Public(values)) is None
        del values._mapStateClient._stateful_processor_api_client.pickleSer
        assert StateRequests.of(values) is None


class AskingProcessor(StatefulProcessor):
    """Writes, reads and removes values, and yields what it has found."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._values = handle.getMapState("shard", "name STRING", "value BINARY")

    def handleInputRows(  # noqa: N802 - Spark's name
        self,
        key: Any,
        rows: Iterator[pd.DataFrame],
        timerValues: Any,  # noqa: N803
    ) -> Iterator[pd.DataFrame]:
        del key, rows, timerValues
        state = SparkState(self._values)
        changes: dict[str, bytes | None] = {
            f"n{number}": bytes(range(256)) * number for number in range(200)
        }
        state.put_many(changes)
        state.put_many({"n7": None})
        found = state.get_many([*changes, "n200"])
        one_by_one = [self._values.getValue((name,)) for name in ("n5", "n7")]
        expected = [*list(changes.values())[:7], None, *list(changes.values())[8:], None]
        told = {
            "asks_many": state._requests is not None,
            "is_equal": found == expected,
            "is_seen": one_by_one[0] is not None and one_by_one[1] is None,
        }
        yield pd.DataFrame([told])

    def close(self) -> None:
        """Do nothing."""


def test_spark_answers_many_requests(spark: SparkSession) -> None:
    columns = "asks_many BOOLEAN, is_equal BOOLEAN, is_seen BOOLEAN"
    groups = spark.range(1).selectExpr("CAST(id AS INT) AS shard").groupBy("shard")
    told = groups.transformWithStateInPandas(AskingProcessor(), columns, "Update", "None").collect()
    assert [tuple(each) for each in told] == [(True, True, True)]
