"""Commands with only some extras installed: what is missing, and the extra that brings it.

The libraries of the other extras are hidden from a Python of its own.
"""

import json
import re
from importlib.metadata import PackageNotFoundError, entry_points, packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from percept.extras import extra_of, missing_text
from tests.percept.programs import hiding, run

COMMANDS = {point.name: point for point in entry_points(group="percept.commands")}


def installed_with(*extras: str) -> set[str]:
    """Return the names of the distributions that Percept with these extras brings."""
    found: set[tuple[str, str]] = set()
    waiting = [("percept", extra) for extra in ("", *extras)]
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in found:
            continue
        found.add((name, extra))
        try:
            needs = requires(name) or []
        except PackageNotFoundError:
            continue
        for need in map(Requirement, needs):
            if need.marker is None or need.marker.evaluate({"extra": extra}):
                waiting += [(canonicalize_name(need.name), each) for each in ("", *need.extras)]
    return {name for name, _ in found}


def without_others(*extras: str) -> str:
    """Return the beginning of a program that has only the libraries of these extras."""
    present = installed_with(*extras)
    hidden = {
        module
        for module, names in packages_distributions().items()
        if not present & {canonicalize_name(name) for name in names}
        and re.fullmatch(r"\w+", module)
    }
    return hiding(hidden)


def missing_with(folder: Path, *extras: str) -> dict[str, str]:
    """Return, for each command that cannot be imported with these extras, the library it lacks."""
    modules = sorted({point.module for point in COMMANDS.values()})
    done = run(
        f"""{without_others(*extras)}
import importlib, json
missing = {{}}
for module in {modules!r}:
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        missing[module] = error.name
print(json.dumps(missing))
""",
        folder,
    )
    assert done.returncode == 0, done.stderr
    missing = json.loads(done.stdout.splitlines()[-1])
    return {
        name: missing[point.module] for name, point in COMMANDS.items() if point.module in missing
    }


@pytest.mark.long
def test_what_needs_no_extra_needs_none(tmp_path: Path) -> None:
    missing = missing_with(tmp_path)
    assert {"match", "explain", "sql", "test", "backtest", "schema"} <= COMMANDS.keys() - missing
    for name, point in COMMANDS.items():
        assert bool(extra_of(point.module)) is (name in missing), name


@pytest.mark.long
@pytest.mark.parametrize("extra", ["client", "api", "spark"])
def test_the_extra_that_is_named_brings_all_that_a_command_imports(
    tmp_path: Path, extra: str
) -> None:
    theirs = {name for name, point in COMMANDS.items() if extra_of(point.module) == extra}
    assert theirs
    assert not theirs & missing_with(tmp_path, extra).keys()


@pytest.mark.long
@pytest.mark.parametrize(
    "words",
    [
        ["serve", "--help"],
        ["job", "check", "job.yaml", "--json"],
        ["apply", "rules", "--token", "x"],
    ],
)
def test_a_command_without_its_libraries_says_what_to_install(
    tmp_path: Path, words: list[str]
) -> None:
    program = f"{without_others()}sys.argv = ['percept', *{words!r}]\n"
    done = run(f"{program}from percept.__main__ import main\nmain()", tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    extra = extra_of(COMMANDS[words[0]].module)
    assert re.fullmatch(
        rf"percept {words[0]}: \w+ is not installed; it comes with Percept's extra '{extra}': "
        rf"pip install 'percept\[{extra}\]'\n",
        done.stderr,
    )


@pytest.mark.long
def test_what_a_command_lacks_only_while_it_runs_is_told_alike(tmp_path: Path) -> None:
    job = tmp_path / "job.yaml"
    job.write_text(
        "name: logins-job\nstream: logins\nsource: {format: rate}\ncheckpoint: checkpoint\n"
        "discoverer: {type: directory, path: rules}\noutputs: [{type: console}]\n",
        encoding="utf-8",
    )
    (tmp_path / "rules").mkdir()
    program = f"{without_others('discoverers')}sys.argv = ['percept', 'run', {str(job)!r}]\n"
    done = run(f"{program}from percept.__main__ import main\nmain()", tmp_path)
    assert done.returncode == 2, done.stderr
    assert re.fullmatch(
        r"percept run: (py4j|pyspark) is not installed; it comes with Percept's extra 'spark': "
        r"pip install 'percept\[spark\]'",
        done.stderr.splitlines()[-1],
    )


def test_a_library_that_is_too_old_is_told_with_what_it_lacks() -> None:
    told = missing_text(ImportError("cannot import name 'x' from 'httpx2'"), "api.gitops.commands")
    assert told.startswith("cannot import name 'x' from 'httpx2'; it comes with")
    assert missing_text(ModuleNotFoundError(name="polars"), "cep.match_command").endswith(
        "install Percept again, with what it depends on: pip install percept"
    )
