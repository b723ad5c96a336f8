"""The one line that a list of commands tells of each, read from its source: nothing is imported.

entry point ──file of the module, parsed──► docstring of the function, or help of its `typer.Typer`
"""

import ast
from importlib.metadata import EntryPoint
from importlib.util import find_spec
from pathlib import Path


def summary_of(point: EntryPoint) -> str | None:
    """Return the first sentence of a command's help; `None` if its source does not show it."""
    source = _source_of(point.module)
    if source is None:
        return None
    for node in ast.parse(source.read_bytes()).body:
        text = _help_in(node, point.attr)
        if text:
            return text.partition("\n\n")[0].replace("\n", " ")
    return None


def _source_of(module: str) -> Path | None:
    top, *rest = module.split(".")
    found = find_spec(top)  # of a package in another one it would import that
    if found is None or found.origin is None:
        return None
    place = Path(found.origin)
    path = place.parent.joinpath(*rest).with_suffix(".py") if rest else place
    return path if path.is_file() else None


def _help_in(node: ast.stmt, name: str) -> str | None:
    match node:
        case ast.FunctionDef(name=found) if found == name:
            return ast.get_docstring(node)
        case ast.Assign(targets=[ast.Name(id=found)], value=ast.Call(keywords=keywords)) if (
            found == name
        ):
            for keyword in keywords:
                if keyword.arg == "help" and isinstance(keyword.value, ast.Constant):
                    return str(keyword.value.value)
    return None
