"""MATCH_RECOGNIZE drawn by the dashboard: every kind of part, on a desk and on a phone."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from cep.explain.drawing import row_drawing
from cep.row_pattern.parsing.clauses import read_query
from tests.dashboard.accessibility import violations
from tests.row_pattern.cases import load

CLAUSE = (
    "MATCH_RECOGNIZE (ORDER BY ts AFTER MATCH SKIP TO LAST b PATTERN (^ a+? (b | {- x -} c){2,3} "
    "PERMUTE(d, e) $) WITHIN INTERVAL '5' MINUTE DEFINE a AS action = '<b>', e AS amount > 3)"
)
DRAFT = f"id: seen\nstream: logins\npattern:\n  match_recognize: >-\n    {CLAUSE}\n"

# Lays drawings out, and tells which cards overlap, leave the drawing, or miss a name.
LAID_OUT = """async ([drawings, available]) => {
  const bundle = document.querySelector("script[src$='generated/console.js']").src;
  const folder = bundle.replace("generated/console.js", "js/pattern");
  const { layout } = await import(`${folder}/layout.js`);
  const { readRowPattern } = await import(`${folder}/row_model.js`);
  return drawings.map((drawing) => {
    const { width, height, parts } = layout(readRowPattern(drawing), available);
    const cards = parts.filter((part) => part.type === "card");
    const meet = (a, b) =>
      a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
    const covers = (card, index) => cards.slice(index + 1).some((other) => meet(card, other));
    const leaves = ({ x, y, ...size }) =>
      x < 0 || y < 0 || x + size.width > width || y + size.height > height;
    const boxes = parts.filter((part) => part.type === "card" || part.type === "group");
    return {
      names: cards.map((card) => card.fullName),
      overlaps: cards.filter(covers).length,
      outside: boxes.filter(leaves).length,
    };
  });
}"""


def drawing_of(text: str) -> dict[str, Any]:
    return row_drawing(read_query(text).clause)


@pytest.fixture
def editor(admin_page: Page) -> Page:
    admin_page.goto("/streams/logins/new-rule")
    box = admin_page.get_by_role("textbox", name="The rule")
    box.click()
    admin_page.keyboard.press("Control+A")
    admin_page.keyboard.press("Delete")
    admin_page.keyboard.insert_text(DRAFT)
    admin_page.locator("svg.pattern-drawing").wait_for()
    return admin_page


def test_a_clause_is_drawn_and_told(editor: Page) -> None:
    drawing = editor.locator("svg.pattern-drawing")
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
    told = editor.locator(".pattern-text")
    expect(told).to_contain_text("AFTER MATCH SKIP TO LAST b")
    expect(told).to_contain_text("After a match, the search continues at its last row of B.")
    assert violations(editor) == []
    editor.evaluate("sessionStorage.clear()")


def test_no_card_covers_another_whatever_the_pattern(editor: Page) -> None:
    cases = [case for case in load("fuzz")[::20] if case.error is None]
    drawings = [drawing_of(CLAUSE), *(drawing_of(case.query) for case in cases)]
    for available in (1600, 340):
        laid_out = editor.evaluate(LAID_OUT, [drawings, available])
        assert laid_out[0]["names"] == ["^", "A", "B", "X", "C", "D", "E", "$"]
        assert [each for each in laid_out if each["overlaps"] or each["outside"]] == []
    editor.evaluate("sessionStorage.clear()")
