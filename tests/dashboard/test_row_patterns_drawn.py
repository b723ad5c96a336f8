"""MATCH_RECOGNIZE drawn by the dashboard: every kind of part, on a desk and on a phone."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.dashboard.accessibility import violations
from tests.dashboard.browsing import write

CLAUSE = (
    "MATCH_RECOGNIZE (ORDER BY ts AFTER MATCH SKIP TO LAST b PATTERN (^ a+? (b | {- x -} c){2,3} "
    "PERMUTE(d, e) $) WITHIN INTERVAL '5' MINUTE DEFINE a AS action = '<b>', e AS amount > 3)"
)
DRAFT = f"id: seen\nstream: logins\npattern:\n  match_recognize: >-\n    {CLAUSE}\n"


@pytest.fixture
def drawn(editor: Page) -> Page:
    write(editor, DRAFT)
    editor.locator("svg.pattern-drawing").wait_for()
    return editor


def test_a_clause_is_drawn_and_told(drawn: Page) -> None:
    drawing = drawn.locator("svg.pattern-drawing")
    for text in (
        "one of these, in order of preference",
        "all of these, in any order",
        "left out of the output",
        "as few as possible",
        "start of the partition",
        "end of the partition",
        "action = '<b>'",
        "within 5 minutes",
    ):
        expect(drawing).to_contain_text(text)
    expect(drawing.locator(".pattern-group.is-excluded")).to_have_count(1)
    expect(drawing).to_have_attribute(
        "aria-label", re.compile(r"A where action = '<b>'.*in any order \(D, any row; E where")
    )
    told = drawn.locator(".pattern-text")
    expect(told).to_contain_text("AFTER MATCH SKIP TO LAST b")
    expect(told).to_contain_text("After a match, the search continues at its last row of B.")
    assert violations(drawn) == []
