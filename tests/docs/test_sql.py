"""docs/sql.md: every example runs and gives what the page shows."""

import re

import pytest

from tests.docs.fences import ROOT, fences, rows
from tests.docs.row_letters import matches
from tests.docs.sessions import run_sessions

PAGE = "docs/sql.md"


def code(cell: str) -> str:
    return cell.strip().strip("`")


@pytest.mark.parametrize(
    "row", rows(PAGE, "Pattern", "Rows", "Matches", ""), ids=lambda row: code(row["Pattern"])
)
def test_a_pattern_matches_as_its_row_says(row: dict[str, str]) -> None:
    assert matches(code(row["Pattern"]), code(row["Rows"])) == row["Matches"]


@pytest.mark.parametrize(
    "row", rows(PAGE, "Skip", "Rows", "Matches", ""), ids=lambda row: code(row["Skip"])
)
def test_a_skip_finds_what_its_row_says(row: dict[str, str]) -> None:
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    (pattern,) = re.findall(r"`PATTERN \((.*)\)`:\n\n\| Skip", text)

    assert matches(pattern, code(row["Rows"]), code(row["Skip"])) == row["Matches"]


def test_the_tables_are_found() -> None:
    assert len(rows(PAGE, "Pattern", "Rows", "Matches", "")) > 20
    assert len(rows(PAGE, "Skip", "Rows", "Matches", "")) == 5


def test_the_sessions_of_the_page_run_as_shown() -> None:
    tried, report = run_sessions(PAGE)

    assert report == ""
    assert tried > 15


def test_a_query_that_is_shown_is_the_file_that_is_run() -> None:
    shown = [fence for fence in fences(PAGE) if fence.language in {"sql", "console"}]
    pairs = list(zip(shown[::2], shown[1::2], strict=True))

    assert len(pairs) == 3
    for query, command in pairs:
        (path,) = re.findall(r"--file (\S+)", command.text)
        assert query.text == (ROOT / path).read_text(encoding="utf-8")
