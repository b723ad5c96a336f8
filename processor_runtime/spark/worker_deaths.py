"""What Spark tells when a Python worker, or an executor, has died: read from the error of a batch.

error of a batch ──death_in──► Death, with the rule whose code was at work, if that is known
"""

import re
from typing import Final

from processor_runtime.watch.note import Death, read_death

# Without memory a worker may also live on and raise, wherever it just was.
_DIED: Final = re.compile(
    r"Python worker exited unexpectedly|ExecutorLostFailure|^\s*MemoryError\b", re.MULTILINE
)


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
