"""Which extra of the distribution brings the libraries that a command needs, in one sentence.

entry point of a command ──import or run──► a library is missing ──► what to install
"""

from typing import Final

# By the longest beginning of the module that the entry point names.
_EXTRAS: Final = {
    "api": "client",
    "api.code": "",
    "api.commands": "api",
    "api.tokens.commands": "api",
    "api.offline": "",
    "cep": "",
    "percept": "",
    "processor_runtime": "spark",
    "processor_runtime.backtest": "",
    "processor_runtime.backtest.worker": "client",
}

# Of libraries that a command needs only if it is asked for what they do.
_EXTRAS_OF_LIBRARIES: Final = {"opentelemetry": "otel"}


def extra_of(module: str) -> str:
    """Return the extra that brings all libraries of a command; "" if it needs none.

    Args:
        module: the full name of the module that the command's entry point names. Modules of other
            distributions need none of Percept's extras.
    """
    parts = module.split(".")
    for length in range(len(parts), 0, -1):
        if (extra := _EXTRAS.get(".".join(parts[:length]))) is not None:
            return extra
    return ""


def missing_text(error: ImportError, module: str) -> str:
    """Return what is missing, and how it is installed.

    Args:
        error: why the command could not be imported, or could not go on.
        module: as for `extra_of`.
    """
    library = (error.name or "").partition(".")[0]
    if extra := _EXTRAS_OF_LIBRARIES.get(library):
        return _named(f"{error.name} is not installed", extra)
    message = (
        f"{library} is not installed" if isinstance(error, ModuleNotFoundError) else str(error)
    )
    extra = extra_of(module)
    if not extra:
        return f"{message}; install Percept again, with what it depends on: pip install percept"
    return _named(message, extra)


def _named(told: str, extra: str) -> str:
    return f"{told}; it comes with Percept's extra '{extra}': pip install 'percept[{extra}]'"
