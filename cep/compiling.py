"""How functions are compiled: once per machine, kept on disk.

What is kept is found by the sources of the whole package of a function: compiled code has other
functions and constants written into it, and numba itself looks at the file of a function only.

Source: numba documentation, "Notes on Caching".
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from platform import machine
from typing import Any, Final, TypeVar, cast

_LONGEST_SECONDS: Final = 600
"""A process that compiles takes less, even on a busy machine, or has been killed."""
_compilers: Final[dict[Path, subprocess.Popen[bytes]]] = {}
"""What this process has begun, by what it is to leave behind."""
Function = TypeVar("Function", bound=Callable[..., Any])


@cache
def is_available() -> bool:
    """Return whether compiled code can be had here: numba, and a place to keep what it makes.

    Without such a place every process would compile for a quarter of a minute.
    """
    return find_spec("numba") is not None and _directory(Path(__file__).parent) is not None


def is_ready(package: str) -> bool:
    """Return whether all of a package has been compiled on this machine; if not, begin with it.

    A process of its own compiles, with little priority, and says so when it is done. Nobody waits
    for it: there is an interpreter for everything that is compiled.

    Args:
        package: one that compiles itself when it is run as a program, and then calls `now_ready`.
    """
    ready = _mark(package, "ready")
    if ready is None:
        return False
    if ready.exists():
        if (done := _compilers.pop(ready, None)) is not None:
            done.poll()
        return True
    begun = ready.with_name(f"{ready.name}-begun")
    try:
        if begun.exists() and time.time() - begun.stat().st_mtime > _LONGEST_SECONDS:
            begun.unlink()
        begun.touch(exist_ok=False)
    except OSError:
        return False  # somebody else does it
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    _compilers[ready] = subprocess.Popen(  # noqa: S603 - this interpreter, with a package of ours
        [sys.executable, "-m", package],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    return False


def now_ready(package: str) -> None:
    """Say that all of a package has been compiled."""
    ready = _mark(package, "ready")
    if ready is not None:
        ready.touch()


def _mark(package: str, name: str) -> Path | None:
    if not is_available():
        return None
    directory = _directory(Path(__file__).parent / package.rpartition(".")[2])
    return None if directory is None else directory / f"{name}-{_processor()}"


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


def compiled(function: Function) -> Function:
    """Return a function as compiled code, which is made at the first call on this machine."""
    from numba import config, njit  # noqa: PLC0415 - an extra

    package = Path(function.__code__.co_filename).parent
    # Where a function is kept is settled when it is decorated; others keep theirs where they want.
    settings = vars(config)
    before, settings["CACHE_DIR"] = settings["CACHE_DIR"], str(_directory(package))
    try:
        return cast("Function", njit(cache=True, nogil=True, error_model="numpy")(function))
    finally:
        settings["CACHE_DIR"] = before


def inlined(function: Function) -> Function:
    """Return a function that becomes a part of each compiled function that calls it."""
    from numba import njit  # noqa: PLC0415 - an extra

    return cast("Function", njit(inline="always")(function))


@cache
def _directory(package: Path) -> Path | None:
    """Return where compiled code of these sources is kept; `None` where it cannot be."""
    if not package.is_dir():
        return None  # in an archive, where numba finds no files
    digest = blake2b(digest_size=8)
    for source in (Path(__file__), *sorted(package.glob("*.py"))):
        digest.update(source.read_bytes())
    named = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    try:
        base = Path(named) if named else Path.home() / ".cache"
        directory = base / "percept" / f"compiled-{digest.hexdigest()}"
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        return None
    return directory if os.access(directory, os.W_OK) else None
