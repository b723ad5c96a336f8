"""Whether all of a package has been compiled on this machine; if not, a process that does it.

first batch ──is_ready──► no, begins a process ──`python -m` package──now_ready──► a mark
"""

import os
import subprocess
import sys
import time
from functools import cache
from hashlib import blake2b
from pathlib import Path
from platform import machine
from typing import Final

from cep.compiling.functions import directory_of, is_available

_LONGEST_SECONDS: Final = 600
"""A process that compiles takes less, even on a busy machine, or has been killed."""
_compilers: Final[dict[Path, subprocess.Popen[bytes]]] = {}
"""What this process has begun, by what it is to leave behind."""


def is_ready(package: str) -> bool:
    """Return whether all of a package has been compiled on this machine; if not, begin with it.

    A process of its own compiles, with little priority, and says so when it is done. Nobody waits
    for it: there is an interpreter for everything that is compiled.

    Args:
        package: one that compiles itself when it is run as a program, and then calls `now_ready`.
    """
    ready = _mark(package)
    if ready is None:
        return False
    if ready.exists():
        if (done := _compilers.pop(ready, None)) is not None:
            done.poll()
        return True
    begun = ready.with_name(f"{ready.name}-begun")
    try:
        # One from the future was begun before the clock was set back, by nobody knows when.
        if begun.exists() and abs(time.time() - begun.stat().st_mtime) > _LONGEST_SECONDS:
            begun.unlink()
        begun.touch(exist_ok=False)
        _compilers[ready] = _compiler(package)
    except OSError:
        pass  # somebody else does it; or no process can be had, which is tried again
    return False


def _compiler(package: str) -> subprocess.Popen[bytes]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen(  # noqa: S603 - this interpreter, with a package of ours
        [sys.executable, "-m", package],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def now_ready(package: str) -> None:
    """Say that all of a package has been compiled."""
    ready = _mark(package)
    if ready is not None:
        ready.touch()


def _mark(package: str) -> Path | None:
    if not is_available():
        return None
    directory = directory_of(Path(__file__).parents[2].joinpath(*package.split(".")))
    return None if directory is None else directory / f"ready-{_processor()}"


@cache
def _processor() -> str:
    """Return a name for this kind of processor: what is compiled for one does not run on others.

    A home directory may be shared by machines, or be part of an image.
    """
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    kinds = {line for line in lines if line.startswith(("model name", "flags", "Features"))}
    return blake2b(str(sorted(kinds)).encode() + machine().encode(), digest_size=4).hexdigest()
