"""What Spark tells when a Python worker, or an executor, has died: read from the error of a batch.

error of a batch ──death_in──► Death, with the rule whose code was at work, if that is known
error of a query ──began_late──► whether a worker was only not heard in time
"""

import re
from typing import Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from processor_runtime.watch.note import Death, read_death

# Without memory a worker may also live on and raise, wherever it just was.
_DIED: Final = re.compile(
    r"Python worker exited unexpectedly|ExecutorLostFailure|^\s*MemoryError\b", re.MULTILINE
)
# Of a worker that it starts by itself Spark wants to hear within ten seconds; there is no setting.
_BEGAN_LATE: Final = "Python worker failed to connect back"


class WorkerBeganLate(Exception):
    """A query ended, before a batch or in it, as a Python worker did not begin in time."""


class BatchUndone(Exception):
    """A batch was not done and is to be run again: a worker died, or it was only a trial.

    `death` and `error`, what Spark says of it, are `None` after a trial in which no worker died.
    """

    def __init__(
        self, batch_id: int, death: Death | None = None, error: Exception | None = None
    ) -> None:
        super().__init__(f"batch {batch_id} was not done")
        self.batch_id = batch_id
        self.death = death
        self.error = error


def death_in(text: str, call_seconds: float) -> Death | None:
    """Return how a worker died, if that is why a batch has failed; `None` if it is not.

    `call_seconds`: how long a call of a rule's code could take.
    """
    return read_death(text, call_seconds) if _DIED.search(text) else None


def began_late(error: BaseException) -> bool:
    """Return whether a query has ended because a worker did not begin in time, as Spark says."""
    return isinstance(error, PySparkException | Py4JJavaError) and _BEGAN_LATE in str(error)
