"""Which modules each page of the dashboard needs, read from the imports of the modules themselves.

    js/main.js ─ its table of pages ─► the page's module ─ imports of imports ─► preload links

Without the links a browser learns of a module only when the one that imports it has come: a round
trip for every level. Modules that are imported at run time are needed soon after, and count too.
"""

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

ENTRY: Final = "js/main.js"
_PAGE: Final = re.compile(r'"(/[^"]*)": \(\) => import\("([^"]+)"\)')
_IMPORT: Final = re.compile(
    r"""^(?:import|export)\b[^;'"]*?\s*from\s*["'](\.[^"']+)["']""", re.MULTILINE
)
_LATER: Final = re.compile(r"""\bimport\(["'](\.[^"']+)["']\)""")
_NAME: Final = re.compile(r":\w+|\{\w+\}")


def modules_by_page(sources: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return the modules that a page needs, by the path of the page as `unnamed` gives it.

    Args:
        sources: the text of all modules by their path, `js/main.js` among them.
    """
    imports = {module: _imports(module, source) for module, source in sources.items()}
    return {
        unnamed(path): tuple(_needed([ENTRY, _found(ENTRY, module)], imports))
        for path, module in _PAGE.findall(sources[ENTRY])
    }


def unnamed(path: str) -> str:
    """Return the path of a page without the names of its parts: the service has others."""
    return _NAME.sub("{}", path)


def _imports(module: str, source: str) -> list[str]:
    named = _IMPORT.findall(source)
    if module != ENTRY:  # all pages are imported later there
        named += _LATER.findall(source)
    return [_found(module, name) for name in named]


def _needed(begin: Iterable[str], imports: Mapping[str, Sequence[str]]) -> list[str]:
    found: list[str] = []
    waiting = list(begin)
    while waiting:
        module = waiting.pop(0)
        if module in found or module not in imports:
            continue
        found.append(module)
        waiting += imports[module]
    return found


def _found(importer: str, name: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(importer), name))
