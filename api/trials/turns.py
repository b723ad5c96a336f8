"""Tasks for the workers: few run at once; the others wait, on the event loop, a while."""

from functools import partial
from typing import Any, Final

import anyio.to_thread
from anyio import CapacityLimiter

from api.trials.fair_turns import FairTurns
from api.trials.processes import TrialProcesses

_WAIT_SECONDS: Final = 10


class Trials:
    """What a service has rules tried with.

    Args:
        processes: how many tasks may run at once.
        seconds: how long a task may take.
        megabytes: how much memory it may take; enforced on Linux only.
    """

    def __init__(self, processes: int, seconds: float, megabytes: int) -> None:
        self._turns = FairTurns("trying a rule", processes, _WAIT_SECONDS)
        self._processes = TrialProcesses(seconds, megabytes)

    async def run(self, caller: str, task: str, **arguments: Any) -> bytes:
        """Return the answer of a task of `api.trials.tasks`, as JSON.

        Args:
            caller: the id of the token that asks; tokens share the processes fairly.
            task: its name.
            arguments: what it takes.

        Raises:
            Unfit: the input cannot be tried.
            BeyondLimit: the task takes too much time or memory, or its answer is too long.
            Overloaded: there was no turn for it in time, or too many of the caller's wait.
            Stopping: the service stops.
        """
        work = partial(self._processes.run, task, arguments)
        async with self._turns.turn(caller):
            # A limit of its own: the turn is what bounds the number of threads.
            return await anyio.to_thread.run_sync(work, limiter=CapacityLimiter(1))

    def open(self) -> None:
        """Take tasks again after `close`."""
        self._processes.open()

    def close(self) -> None:
        """End all workers."""
        self._processes.close()
