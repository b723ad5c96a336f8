"""`discoverer: {type: …}` of a job file → a discoverer.

Built-in types have names; a custom type is `module:Class`, where the class is a
`PatternProcessorDiscovererFactory`.
"""

import re
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

from pydantic import ValidationError

from cep.pattern.problems import did_you_mean
from contract.problem_text import problem_text
from discoverers.discoverer import (
    DiscovererSurroundings,
    PatternProcessorDiscoverer,
    PatternProcessorDiscovererFactory,
)

# Loaded when used: a job that reads files needs neither an HTTP client nor a database toolkit.
BUILT_IN: Final[Mapping[str, str]] = {
    "http": "discoverers.http:HttpDiscovererFactory",
    "database": "discoverers.database:DatabaseDiscovererFactory",
    "file": "discoverers.files:FileDiscovererFactory",
    "directory": "discoverers.files:DirectoryDiscovererFactory",
}

_CLASS_PATH: Final = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


class DiscovererConfigError(ValueError):
    """The discoverer's part of a job file cannot be used; says where, why and how to fix it."""


def create_discoverer(
    config: Mapping[str, Any], surroundings: DiscovererSurroundings
) -> PatternProcessorDiscoverer:
    """Return the discoverer of a job file, not started yet.

    Args:
        config: `type`, and the options of that type.
        surroundings: the job's stream, environment, last snapshot.

    Raises:
        DiscovererConfigError: there is no such type, or its options do not fit.
    """
    options = dict(config)
    kind = options.pop("type", None)
    if not isinstance(kind, str):
        known = ", ".join(BUILT_IN)
        raise DiscovererConfigError(f"discoverer.type: missing. Write {known} or module:Class.")
    factory = _factory_class(kind)
    try:
        return factory.model_validate(options).create_discoverer(surroundings)
    except ValidationError as error:
        told = problem_text(error, factory)
    except ValueError as error:
        told = str(error)
    raise DiscovererConfigError(
        "\n".join(f"discoverer ({kind}): {line}" for line in told.splitlines())
    )


def _factory_class(kind: str) -> type[PatternProcessorDiscovererFactory]:
    if kind not in BUILT_IN and not _CLASS_PATH.fullmatch(kind):
        near = did_you_mean(kind, BUILT_IN)
        raise DiscovererConfigError(
            f"discoverer.type: '{kind}' is not known. {near} A class of your own is module:Class."
        )
    module_name, _, class_name = BUILT_IN.get(kind, kind).partition(":")
    try:
        found = getattr(import_module(module_name), class_name)
    except ImportError as error:
        remedy = (
            "Install 'percept[discoverers]'." if kind in BUILT_IN else "Is it on the Python path?"
        )
        raise DiscovererConfigError(f"discoverer.type: {kind}: {error}. {remedy}") from error
    except AttributeError:
        raise DiscovererConfigError(
            f"discoverer.type: the module {module_name} has no {class_name}."
        ) from None
    if not (isinstance(found, type) and issubclass(found, PatternProcessorDiscovererFactory)):
        raise DiscovererConfigError(
            f"discoverer.type: {kind} is no PatternProcessorDiscovererFactory. Subclass it."
        )
    return found
