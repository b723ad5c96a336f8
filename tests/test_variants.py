"""Of variants of shorter tests some are left out, others by another text; never anything else."""

from pathlib import Path

import pytest

from tests.variants import are_left_out

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
        assert 10 <= len(each) < 39
        assert {item.nodeid.partition("[")[0].rpartition("::")[2] for item in each} == {
            "test_varied"
        }
    assert left_out[0] != left_out[1]
    assert are_left_out(items, 4, "one") == left_out[0]
