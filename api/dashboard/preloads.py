"""Which libraries each page of the dashboard needs, read from the imports of its modules.

    js/main.js ─ its table of pages ─► the page's module ─ imports of imports ─► preload links

Without the links a browser learns of a library only when the bundle of our own modules has come and
run. Libraries that are imported at run time are needed soon after, and count too.
"""

import re
from collections.abc import Mapping
from typing import Final

from api.dashboard.imports import ENTRY, found, imported, imported_later, is_library, reached

_PAGE: Final = re.compile(r'"(/[^"]*)": \(\) => import\("([^"]+)"\)')
_NAME: Final = re.compile(r":\w+|\{\w+\}")


def libraries_by_page(sources: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return the libraries that a page needs, by the path of the page as `unnamed` gives it.

    Args:
        sources: the text of all our modules by their path, `js/main.js` among them.
    """
    imports = {
        # All pages are imported later in the entry.
        module: imported(module, source)
        + ([] if module == ENTRY else imported_later(module, source))
        for module, source in sources.items()
    }
    return {
        unnamed(path): tuple(
            filter(is_library, reached([ENTRY, found(ENTRY, module)], imports)),
        )
        for path, module in _PAGE.findall(sources[ENTRY])
    }


def unnamed(path: str) -> str:
    """Return the path of a page without the names of its parts: the service has others."""
    return _NAME.sub("{}", path)
