"""docs/installation.md names every extra and every command, each with the extra it needs."""

import re
import tomllib
from importlib.metadata import entry_points

from percept.extras import extra_of
from tests.docs.fences import ROOT, rows

ROWS = rows("docs/installation.md", "extra", "brings", "for the commands")


def words(text: str) -> set[str]:
    return set(re.findall(r"`([\w-]+)`", text))


def test_every_extra_has_its_line() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = [row["extra"].strip("`") for row in ROWS]
    assert named[0] == "none"
    assert sorted(named[1:]) == sorted(project["optional-dependencies"])


def test_every_command_stands_with_the_extra_that_it_needs() -> None:
    for row in ROWS:
        extra = row["extra"].strip("`")
        expected = {
            point.name
            for point in entry_points(group="percept.commands")
            if (extra_of(point.module) or "none") == extra
        }
        assert words(row["for the commands"]) == expected, extra
