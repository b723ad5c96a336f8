"""The wheel: what is in it, what type checkers see of it, and that it runs without the sources."""

import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

import percept
import percept.client
import percept.discoverers
import percept.spark
from percept._packages import PACKAGES
from tests.percept.programs import run

ROOT = Path(__file__).parents[2]
SCRIPTS = Path(sysconfig.get_path("scripts"))
LIBRARIES = sysconfig.get_path("purelib")


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a Python with the wheel and nothing else; libraries are put in by `with_libraries`."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True, with_pip=False)
    interpreter = folder / "bin" / Path(sys.executable).name
    options = ["--offline", "--no-deps", "--link-mode", "copy", "--python", str(interpreter)]
    command = [str(SCRIPTS / "uv"), "pip", "install", "--quiet", *options, str(wheel)]
    subprocess.run(command, check=True)  # noqa: S603 - our own command
    return interpreter


def site_packages(python: Path) -> Path:
    (folder,) = python.parents[1].glob("lib/python*/site-packages")
    return folder


def with_libraries(program: str) -> str:
    """Return a program that finds the libraries of this Python, but not Percept's sources."""
    return f"import sys; sys.path.append({LIBRARIES!r})\n{program}"


def test_the_wheel_holds_every_package_with_its_types(wheel: Path) -> None:
    files = set(zipfile.ZipFile(wheel).namelist())
    sources = {
        str(path.relative_to(ROOT))
        for package in ("percept", *PACKAGES)
        for path in (ROOT / package).rglob("*.py")
    }
    assert len(sources) > 300
    assert sources <= files
    assert {f"{package}/py.typed" for package in ("percept", *PACKAGES)} <= files


def test_the_wheel_holds_migrations_and_the_dashboard(wheel: Path) -> None:
    files = set(zipfile.ZipFile(wheel).namelist())
    versions = {path.name for path in (ROOT / "migrations/versions").glob("*.py")}
    assert versions
    assert {f"api/_migrations/versions/{name}" for name in versions} <= files
    assert {"api/_migrations/env.py", "api/dashboard/static/index.html"} <= files


def test_the_wheel_holds_nothing_else(wheel: Path) -> None:
    tops = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    (information,) = (name for name in tops if name.endswith(".dist-info"))
    assert tops == {"percept", *PACKAGES, information}


@pytest.mark.long
def test_type_checkers_see_types_and_not_any(python: Path, tmp_path: Path) -> None:
    modules = (percept, percept.client, percept.discoverers, percept.spark)
    lines = [f"import {module.__name__}" for module in modules]
    lines += [
        f"reveal_type({module.__name__}.{name})" for module in modules for name in module.__all__
    ]
    lines += [
        "from percept import Pattern, find_matches",
        "reveal_type(find_matches(Pattern.begin('a').where('x = 1'), []).matches[0].time_ms)",
        "reveal_type(percept.Client('https://host', 'token').get('rule').etag)",
        "find_matches(Pattern.begin('a'), [], time_feild='ts')",
        "percept.patern",
    ]
    program = tmp_path / "program.py"
    program.write_text("\n".join(lines), encoding="utf-8")
    options = ["--strict", "--python-executable", str(python), "--cache-dir", str(tmp_path / "c")]
    told = run("", tmp_path, "-m", "mypy", *options, "program.py").stdout

    revealed = re.findall(r'note: Revealed type is "(.*)"$', told, re.MULTILINE)
    assert len(revealed) == sum(line.startswith("reveal_type") for line in lines), told
    assert "Any" not in revealed
    assert revealed[-2:] == ["int", "str"]
    assert re.findall(r": error: .*\[(\S*)\]$", told, re.MULTILINE) == [
        "call-arg",
        "attr-defined",
    ], told


@pytest.mark.long
def test_the_installed_wheel_finds_matches_and_has_its_command(
    python: Path, tmp_path: Path
) -> None:
    program = """
import percept
from percept import Pattern, find_matches
(match,) = find_matches(Pattern.begin("a").where("x = 1"), [{"ts": 5, "x": 1}]).matches
print(match.time_ms, percept.__version__, percept.__file__)
"""
    done = run(with_libraries(program), tmp_path, python=python)
    time_ms, version, file = done.stdout.split()
    assert (time_ms, version) == ("5", percept.__version__)
    assert Path(file).is_relative_to(site_packages(python))

    command = "from percept.__main__ import main; sys.argv = ['percept', 'match', '--help']; main()"
    assert "RULE" in run(with_libraries(command), tmp_path, python=python).stdout
    script = (python.parent / "percept").read_text(encoding="utf-8")
    assert "from percept.__main__ import main" in script


@pytest.mark.long
def test_a_package_that_another_distribution_has_overwritten_is_told(
    python: Path, tmp_path: Path
) -> None:
    own = site_packages(python) / "api" / "__init__.py"
    text = own.read_bytes()
    other = site_packages(python) / "clever_api-2.0.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Name: clever-api\nVersion: 2.0\n", encoding="utf-8")
    (other / "RECORD").write_text("api/__init__.py,,\n", encoding="utf-8")
    try:
        own.write_text("print('it has been run')\n", encoding="utf-8")
        done = run(with_libraries("from percept import Client"), tmp_path, python=python)
    finally:
        own.write_bytes(text)
    assert done.stdout == ""
    assert done.stderr.splitlines()[-1] == (
        f"ImportError: {own.parent} has been overwritten since Percept was installed there, of the "
        "distribution clever-api 2.0. Install Percept in an environment of its own."
    )
    done = run(with_libraries("from percept import Client; print(Client)"), tmp_path, python=python)
    assert done.stdout == "<class 'api.client.client.Client'>\n"
