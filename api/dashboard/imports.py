"""What a module of the dashboard imports and exports, read from its lines.

    text of a module ─► Import, Later ─► preloads, bundle

The modules keep to a few forms (named imports at the beginning of a line; functions, constants and
classes exported where they are made), and `bundle` refuses others.
"""

import posixpath
import re
from collections.abc import Iterable, Mapping
from typing import Final

ENTRY: Final = "js/main.js"
IMPORT: Final = re.compile(
    r"""^import \{([^;'"]*?)\} from ["'](\.[^"']+)["'];""",
    re.MULTILINE,
)
"""An import at the head of a module: its names and the path of another module."""
LATER: Final = re.compile(r"""\bimport\(["'](\.[^"']+)["']\)""")
"""An import at run time, or a type in a comment, which does no harm."""
_LIBRARIES: Final = "vendor/"


def imported(module: str, source: str) -> list[str]:
    """Return the modules that one needs before it runs, in the order of its text."""
    return [found(module, name) for _, name in IMPORT.findall(source)]


def imported_later(module: str, source: str) -> list[str]:
    """Return the modules that one imports at run time."""
    return [found(module, name) for name in LATER.findall(source)]


def found(importer: str, name: str) -> str:
    """Return the path of what a module calls `../ui/button.js`."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(importer), name))


def is_library(module: str) -> bool:
    """Return whether a module was made elsewhere; it imports nothing."""
    return module.startswith(_LIBRARIES)


def reached(begin: Iterable[str], imports: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the modules that are reached from some, these first."""
    seen: dict[str, None] = {}
    waiting = list(begin)
    while waiting:
        module = waiting.pop(0)
        if module not in seen:
            seen[module] = None
            waiting += imports.get(module, ())
    return list(seen)
