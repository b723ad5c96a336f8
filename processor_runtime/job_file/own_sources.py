"""Whether a source that is written in Python can be found by its name on this machine.

    source.format ──► modules `pyspark_…` ──imported, as Spark does──► the names of their sources

Warnings only: a file may be checked on another machine than the one its job runs on.
"""

from collections.abc import Iterator
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import Any, Final

from cep.pattern import Problem
from processor_runtime.job_file.checking import names_jars
from processor_runtime.job_file.job import JobFile
from processor_runtime.job_file.source import KNOWN_FORMATS

_PREFIX: Final = "pyspark_"
_PLACE: Final = "source.format"


def own_source_warnings(job: JobFile) -> Iterator[Problem]:
    """Yield what keeps Spark from finding the source of a job in Python.

    Formats of Spark itself, classes of Java and jobs that bring packages are not looked into.
    """
    wanted = job.source.format
    if wanted in KNOWN_FORMATS or "." in wanted or names_jars(job) or find_spec("pyspark") is None:
        return
    found: list[str] = []
    is_broken = False
    for module in sorted(info.name for info in iter_modules() if info.name.startswith(_PREFIX)):
        try:
            found.append(_source_name(import_module(module)))
        except Exception as error:  # noqa: BLE001 - whatever a module of others raises
            is_broken = True
            told = f"{module} cannot be imported here: {type(error).__name__}: {error}."
            remedy = "Until it can, Spark finds no source in Python: install what it needs."
            yield Problem(_PLACE, told, remedy)
    names = list(filter(None, found))
    is_found = wanted.casefold() in map(str.casefold, names)
    if is_found or is_broken or get_close_matches(wanted, KNOWN_FORMATS, n=1):
        return
    there = f"; there are: {', '.join(names)}" if names else ""
    yield Problem(
        _PLACE,
        f"no module {_PREFIX}… that can be imported here has the source '{wanted}'{there}.",
        "Install it, or put its folder on PYTHONPATH, where the job and its executors run; "
        "name source.packages if it is written in Java.",
    )


def _source_name(module: Any) -> str:
    """Return the name of the source in a module, nothing if there is none."""
    source = getattr(module, "DefaultSource", None)
    return "" if source is None else str(source.name())
