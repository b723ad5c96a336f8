"""docs/glossary.md: every word is used in the module where the page says it lives."""

import re
from collections import Counter

from tests.docs.fences import ROOT, rows

PAGE = "docs/glossary.md"
ROWS = rows(PAGE, "Term", "Meaning", "Where")


def modules_of(row: dict[str, str]) -> list[str]:
    return re.findall(r"`([^`]+)`", row["Where"])


def words(text: str) -> str:
    """Return a text as words with single spaces between them, names in Python taken apart."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)
    return " ".join(re.findall(r"[a-z]+", apart.lower()))


def uses(module: str, term: str) -> bool:
    path = ROOT / module
    return path.is_file() and f" {words(term)}" in f" {words(path.read_text(encoding='utf-8'))}"


def test_no_word_has_two_entries() -> None:
    assert len(ROWS) > 40
    assert [term for term, count in Counter(row["Term"] for row in ROWS).items() if count > 1] == []


def test_each_word_is_used_where_the_page_says() -> None:
    assert [row["Term"] for row in ROWS if not modules_of(row)] == []
    named = [(row["Term"], module) for row in ROWS for module in modules_of(row)]
    assert [f"{term}: {module}" for term, module in named if not uses(module, term)] == []


def test_each_word_is_explained_in_a_sentence_or_two() -> None:
    wrong = [
        row["Term"]
        for row in ROWS
        if not row["Meaning"].endswith((".", ".)")) or len(row["Meaning"]) >= 200
    ]
    assert wrong == []
