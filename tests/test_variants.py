"""Of variants of other tests some are left out, others by another text; never anything else."""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.variants import are_left_out, variants

FILE = """
import pytest

@pytest.mark.parametrize("x", [0, *[pytest.param(x, marks=pytest.mark.long) for x in range(1, 40)]])
def test_varied(x):
    pass

@pytest.mark.long
@pytest.mark.parametrize("x", range(5))
def test_long_alone(x):
    pass
"""


@pytest.fixture
def items(request: pytest.FixtureRequest, tmp_path: Path) -> list[pytest.Item]:
    file = tmp_path / "test_varied.py"
    file.write_text(FILE)
    module = pytest.Module.from_parent(request.session, path=file)
    return [item for item in request.session.genitems(module) if isinstance(item, pytest.Item)]


def test_all_are_run_where_nothing_else_is_asked_for(items: list[pytest.Item]) -> None:
    assert len(items) == 45
    assert are_left_out(items, 1, "") == set()


def test_one_in_so_many_variants_is_run_and_everything_else(items: list[pytest.Item]) -> None:
    left_out = [are_left_out(items, 4, text) for text in ("one", "another")]
    for each in left_out:
        assert 10 <= len(each) < 43
        of_functions = Counter(item.nodeid.partition("[")[0].rpartition("::")[2] for item in each)
        assert of_functions["test_varied"] < 39
        assert of_functions["test_long_alone"] < 5
    assert left_out[0] != left_out[1]
    assert are_left_out(items, 4, "one") == left_out[0]


def test_one_of_several_long_ones_is_always_run(items: list[pytest.Item]) -> None:
    chosen = set()
    for text in map(str, range(1_000)):
        never = set(items) - variants(items, text)
        assert {item.name for item in never if "varied" in item.name} == {"test_varied[0]"}
        (alone,) = (item.name for item in never if "alone" in item.name)
        chosen.add(alone)
    assert len(chosen) == 5


def ran(*words: str) -> str:
    """Return what pytest prints about some tests."""
    command = [sys.executable, "-m", "pytest", "-n", "0", "-q", "-p", "no:cacheprovider", *words]
    root = Path(__file__).parents[1]
    ended = subprocess.run(  # noqa: S603 - our own
        command, cwd=root, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_variants_for_which_there_is_no_time_are_skipped_and_told() -> None:
    names = ["tests/faults/test_broken_discoverers.py", "-k", "wrong_rule"]
    told = ran("--variants-for-minutes", "0", *names)
    assert "1 passed, 12 skipped" in told
    assert "a variant, and 0 minutes are over" in told


def test_long_ones_for_which_there_is_no_time_are_skipped_and_told() -> None:
    names = ["tests/api/test_snoozes.py", "-k", "what_cannot_be", "-m", "long"]
    told = ran("--long-for-minutes", "0", *names)
    assert re.search(r"^[1-9][0-9]* skipped", told, re.MULTILINE), told
    assert "a long test or one of faults, and 0 minutes are over" in told
