"""A streaming source of your own for Spark: entries of a Redis Stream, by `format: redis-streams`.

    XADD payments * event '{"card": "4711", …}' ──► rows `id STRING, value STRING`

Spark finds it by the name of this module, which begins with `pyspark_`, and its `DefaultSource`.
"""

from collections.abc import Iterator
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from redis import Redis

BEGINNING = "0-0"
ROWS_PER_REQUEST = 10_000


class DefaultSource(DataSource):
    """The source, with its options: `url`, `stream`, and `maxRows` of a batch."""

    @classmethod
    def name(cls) -> str:
        """Return what a job file writes as `format`."""
        return "redis-streams"

    def schema(self) -> str:
        """Return the columns of a row."""
        return "id STRING, value STRING"

    def streamReader(self, schema: Any) -> "RedisReader":  # noqa: N802 - Spark's name
        """Return what plans batches and reads them."""
        del schema
        return RedisReader(dict(self.options))


class Entries(InputPartition):
    """The entries of a batch: those after `begin`, up to and with `end`."""

    def __init__(self, begin: str, end: str) -> None:
        super().__init__(None)
        self.begin = begin
        self.end = end


class RedisReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A position is the id of the last entry read; a batch is what lies between two of them."""

    def __init__(self, options: dict[str, str]) -> None:
        # Spark hands on the names of options in small letters.
        self.url, self.stream = options["url"], options["stream"]
        self.max_rows = options.get("maxrows")
        self.last: str | None = None

    def initialOffset(self) -> dict[str, str]:  # noqa: N802 - Spark's name
        """Return where a new checkpoint begins: always the same, as Spark may ask again."""
        return {"id": BEGINNING}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """Return how much a batch may take."""
        return ReadAllAvailable() if self.max_rows is None else ReadMaxRows(int(self.max_rows))

    def latestOffset(self, start: dict[str, str], limit: ReadLimit) -> dict[str, str]:  # noqa: N802
        """Return where the batch ends that begins after `start`."""
        end = self.last or self._newest()
        if isinstance(limit, ReadMaxRows):
            entries = self._redis().xrange(self.stream, f"({start['id']}", end, limit.max_rows)
            return {"id": entries[-1][0]} if entries else start
        return start if _number(end) <= _number(start["id"]) else {"id": end}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Remember the newest entry: no batch of this run goes beyond it."""
        self.last = self._newest()

    def partitions(self, start: dict[str, str], end: dict[str, str]) -> list[InputPartition]:
        """Return what the tasks of a batch read; here it is one."""
        return [Entries(start["id"], end["id"])]

    def read(self, partition: InputPartition) -> Iterator[tuple[str, str | None]]:
        """Yield the rows of a task, in a worker; a batch that runs again gets the same."""
        assert isinstance(partition, Entries)  # noqa: S101 - of `partitions`
        redis, after = self._redis(), partition.begin
        while True:
            found = redis.xrange(self.stream, f"({after}", partition.end, ROWS_PER_REQUEST)
            yield from ((number, fields.get("event")) for number, fields in found)
            if len(found) < ROWS_PER_REQUEST:
                return
            after = found[-1][0]

    def _newest(self) -> str:
        found = self._redis().xrevrange(self.stream, count=1)
        return found[0][0] if found else BEGINNING

    def _redis(self) -> Any:
        return Redis.from_url(self.url, decode_responses=True)


def _number(entry: str) -> tuple[int, int]:
    time_ms, _, sequence = entry.partition("-")
    return int(time_ms), int(sequence)
