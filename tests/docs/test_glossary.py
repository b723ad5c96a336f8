"""docs/glossary.md: every word is used in the module where the page says it lives."""

import re
from collections import Counter

from tests.docs.fences import ROOT

PAGE = "docs/glossary.md"
ENTRIES = re.findall(
    r"^\* \*\*(.+?)\*\*: (.+?)\n?(?: +)?`([\w/.]+)`$",
    re.sub(r"\n +", " ", (ROOT / PAGE).read_text(encoding="utf-8")),
    re.MULTILINE,
)
"""Term, meaning and module."""


def words(text: str) -> str:
    """Return a text as words with single spaces between them, names in Python taken apart."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)
    return " ".join(re.findall(r"[a-z]+", apart.lower()))


def uses(module: str, term: str) -> bool:
    path = ROOT / module
    return path.is_file() and f" {words(term)}" in f" {words(path.read_text(encoding='utf-8'))}"


def test_no_word_has_two_entries() -> None:
    bullets = re.findall(r"^\* ", (ROOT / PAGE).read_text(encoding="utf-8"), re.MULTILINE)
    assert len(ENTRIES) == len(bullets) > 50
    counts = Counter(term for term, *_ in ENTRIES)
    assert [term for term, count in counts.items() if count > 1] == []


def test_each_word_is_used_where_the_page_says() -> None:
    also = [
        (term, module) for _, told, module in ENTRIES for term in re.findall(r"\*\*(.+?)\*\*", told)
    ]
    named = [(term, module) for term, _, module in ENTRIES] + also
    assert [f"{term}: {module}" for term, module in named if not uses(module, term)] == []


def test_each_word_is_explained_in_a_sentence_or_two() -> None:
    assert [term for term, told, _ in ENTRIES if not told.endswith(".") or len(told) >= 160] == []
