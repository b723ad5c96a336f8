"""Links all our modules into one file, so that a page asks for one script and not for eighty.

    js/**/*.js ─► generated/console.js, generated/console.js.map

It is made when the service reads its files, from the text it finds there: nothing is built, and
nothing can be out of date. Each module becomes a function that runs once, when it is first needed,
and returns what the module exports. Lines stay lines, so the map is one step per line, and tools of
browsers show the modules as they are written. Libraries stay files of their own, as a page needs
few of them; a page waits for those that its modules name.
"""

import json
import re
from collections.abc import Mapping
from typing import Final

from api.dashboard.imports import (
    ENTRY,
    IMPORT,
    LATER,
    found,
    imported,
    is_library,
    reached,
)

BUNDLE_PATH: Final = "generated/console.js"
MAP_PATH: Final = "generated/console.js.map"

_BEGIN: Final = """\
// All modules of the dashboard; they are served one by one, too, beside this file.
const libraries = new Map(), made = new Map(), made_by = {};
const use = (path) => {
  if (libraries.has(path)) return libraries.get(path);
  if (!made.has(path)) made.set(path, made_by[path]());
  return made.get(path);
};
const load = async (path, needed) => {
  const read = async (name) => libraries.set(name, await import(`../${name}`));
  await Promise.all(needed.filter((name) => !libraries.has(name)).map(read));
  return use(path);
};
"""
_EXPORT: Final = re.compile(
    r"^export (default )?((?:async )?function|const|class) (\w+)", re.MULTILINE
)
_OWN_ADDRESS: Final = "import.meta.url"
_LEFT: Final = re.compile(r"^(?:import|export|await)\b.*", re.MULTILINE)
_RENAMED: Final = re.compile(r"\s+as\s+")
_BASE64: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def bundled(sources: Mapping[str, str]) -> tuple[str, str]:
    """Return the bundle and its source map.

    Args:
        sources: the text of all our modules by their path, `js/main.js` among them.

    Raises:
        ValueError: a module imports or exports in a form that is not understood, or itself through
            others.
    """
    imports = {module: imported(module, source) for module, source in sources.items()}
    _refuse_circles(imports)
    libraries = {module: list(filter(is_library, reached([module], imports))) for module in sources}
    parts = [_BEGIN]
    for module, source in sources.items():
        parts.append(f"made_by[{json.dumps(module)}] = () => {{\n")
        parts.append(_linked(module, source, libraries))
    parts.append(f"{_loading(ENTRY, libraries)};\n//# sourceMappingURL=console.js.map\n")
    return "".join(parts), _source_map(sources)


def _linked(module: str, source: str, libraries: Mapping[str, list[str]]) -> str:
    """Return the body of a module's function, line by line as the module."""

    def import_now(match: re.Match[str]) -> str:
        path = json.dumps(found(module, match[2]))
        return f"const {{{_RENAMED.sub(': ', match[1])}}} = use({path});"

    def import_later(match: re.Match[str]) -> str:
        path = found(module, match[1])
        return f'import("../{path}")' if is_library(path) else _loading(path, libraries)

    exported = [
        f"default: {name}" if default else name for default, _, name in _EXPORT.findall(source)
    ]
    text = IMPORT.sub(import_now, source)
    text = LATER.sub(import_later, text)
    text = _EXPORT.sub(r"\2 \3", text)
    text = text.replace(_OWN_ADDRESS, f"new URL({json.dumps('../' + module)}, {_OWN_ADDRESS})")
    if left := _LEFT.search(text):
        line = text.count("\n", 0, left.start()) + 1
        raise ValueError(f"{module}, line {line}: no form that can be bundled: {left[0]}")
    return f"{text.rstrip()}\nreturn {{ {', '.join(exported)} }}; }};\n"


def _loading(module: str, libraries: Mapping[str, list[str]]) -> str:
    return f"load({json.dumps(module)}, {json.dumps(libraries[module])})"


def _refuse_circles(imports: Mapping[str, list[str]]) -> None:
    for module, named in imports.items():
        if module in reached(named, imports):
            raise ValueError(f"{module} imports itself through other modules")


def _source_map(sources: Mapping[str, str]) -> str:
    """Return a map of whole lines, version 3: each step is four differences in base 64."""
    lines = [""] * _BEGIN.count("\n")
    left_at = 0
    for number, source in enumerate(sources.values()):
        count = source.rstrip().count("\n") + 1
        lines += ["", f"A{_number(min(number, 1))}{_number(-left_at)}A"]
        lines += ["AACA"] * (count - 1) + [""]
        left_at = count - 1
    return json.dumps(
        {
            "version": 3,
            "sources": [f"../{module}" for module in sources],
            "names": [],
            "mappings": ";".join(lines),
        }
    )


def _number(value: int) -> str:
    """Return a whole number as the map writes it: the sign is the last bit, five bits a letter."""
    rest = (abs(value) << 1) | (value < 0)
    text = ""
    while True:
        rest, digit = rest >> 5, rest & 31
        text += _BASE64[digit | (32 if rest else 0)]
        if not rest:
            return text
