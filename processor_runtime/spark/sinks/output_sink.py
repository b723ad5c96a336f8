"""What a sink is, what it is told about its job, and how it fails."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from pyspark.sql import DataFrame

from processor_runtime.reporting import RuleService


class OutputSink(Protocol):
    """Takes the rows of one batch after the other; belongs to one thread."""

    def write(self, rows: DataFrame, batch_id: int, row_count: int) -> None:
        """Write the rows of a batch, also when it has none.

        Args:
            rows: rows of the kinds of this output, evaluated and persisted: they may be read more
                than once, and by few tasks.
            batch_id: rises; the first batch after a start may have been written before, as a whole
                or in part, with the same rows.
            row_count: how many rows there are.

        Raises:
            Exception: they could not be written; `JobOutputs` makes it an `OutputFailed`.
        """

    def close(self) -> None:
        """Let go of connections and threads."""

    @property
    def remedy(self) -> str:
        """What an operator should look at when writing has failed, without any secret."""

    @property
    def secrets(self) -> frozenset[str]:
        """Texts that no message may hold."""


@dataclass(frozen=True, slots=True)
class SinkSurroundings:
    """What sinks may know of the job they write for.

    Attributes:
        job: its name.
        stream: the stream it reads.
        checkpoint_id: the identity of its checkpoint. It stays the same through all restarts and is
            another for another checkpoint, whose batches count from 0 again.
        environment: the variables that the job file may name.
        service: the rule service, if the job file names one.
    """

    job: str
    stream: str
    checkpoint_id: str
    environment: Mapping[str, str] = field(repr=False)
    service: RuleService | None = None

    def secret(self, variable: str, key: str) -> str:
        """Return what an environment variable holds.

        Raises:
            ValueError: it is not set.
        """
        value = self.environment.get(variable, "").strip()
        if not value:
            raise ValueError(f"{key}: the environment variable {variable} is not set")
        return value


class OutputFailed(RuntimeError):
    """A batch could not be written to an output; says to which, why, and what to do."""

    def __init__(self, name: str, reason: str, remedy: str) -> None:
        super().__init__(f"output '{name}': {reason.rstrip('.')}. {remedy}".rstrip())
        self.name = name
