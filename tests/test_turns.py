"""Slow files begin first; where there is no time for all, each has its turn with some text."""

from pathlib import Path

import pytest

from tests.turns import SLOW_FILES, turn

SPARK = "import pytest\npytestmark = pytest.mark.spark\n"
TEST = "def test_it():\n    pass\n"
FILES = {"test_a.py": TEST, "test_b.py": SPARK + TEST, "test_c.py": TEST, "test_d.py": SPARK + TEST}


@pytest.fixture
def items(request: pytest.FixtureRequest, tmp_path: Path) -> list[pytest.Item]:
    found: list[pytest.Item] = []
    for name, content in FILES.items():
        path = tmp_path / name
        path.write_text(content, encoding="utf-8")
        module = pytest.Module.from_parent(request.session, path=path, nodeid=name)
        found += [
            item for item in request.session.genitems(module) if isinstance(item, pytest.Item)
        ]
    return found


def in_turn(items: list[pytest.Item], text: str, *variants: str) -> list[str]:
    ids = {item.nodeid for item in items if item.path.name in variants}
    ordered = sorted(items, key=lambda item: turn(item, ids, text))
    return [item.path.name for item in ordered]


def test_files_that_need_spark_are_first_where_all_are_run(items: list[pytest.Item]) -> None:
    assert in_turn(items, "") == ["test_b.py", "test_d.py", "test_a.py", "test_c.py"]


def test_files_that_are_said_to_be_slow_are_there() -> None:
    root = Path(__file__).parents[1]
    assert [name for name in SLOW_FILES if not (root / name).is_file()] == []


def test_with_some_text_each_file_is_the_first_one(items: list[pytest.Item]) -> None:
    assert {in_turn(items, str(number))[0] for number in range(100)} == set(FILES)
    assert in_turn(items, "one") == in_turn(items, "one")


@pytest.mark.parametrize("text", ["", "one", "another"])
def test_variants_are_last(items: list[pytest.Item], text: str) -> None:
    assert set(in_turn(items, text, "test_b.py", "test_c.py")[2:]) == {"test_b.py", "test_c.py"}
