"""How functions are compiled: once per machine, kept on disk.

What is kept is found by the sources of the whole package of a function, with the packages in it, of
this one and of `cep.condition_code`, whose functions become parts of others, and by where they lie:
compiled code has other functions and constants written into it, and numba itself looks at the path
of a function, and at its file only.

Source: numba documentation, "Notes on Caching".
"""

import os
from collections.abc import Callable
from functools import cache
from hashlib import blake2b
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any, Final, TypeVar, cast

_OURS: Final = Path(__file__).parent
_OF_ALL: Final = (_OURS, _OURS.with_name("condition_code"))
"""Packages whose sources are a part of all compiled code."""
Function = TypeVar("Function", bound=Callable[..., Any])


@cache
def is_available() -> bool:
    """Return whether compiled code can be had here: numba, and a place to keep what it makes.

    Without such a place every process would compile for a quarter of a minute.
    """
    return find_spec("numba") is not None and directory_of(_OURS) is not None


def compiled(function: Function) -> Function:
    """Return a function as compiled code, which is made at the first call on this machine."""
    return _kept(function)


def in_place(function: Function) -> Function:
    """Return the same of a function that makes no array and returns none.

    It does not count who uses the arrays that it is given. For one with twenty of them, counting
    takes five times as long as testing a condition.
    """
    return _kept(function, _nrt=False)


def in_caller(function: Function) -> Function:
    """Return the same of a function that is written into each that calls it.

    Handing over an array takes eight numbers, which is more than a short function does with it.
    """
    return _kept(function, _nrt=False, forceinline=True)


def _kept(function: Function, **options: Any) -> Function:
    from numba import config, njit  # noqa: PLC0415 - an extra

    package = _package_of(Path(function.__code__.co_filename))
    # Where a function is kept is settled when it is decorated; others keep theirs where they want.
    settings = vars(config)
    before, settings["CACHE_DIR"] = settings["CACHE_DIR"], str(directory_of(package))
    try:
        return cast(
            "Function", njit(cache=True, nogil=True, error_model="numpy", **options)(function)
        )
    finally:
        settings["CACHE_DIR"] = before


def _package_of(source: Path) -> Path:
    """Return the package below `cep` that a source is in, at whatever depth; else its directory."""
    ours = _OURS.parent
    if not source.is_relative_to(ours):
        return source.parent
    return ours / source.relative_to(ours).parts[0]


def inlined(function: Function) -> Function:
    """Return a function that becomes a part of each compiled function that calls it."""
    from numba import njit  # noqa: PLC0415 - an extra

    return cast("Function", njit(inline="always")(function))


@cache
def directory_of(package: Path) -> Path | None:
    """Return where compiled code of these sources is kept; `None` where it cannot be."""
    if not package.is_dir():
        return None  # in an archive, where numba finds no files
    # numba looks for what it has kept by the path of the sources, too.
    digest = blake2b(str(package.resolve()).encode(), digest_size=8)
    sources = (sorted(of.rglob("*.py")) for of in (*_OF_ALL, package))
    for source in chain.from_iterable(sources):
        digest.update(source.read_bytes())
    named = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    try:
        base = Path(named) if named else Path.home() / ".cache"
        directory = base / "percept" / f"compiled-{digest.hexdigest()}"
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        return None
    return directory if os.access(directory, os.W_OK) else None
