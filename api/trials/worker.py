"""The worker: a process that does one task after the other, within limits, until its pipe ends.

    TrialProcesses ══stdin: tasks══► main ══stdout: answers══► TrialProcesses

It has neither secrets nor connections. The service ends it when a task takes too long; an alarm of
its own does, should the service not live any more.
"""

import contextlib
import json
import os
import signal
import sys
import traceback
from dataclasses import asdict
from pathlib import Path
from typing import IO, Final

from api.trials.frames import MAXIMUM_ANSWER_BYTES, Kind, read_frame, write_frame
from api.trials.tasks import TASKS
from cep.trials.misfits import Unfit

_SLACK_SECONDS: Final = 5
_MEGABYTE: Final = 1_000_000


def main(seconds: float, megabytes: int) -> None:
    """Do tasks until there are no more.

    Args:
        seconds: how long one may take before the service ends this process.
        megabytes: how much memory one may take; enforced on Linux only.
    """
    tasks, answers = sys.stdin.buffer, _own_output()
    idle_bytes = _data_bytes()
    _limit_memory(idle_bytes + megabytes * _MEGABYTE)
    write_frame(answers, Kind.READY)
    # What a task leaves behind is taken from the next one.
    while _data_bytes() < idle_bytes + megabytes * _MEGABYTE // 4:
        asked = read_frame(tasks)
        if asked is None:
            return
        _set_alarm(seconds + _SLACK_SECONDS)
        kind, content = _answer(asked[1])
        _set_alarm(0)
        write_frame(answers, kind, content)
        if kind is Kind.OUT_OF_MEMORY:
            return


def _answer(task: bytes) -> tuple[Kind, bytes]:
    try:
        asked = json.loads(task)
        content = TASKS[asked["task"]](**asked["arguments"])
    except Unfit as unfit:
        said = {"what": unfit.what, "misfits": [asdict(each) for each in unfit.misfits]}
        return Kind.UNFIT, json.dumps(said).encode()
    except MemoryError:
        return Kind.OUT_OF_MEMORY, b""
    except Exception:  # noqa: BLE001 - it is told where the request came from
        return Kind.FAILED, traceback.format_exc().encode(errors="replace")
    if len(content) > MAXIMUM_ANSWER_BYTES:
        return Kind.TOO_LONG, b""
    return Kind.ANSWER, content


def _own_output() -> IO[bytes]:
    """Return what standard output was; what is printed now goes elsewhere."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return answers


def _data_bytes() -> int:
    """Return how much memory of its own this process has; 0 where that is not known."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmData:"):
                return int(line.split()[1]) * 1_024
    return 0


def _limit_memory(data_bytes: int) -> None:
    if sys.platform == "linux":
        import resource  # noqa: PLC0415 - there is none on Windows

        resource.setrlimit(resource.RLIMIT_DATA, (data_bytes, data_bytes))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _set_alarm(seconds: float) -> None:
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)
