"""docs/sql.md: every example runs and gives what the page shows."""

import re

from tests.docs.fences import ROOT, fences, rows
from tests.docs.row_letters import matches

PAGE = "docs/sql.md"


def code(cell: str) -> str:
    return cell.strip().strip("`")


def test_each_pattern_matches_as_its_row_says() -> None:
    shown = rows(PAGE, "Pattern", "Rows", "Matches", "")
    assert len(shown) > 12
    found = [(row["Pattern"], matches(code(row["Pattern"]), code(row["Rows"]))) for row in shown]
    assert found == [(row["Pattern"], row["Matches"]) for row in shown]


def test_each_skip_finds_what_its_row_says() -> None:
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    (pattern,) = re.findall(r"`PATTERN \((.*)\)`:\n\n\| Skip", text)
    shown = rows(PAGE, "Skip", "Rows", "Matches", "")
    assert len(shown) == 5
    found = [matches(pattern, code(row["Rows"]), code(row["Skip"])) for row in shown]
    assert found == [row["Matches"] for row in shown]


def test_a_query_that_is_shown_is_the_file_that_is_run() -> None:
    shown = [fence for fence in fences(PAGE) if fence.language in {"sql", "console"}]
    pairs = list(zip(shown[::2], shown[1::2], strict=True))

    assert len(pairs) == 1
    for query, command in pairs:
        (path,) = re.findall(r"percept sql (\S+)", command.text)
        assert query.text == (ROOT / path).read_text(encoding="utf-8")
