"""`import percept`: every name is there, typed as it is at run time, and costs nothing before."""

import ast
from pathlib import Path

import pytest

import percept
import percept.client
from tests.percept.programs import libraries_after, run


def imports_for_type_checkers() -> dict[str, str]:
    """Return the modules that type checkers take the names from."""
    tree = ast.parse(Path(percept.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    return {
        alias.name: str(statement.module)
        for statement in block.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }


def test_type_checkers_see_the_names_that_are_there() -> None:
    assert imports_for_type_checkers() == percept._HOMES
    assert {*percept._HOMES, "__version__"} == set(percept.__all__) == set(dir(percept))


def test_every_name_is_there() -> None:
    assert [name for name in percept.__all__ if getattr(percept, name, None) is None] == []


def test_every_error_of_the_client_is_there() -> None:
    errors = {
        name
        for name in percept.client.__all__
        if issubclass(getattr(percept.client, name), percept.ServiceError)
    }
    assert len(errors) == 8
    assert errors <= set(percept.__all__)


def test_a_name_that_is_not_there_is_told() -> None:
    with pytest.raises(AttributeError, match="module 'percept' has no attribute 'patern'"):
        _ = percept.patern  # type: ignore[attr-defined]


@pytest.mark.long
@pytest.mark.parametrize(
    ("statements", "libraries"),
    [
        ("import percept; dir(percept); percept.__version__", []),
        ("from percept import SigningKeys, find_matches", ["polars", "pydantic", "sqlglot"]),
        ("from percept import Client", ["polars", "pydantic", "httpx2", "sqlglot"]),
        ("import percept.discoverers", ["polars", "pydantic", "sqlglot"]),
    ],
)
def test_only_what_a_name_needs_is_loaded(
    statements: str, libraries: list[str], tmp_path: Path
) -> None:
    assert libraries_after(statements, tmp_path) == libraries


@pytest.mark.parametrize(
    ("name", "library", "extra"),
    [("Client", "httpx2", "client"), ("match_patterns", "pyspark", "spark")],
)
def test_an_extra_that_is_missing_is_named(
    name: str, library: str, extra: str, tmp_path: Path
) -> None:
    program = f"import sys; sys.modules['{library}'] = None; from percept import {name}"
    done = run(program, tmp_path)
    assert done.stderr.splitlines()[-1] == (
        f"ImportError: {library} is not installed; it comes with Percept's extra '{extra}': "
        f"pip install 'percept[{extra}]'"
    )


def test_what_needs_no_extra_works_where_one_is_missing(tmp_path: Path) -> None:
    done = run(
        "import sys; sys.modules |= {'httpx2': None, 'pyspark': None}\n"
        "from percept import Pattern, find_matches\n"
        "print(find_matches(Pattern.begin('a'), [{'ts': 1}]).matches[0].at)",
        tmp_path,
    )
    assert (done.stdout, done.stderr) == ("0\n", "")
