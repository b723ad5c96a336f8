"""Makes sure that Percept's packages are imported, and not others with the same names.

    sys.path ──find──► place of a package ──compare──► Percept's own, or a clear ImportError

No code of another package is run for this. Why the names are kept: docs/decisions/0005.
"""

import base64
import hashlib
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import Distribution, PackageNotFoundError, distribution, distributions
from pathlib import Path
from typing import Final

PACKAGES: Final = ("cep", "contract", "discoverers", "processor_runtime", "api")
_ROOT: Final = Path(__file__).resolve().parents[1]


@contextmanager
def own_packages(*names: str, extra: str = "") -> Iterator[None]:
    """Import Percept's packages in the block, or raise an error that says why it is impossible.

    Args:
        names: the packages that the block imports, directly or through each other.
        extra: the extra of the distribution with the libraries they need.

    Raises:
        ImportError: a package is hidden or overwritten by another of its name, or a library of
            the extra is not installed.
    """
    for name in names:
        _check(name)
    try:
        yield
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        if not extra or library in PACKAGES:
            raise
        raise ImportError(
            f"{library} is not installed; it comes with Percept's extra '{extra}': "
            f"pip install 'percept[{extra}]'",
            name=error.name,
        ) from error


def _check(name: str) -> None:
    own = _ROOT / name
    found = _place(name)
    if found is None:
        raise ImportError(f"Percept's package '{name}' is not in {own}; install Percept again")
    if found != own:
        raise ImportError(
            f"'{name}' is imported from {found}{_owner(found)}, but Percept's own is {own}. "
            "Rename the other one, take its folder off sys.path (the working directory, "
            "PYTHONPATH), or install Percept in an environment of its own."
        )
    if _is_overwritten(name):
        raise ImportError(
            f"{own} has been overwritten since Percept was installed there{_owner(own)}. "
            "Install Percept in an environment of its own."
        )


def _place(name: str) -> Path | None:
    """Return the folder of a package, or the file of a module, that an import would load."""
    loaded = sys.modules.get(name)
    spec = importlib.util.find_spec(name) if loaded is None else loaded.__spec__
    if spec is None or spec.origin is None:
        file = getattr(loaded, "__file__", None)
        return None if file is None else Path(file).resolve()
    origin = Path(spec.origin).resolve()
    return origin if spec.submodule_search_locations is None else origin.parent


def _is_overwritten(name: str) -> bool:
    """Return whether a package is not the one that Percept's installer wrote into its folder."""
    file = f"{name}/__init__.py"
    try:
        installed = distribution("percept")
    except PackageNotFoundError:
        return False
    if _place_of(installed) != _ROOT:
        return False  # run from its sources, or from an archive
    for line in (installed.read_text("RECORD") or "").splitlines():
        path, _, rest = line.partition(",")
        if path == file and rest.startswith("sha256="):
            digest = hashlib.sha256((_ROOT / file).read_bytes()).digest()
            encoded = base64.urlsafe_b64encode(digest).decode().rstrip("=")
            return rest.split(",")[0] != f"sha256={encoded}"
    return False


def _owner(place: Path) -> str:
    """Return the other distribution that has installed a package, for a message."""
    files = {place.name, f"{place.name}/__init__.py"}
    for other in distributions(path=[str(place.parent)]):
        if other.name == "percept":
            continue
        if files & {str(file) for file in other.files or ()}:
            return f", of the distribution {other.name} {other.version}"
    return ""


def _place_of(installed: Distribution) -> Path:
    return Path(str(installed.locate_file(""))).resolve()
