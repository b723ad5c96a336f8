"""Waits until jobs run a version; a publish returns before they do."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from api.client.errors import NotRunning
from contract.service.jobs import RunningVersionsInJob, RunningView


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait, and how often to ask, in seconds."""

    timeout_seconds: float
    poll_seconds: float


def wait_until_running(
    read: Callable[[], RunningView], version: int, wanted: frozenset[str], patience: Patience
) -> RunningView:
    """Return the status once every live job, at least one, has a version in a wanted state.

    Args:
        read: reads the status from the service.
        version: the version to wait for.
        wanted: states of a version in a job.
        patience: how long to wait.

    Raises:
        NotRunning: the timeout has passed, or a job will not run the version any more.
    """
    ends_at = time.monotonic() + patience.timeout_seconds
    while True:
        running = read()
        states = {job.job.name: _state_in(job, version) for job in running.jobs if job.job.is_live}
        if states and wanted.issuperset(states.values()):
            return running
        remaining_seconds = ends_at - time.monotonic()
        if remaining_seconds <= 0:
            found = ", ".join(f"{job}: {state}" for job, state in states.items())
            raise NotRunning(
                f"version {version} of {running.processor_id} does not run everywhere after "
                f"{patience.timeout_seconds:g} s; "
                f"{found or f'no job of stream {running.stream} is alive'}"
            )
        time.sleep(min(patience.poll_seconds, remaining_seconds))


def _state_in(job: RunningVersionsInJob, version: int) -> str:
    """Return the state of a version in a job.

    Raises:
        NotRunning: the job will not run it any more.
    """
    held = job.version(version)
    if held is None:
        return "not taken yet"
    name = job.job.name
    if held.state == "quarantined":
        message = f"job {name} stopped version {version}: {held.error}\n{held.traceback}"
        raise NotRunning(message.rstrip())
    if held.state in {"superseded", "draining"}:
        raise NotRunning(f"job {name} has replaced version {version} ({held.state})")
    return held.state
