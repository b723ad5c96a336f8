"""The processes in which rules are tried: started when they are needed, kept, ended and replaced.

    run ─► a worker that has nothing to do, or a new one ─► task ─► answer, or the limit it passed

The service itself ends what takes too long, from outside: nothing that runs there can prevent it.
"""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Lock, Timer
from typing import IO, Any, Final

from api.trials.frames import Kind, read_frame, write_frame
from cep.trials.misfits import Misfit, Unfit

_START_SECONDS: Final = 60.0
_ATTEMPTS: Final = 2
_STOPPING: Final = "The service stops."
_START: Final = (
    "import sys; sys.path[:] = sys.argv[3:]; from api.trials.worker import main; "
    "main(float(sys.argv[1]), int(sys.argv[2]))"
)
# Whatever else is in the environment of the service, a worker does not get: it holds secrets.
_ENVIRONMENT: Final = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH", "SYSTEMROOT")


class BeyondLimit(Exception):
    """A task was ended: it takes more than it may; the message says which limit it passed."""


class TrialFailed(Exception):
    """A task ended with an error that is not one of its input; the message is its traceback."""


class Stopping(Exception):
    """A task was not done, since the service stops."""


class _Died(Exception):
    """A worker ended without an answer."""


class TrialProcesses:
    """Workers for `api.trials.tasks`, as many as are used at once.

    Args:
        seconds: how long a task may take.
        megabytes: how much memory it may take; enforced on Linux only.
    """

    def __init__(self, seconds: float, megabytes: int) -> None:
        self._seconds = seconds
        self._megabytes = megabytes
        self._idle: list[_Worker] = []
        self._workers: set[_Worker] = set()
        self._lock = Lock()
        self._is_closed = False

    def run(self, task: str, arguments: Mapping[str, Any]) -> bytes:
        """Return the answer of a task, as JSON.

        A worker may die of anything, of something that is not in the task as well: the task is
        then given to another one, within the same time.

        Raises:
            Unfit: the input cannot be tried.
            BeyondLimit: the task takes too much time or memory, or its answer is too long.
            TrialFailed: it failed.
            Stopping: it was not done, since `close` was called.
        """
        content = json.dumps({"task": task, "arguments": arguments}).encode()
        deadline = None
        for _ in range(_ATTEMPTS):
            with self._worker() as worker:
                deadline = deadline or time.monotonic() + self._seconds
                try:
                    kind, answer = worker.ask(content, deadline - time.monotonic())
                except _Died:
                    if time.monotonic() >= deadline:
                        raise self._too_slow() from None
                    continue
            return self._read(kind, answer)
        raise BeyondLimit("It ended the process it ran in, twice: it probably takes all memory.")

    def open(self) -> None:
        """Take tasks again after `close`."""
        self._is_closed = False

    def close(self) -> None:
        """End all workers, also those at work."""
        with self._lock:
            self._is_closed = True
            busy = self._workers.difference(self._idle)
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.end()
        for worker in busy:
            worker.kill()  # the thread that waits for it does the rest

    def _read(self, kind: Kind, answer: bytes) -> bytes:
        match kind:
            case Kind.ANSWER:
                return answer
            case Kind.UNFIT:
                said = json.loads(answer)
                raise Unfit(said["what"], [Misfit(**each) for each in said["misfits"]])
            case Kind.OUT_OF_MEMORY:
                raise BeyondLimit(f"It takes more memory than the limit of {self._megabytes} MB.")
            case Kind.TOO_LONG:
                raise BeyondLimit("What it finds is too long to be answered.")
            case _:
                raise TrialFailed(answer.decode(errors="replace"))

    def _too_slow(self) -> BeyondLimit:
        return BeyondLimit(f"It takes longer than the limit of {self._seconds:g} seconds.")

    @contextmanager
    def _worker(self) -> Iterator["_Worker"]:
        """Yield a worker for one task; it is kept if it lives afterwards."""
        with self._lock:
            worker = self._idle_worker() or self._started()
        try:
            worker.wait_until_ready()
            yield worker
        except TrialFailed as failed:
            if self._is_closed:  # it was ended before it was ready
                raise Stopping(_STOPPING) from failed
            raise
        finally:
            with self._lock:
                if worker.is_alive and not self._is_closed:
                    self._idle.append(worker)
                else:
                    self._workers.discard(worker)
                    worker.end()
                is_closed = self._is_closed
        if is_closed:
            raise Stopping(_STOPPING)

    def _idle_worker(self) -> "_Worker | None":
        while self._idle:
            worker = self._idle.pop()
            if worker.is_alive:
                return worker
            self._workers.discard(worker)
            worker.end()
        return None

    def _started(self) -> "_Worker":
        if self._is_closed:
            raise Stopping(_STOPPING)
        worker = _Worker(self._seconds, self._megabytes)
        self._workers.add(worker)
        return worker


class _Worker:
    """One process; used by one thread at a time, and ended by any."""

    def __init__(self, seconds: float, megabytes: int) -> None:
        known = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
        self._is_ready = False
        self._process = subprocess.Popen(  # noqa: S603 - our own command
            [sys.executable, "-I", "-c", _START, f"{seconds}", f"{megabytes}", *_search_path()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=known | {"POLARS_MAX_THREADS": "1"},
            # Ctrl-C is for the service, which ends its workers itself.
            start_new_session=True,
        )

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def wait_until_ready(self) -> None:
        """Wait until it can take a task.

        Raises:
            TrialFailed: it cannot be started.
        """
        if self._is_ready:
            return
        with self._ended_after(_START_SECONDS):
            frame = read_frame(self._output)
        if frame is None:
            self.end()
            raise TrialFailed("A process to try rules in cannot be started; the log says why.")
        self._is_ready = True

    def ask(self, task: bytes, seconds: float) -> tuple[Kind, bytes]:
        """Return its answer; it is ended if that takes longer.

        Raises:
            _Died: it has ended without an answer.
        """
        with self._ended_after(seconds):
            try:
                write_frame(self._input, Kind.TASK, task)
                frame = read_frame(self._output)
            except OSError:
                frame = None
        if frame is None:
            self.end()
            raise _Died
        return frame

    def kill(self) -> None:
        """End the process; whoever waits for it is told."""
        self._process.kill()
        self._process.wait()

    def end(self) -> None:
        """End the process and close its pipes; for the thread that uses it."""
        self.kill()
        self._output.close()
        with contextlib.suppress(OSError):  # what was written and never read
            self._input.close()

    @property
    def _input(self) -> IO[bytes]:
        assert self._process.stdin is not None  # noqa: S101 - a pipe
        return self._process.stdin

    @property
    def _output(self) -> IO[bytes]:
        assert self._process.stdout is not None  # noqa: S101 - a pipe
        return self._process.stdout

    @contextmanager
    def _ended_after(self, seconds: float) -> Iterator[None]:
        """End the process if the block takes longer than that; its pipes then end as well."""
        timer = Timer(max(seconds, 0), self._process.kill)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()


def _search_path() -> list[str]:
    """Return where this process finds modules; "" is where it was started."""
    return [str(Path(folder).absolute()) for folder in sys.path]
