"""The interface of a sink, what it knows of its job, and its error."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from pyspark.sql import DataFrame

from processor_runtime.reporting import RuleService


class OutputSink(Protocol):
    """Writes the rows of one batch after the other; used by one thread."""

    def write(self, rows: DataFrame, batch_id: int, row_count: int) -> None:
        """Write the rows of a batch, also when it has none.

        `rows`: rows of the kinds of this output, evaluated and persisted: they may be read more
        than once, and by few tasks. `batch_id`: increases; the first batch after a start may have
        been written before, completely or in part, with the same rows.

        Raises:
            RowsLost: some could not be written and never will be; the job goes on.
            Exception: they could not be written; `JobOutputs` makes it an `OutputFailed`.
        """

    def close(self) -> None:
        """Close connections and end threads."""

    @property
    def remedy(self) -> str:
        """What an operator should check when writing has failed, without secrets."""

    @property
    def secrets(self) -> frozenset[str]:
        """Texts that no message may contain."""


@dataclass(frozen=True, slots=True)
class SinkSurroundings:
    """The job that sinks write for.

    Attributes:
        job: its name.
        stream: the stream it reads.
        checkpoint_id: the identity of its checkpoint. It is the same after every restart; another
            checkpoint, whose batches count from 0 again, has another one.
        environment: the variables that the job file may name.
        service: the rule service, if the job file names one.
    """

    job: str
    stream: str
    checkpoint_id: str
    environment: Mapping[str, str] = field(repr=False)
    service: RuleService | None = None

    def secret(self, variable: str, key: str) -> str:
        """Return the value of an environment variable.

        Raises:
            ValueError: it is not set.
        """
        value = self.environment.get(variable, "").strip()
        if not value:
            raise ValueError(f"{key}: the environment variable {variable} is not set")
        return value


class RowsLost(RuntimeError):
    """Rows were given up, as the job file allows; the message says how many of which batch, why."""

    def __init__(self, count: int, reason: str) -> None:
        super().__init__(reason)
        self.count = count


class OutputFailed(RuntimeError):
    """A batch could not be written to an output; the message says which, why, and what to do."""

    def __init__(self, name: str, reason: str, remedy: str) -> None:
        self.reason = f"{reason.rstrip('.')}. {remedy}".rstrip()
        super().__init__(f"output '{name}': {self.reason}")
        self.name = name
