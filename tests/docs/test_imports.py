"""Pages and examples for users import `percept`, not the modules behind it."""

import ast
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from percept._packages import PACKAGES
from tests.docs.fences import ROOT, fences

PAGES = ["README.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md")))]
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


@pytest.mark.parametrize("page", PAGES)
def test_a_page_imports_the_public_names(page: str) -> None:
    assert behind(modules_of(page)) == []


def test_the_pages_import_something() -> None:
    assert sum(module == "percept" for page in PAGES for module in modules_of(page)) > 4


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_an_example_imports_the_public_names(example: Path) -> None:
    modules = list(imported(example.read_text(encoding="utf-8")))
    assert behind(modules) == []
    assert any(module.startswith("percept") for module in modules)
