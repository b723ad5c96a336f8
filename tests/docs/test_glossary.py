"""docs/glossary.md: every word is used in the module where the page says it lives."""

import re
from collections import Counter

import pytest

from tests.docs.fences import ROOT, rows

PAGE = "docs/glossary.md"
ROWS = rows(PAGE, "Term", "Meaning", "Where")


def modules_of(row: dict[str, str]) -> list[str]:
    return re.findall(r"`([^`]+)`", row["Where"])


def words(text: str) -> str:
    """Return a text as words with single spaces between them, names in Python taken apart."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)
    return " ".join(re.findall(r"[a-z]+", apart.lower()))


def test_no_word_has_two_entries() -> None:
    assert len(ROWS) > 40
    assert [term for term, count in Counter(row["Term"] for row in ROWS).items() if count > 1] == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["Term"])
def test_a_word_is_used_where_the_page_says(row: dict[str, str]) -> None:
    modules = modules_of(row)
    assert modules
    for module in modules:
        text = (ROOT / module).read_text(encoding="utf-8")
        assert f" {words(row['Term'])}" in f" {words(text)}", module


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["Term"])
def test_a_word_is_told_in_a_sentence_or_three(row: dict[str, str]) -> None:
    assert row["Meaning"].endswith((".", ".)"))
    assert len(row["Meaning"]) < 200
