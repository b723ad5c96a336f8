"""Child processes that end with the demo: stopped in order, and never left behind.

Each has its own process group, so that Ctrl-C reaches only the demo, which then stops them.
"""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

PERCEPT: Final = str(Path(sys.executable).with_name("percept"))
"""The command of this environment, independent of PATH."""


class ProcessEnded(RuntimeError):
    """A process has ended unexpectedly; the message has the end of its output."""


class ChildProcess:
    """A process and all that it starts; a context manager that stops them.

    Args:
        name: what to call it.
        command: what to run.
        directory: where to run it; its output goes to `NAME.log` there.
        environment: its variables.
        patience_seconds: how long it may take to stop before it is killed.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        directory: Path,
        environment: Mapping[str, str],
        patience_seconds: float,
    ) -> None:
        self._name = name
        self._patience_seconds = patience_seconds
        self.log = directory / f"{name}.log"
        with self.log.open("wb") as output:
            self._process = subprocess.Popen(  # noqa: S603 - commands of this package
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=directory,
                env=dict(environment),
                start_new_session=True,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def check(self) -> None:
        """Check that it runs.

        Raises:
            ProcessEnded: it has ended.
        """
        code = self._process.poll()
        if code is not None:
            lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-15:]
            told = "\n".join(["", *lines])
            raise ProcessEnded(f"the {self._name} has ended with exit code {code}:{told}")

    def stop(self) -> int:
        """Stop it and what it has started; return its exit code. A second Ctrl-C kills at once."""
        try:
            if self._process.poll() is None:
                self._process.send_signal(signal.SIGTERM)
                self._process.wait(self._patience_seconds)
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            pass
        finally:
            self._kill_group()
        return self._process.wait()

    def _kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError):  # it has ended
            os.killpg(self._process.pid, signal.SIGKILL)
