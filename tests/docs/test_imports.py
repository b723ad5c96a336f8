"""Pages and examples for users import `percept`, not the modules behind it."""

import ast
import textwrap
from collections.abc import Iterator

from percept._packages import PACKAGES
from tests.docs.fences import PAGES, ROOT, fences

EXAMPLES = [ROOT / "examples/own_discoverer/thresholds.py", *(ROOT / "examples").glob("ssh_*/*.py")]


def imported(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.ImportFrom():
                yield str(node.module)
            case ast.Import():
                yield from (alias.name for alias in node.names)
            case _:
                pass


def modules_of(page: str) -> list[str]:
    """Return the modules that the Python code of a page imports."""
    return [
        module
        for fence in fences(page)
        if fence.language in {"python", "pycon"}
        for line in fence.text.splitlines()
        if "import " in line
        for module in imported(textwrap.dedent(line.removeprefix(">>> ")))
    ]


def behind(modules: list[str]) -> list[str]:
    return [module for module in modules if module.partition(".")[0] in PACKAGES]


def test_pages_import_the_public_names() -> None:
    modules = {page: modules_of(page) for page in PAGES}
    assert sum(each.count("percept") for each in modules.values()) > 4
    assert {page: wrong for page, each in modules.items() if (wrong := behind(each))} == {}


def test_examples_import_the_public_names() -> None:
    assert len(EXAMPLES) > 1
    for example in EXAMPLES:
        modules = list(imported(example.read_text(encoding="utf-8")))
        assert behind(modules) == [], example.name
        assert any(module.startswith("percept") for module in modules), example.name
