"""Turns for the workers: few tasks run at once; the others wait, on the event loop, a while."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from api.trials.processes import TrialProcesses
from api.worker_threads import WorkerThreads

_WAIT_SECONDS: Final = 10


class Trials:
    """What a service has rules tried with.

    Args:
        processes: how many tasks may run at once.
        seconds: how long a task may take.
        megabytes: how much memory it may take; enforced on Linux only.
    """

    def __init__(self, processes: int, seconds: float, megabytes: int) -> None:
        self._turns = WorkerThreads("trying a rule", processes, _WAIT_SECONDS)
        self._processes = TrialProcesses(seconds, megabytes)

    async def run(self, task: str, **arguments: Any) -> bytes:
        """Return the answer of a task of `api.trials.tasks`, as JSON.

        Raises:
            Unfit: the input cannot be tried.
            BeyondLimit: the task takes too much time or memory, or its answer is too long.
            Overloaded: there was no turn for it in time.
            Stopping: the service stops.
        """
        work: Callable[[], bytes] = partial(self._processes.run, task, arguments)
        return await self._turns.run(work)

    def open(self) -> None:
        """Take tasks again after `close`."""
        self._processes.open()

    def close(self) -> None:
        """End all workers."""
        self._processes.close()
