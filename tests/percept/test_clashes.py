"""Other packages with the names of Percept's are told from them before anything of them runs."""

from pathlib import Path

import pytest

from percept._packages import PACKAGES
from tests.percept.programs import run

ROOT = Path(__file__).parents[2]
FAKE = "print('it has been run')\n"


def fake_package(folder: Path, name: str) -> Path:
    package = folder / name
    package.mkdir()
    (package / "__init__.py").write_text(FAKE, encoding="utf-8")
    return package


def last_line(program: str, folder: Path) -> str:
    """Return the last line of a program that fails, with the folder first on `sys.path`."""
    done = run(program, folder, path=[folder])
    assert done.returncode == 1
    assert done.stdout == ""
    return done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("name", "statement"),
    [
        ("api", "from percept import Client"),
        ("contract", "import percept.client"),
        ("processor_runtime", "from percept import match_patterns"),
        ("discoverers", "import percept.discoverers"),
        ("cep", "from percept import Pattern"),
    ],
)
def test_a_package_that_hides_one_of_percept_is_named_and_not_run(
    name: str, statement: str, tmp_path: Path
) -> None:
    package = fake_package(tmp_path, name)
    message = last_line(statement, tmp_path)
    assert message == (
        f"ImportError: '{name}' is imported from {package}, but Percept's own is {ROOT / name}. "
        "Rename the other one, take its folder off sys.path (the working directory, PYTHONPATH), "
        "or install Percept in an environment of its own."
    )


def test_nothing_heavy_is_loaded_to_find_out(tmp_path: Path) -> None:
    fake_package(tmp_path, "api")
    program = """
import sys
try:
    from percept import Client
except ImportError:
    print({"api", "cep", "pydantic", "polars", "httpx2"} & set(sys.modules))
"""
    assert run(program, tmp_path, path=[tmp_path]).stdout == "set()\n"


def test_what_does_not_need_the_hidden_package_works(tmp_path: Path) -> None:
    fake_package(tmp_path, "api")
    done = run("from percept import Pattern; print(Pattern)", tmp_path, path=[tmp_path])
    assert done.stdout == "<class 'cep.pattern.builder.Pattern'>\n"


def test_a_module_hides_as_a_package_does(tmp_path: Path) -> None:
    module = tmp_path / "api.py"
    module.write_text(FAKE, encoding="utf-8")
    assert f"'api' is imported from {module}, but" in last_line("import percept.client", tmp_path)


def test_a_package_that_has_been_imported_already_is_told(tmp_path: Path) -> None:
    (tmp_path / "api.py").touch()
    message = last_line("import api; from percept import Client", tmp_path)
    assert f"'api' is imported from {tmp_path / 'api.py'}, but" in message


def test_the_distribution_of_the_other_package_is_named(tmp_path: Path) -> None:
    fake_package(tmp_path, "api")
    information = tmp_path / "clever_api-2.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Name: clever-api\nVersion: 2.0\n", encoding="utf-8")
    (information / "RECORD").write_text("api/__init__.py,,\n", encoding="utf-8")
    message = last_line("import percept.client", tmp_path)
    assert f"{tmp_path / 'api'}, of the distribution clever-api 2.0, but" in message


@pytest.mark.parametrize("name", PACKAGES)
def test_the_command_needs_all_packages(name: str, tmp_path: Path) -> None:
    fake_package(tmp_path, name)
    done = run("", tmp_path, "-m", "percept", "--version", path=[tmp_path])
    assert f"ImportError: '{name}' is imported from" in done.stderr.splitlines()[-1]


def test_the_command_runs_where_nothing_is_hidden(tmp_path: Path) -> None:
    done = run("", tmp_path, "-m", "percept", "--version")
    assert done.stdout.startswith("percept ")
