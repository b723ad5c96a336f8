"""The wheel, built once for the tests of a module."""

from pathlib import Path

import pytest

from tests.docs.fences import ROOT
from tests.percept.programs import run


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    done = run("", ROOT, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder))
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("*.whl")
    return built
