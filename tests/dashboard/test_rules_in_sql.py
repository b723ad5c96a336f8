"""Rules in SQL on the pages: written, marked at their lines, drawn, and compared by lines."""

import re

from playwright.sync_api import Page, expect

from tests.dashboard.accessibility import violations
from tests.dashboard.browsing import Guard, write
from tests.dashboard.serving import ServedDashboard

RULE = "/streams/logins/rules/guessed"
CLAUSE = """\
MATCH_RECOGNIZE (
  PARTITION BY user
  ORDER BY ts
  MEASURES
    COUNT(FAIL.*) AS failures, -- how often
    LAST(LOGIN.ts) AS at
  PATTERN (FAIL{3,} {- OTHER* -} (LOGIN | RESET))
  WITHIN INTERVAL '10' MINUTE
  DEFINE
    FAIL AS action = 'fail',
    LOGIN AS action = 'login',
    RESET AS action = 'reset'
)
"""
HEAD = "id: guessed\nstream: logins\npattern:\n  match_recognize: |\n"


def text_of(clause: str) -> str:
    return HEAD + "".join(f"    {line}\n" for line in clause.splitlines())


def marked(page: Page) -> tuple[str, int]:
    """Return the text that is marked as wrong, and the number of its line."""
    mark = page.locator(".cm-content .cm-lintRange-error").first
    line = mark.evaluate(
        "mark => [...mark.closest('.cm-content').querySelectorAll('.cm-line')]"
        ".indexOf(mark.closest('.cm-line')) + 1"
    )
    return mark.inner_text(), line


def test_a_mistake_is_marked_at_its_line_of_the_clause(editor: Page) -> None:
    text = text_of(CLAUSE.replace("LOGIN AS action", "LOGIN AS acton"))
    write(editor, text)
    expect(editor.locator(".draft-problems")).to_contain_text("there is no column acton")
    line = next(n for n, line in enumerate(text.splitlines(), 1) if "acton" in line)
    assert marked(editor) == ("acton", line)
    assert violations(editor) == []

    editor.locator(".draft-problems").get_by_role("button", name=f"line {line}").click()
    editor.keyboard.press("Control+Delete")
    editor.keyboard.insert_text("action")
    expect(editor.locator(".draft-problems")).to_contain_text("valid")

    # The same in JSON, where the clause is one line with escapes.
    editor.keyboard.insert_text("s")
    expect(editor.locator(".draft-problems")).to_contain_text("1 error")
    editor.get_by_role("button", name="JSON").click()
    expect(editor.get_by_role("textbox", name="The rule")).to_contain_text('"id": "guessed"')
    expect(editor.locator(".draft-problems")).to_contain_text("1 error")
    assert marked(editor) == ("actions", 5)


def test_the_clause_is_coloured_and_the_rest_is_not(editor: Page) -> None:
    write(editor, text_of(CLAUSE) + "description: ORDER BY nothing\n")
    words = editor.locator(".cm-sql-keyword").all_inner_texts()
    assert words[:5] == ["MATCH_RECOGNIZE", "PARTITION", "BY", "ORDER", "BY"]
    assert words.count("ORDER") == 1
    expect(editor.locator(".cm-sql-comment")).to_have_text("-- how often")
    assert editor.locator(".cm-sql-function").all_inner_texts() == ["COUNT", "LAST"]
    assert "'login'" in editor.locator(".cm-sql-string").all_inner_texts()


def test_words_of_the_clause_are_offered_inside_it_and_only_there(
    editor: Page, guard: Guard
) -> None:
    guard.expect(422)  # a clause with half a word cannot be drawn
    write(editor, text_of(CLAUSE))
    expect(editor.locator("svg.pattern-drawing")).to_contain_text("RESET")
    editor.locator(".cm-line", has_text="PARTITION BY user").click()
    editor.keyboard.press("End")
    editor.keyboard.press("Enter")
    offered = editor.locator(".cm-tooltip-autocomplete li")
    for typed, wanted in (
        ("AFT", "AFTER MATCH SKIP TO LAST"),
        ("RES", "RESET"),
        ("acti", "action"),
    ):
        editor.keyboard.type(typed)
        expect(offered.filter(has_text=wanted).first).to_be_visible()
        expect(offered.filter(has_text="followed_by")).to_have_count(0)
        editor.keyboard.press("Escape")
        for _ in typed:
            editor.keyboard.press("Backspace")
    editor.keyboard.type("FAIL.a")
    expect(offered.filter(has_text="amount")).to_be_visible()
    expect(offered.filter(has_text="AFTER")).to_have_count(0)
    editor.keyboard.press("Escape")

    editor.keyboard.press("Control+End")
    editor.keyboard.type("sev")
    expect(offered.filter(has_text="severity")).to_be_visible()


def document(clause: str) -> dict[str, object]:
    return {"id": "guessed", "stream": "logins", "pattern": {"match_recognize": clause}}


def test_the_page_of_a_rule_shows_drawing_key_and_measures(
    admin_page: Page, dashboard: ServedDashboard
) -> None:
    dashboard.publish(document(CLAUSE))
    admin_page.goto(RULE)
    drawing = admin_page.locator("svg.pattern-drawing")
    expect(drawing).to_contain_text("one of these, in order of preference")
    expect(drawing).to_contain_text("left out of the output")
    facts = admin_page.locator("dl.facts")
    expect(facts).to_contain_text("user")
    expect(facts.locator(".outputs li")).to_have_text(
        ["failures = COUNT(FAIL.*)", "at = LAST(LOGIN.ts)"]
    )
    expect(facts).to_contain_text("one row per match")
    assert violations(admin_page) == []

    admin_page.get_by_role("link", name="Definition").click()
    shown = admin_page.get_by_label("Definition", exact=True)
    expect(shown).to_contain_text(re.compile(r"match_recognize: \|\n    MATCH_RECOGNIZE \(\n"))
    expect(shown).not_to_contain_text("key_by")


def test_versions_are_compared_by_lines_of_the_clause(
    admin_page: Page, dashboard: ServedDashboard
) -> None:
    dashboard.publish(document(CLAUSE))
    dashboard.publish(document(CLAUSE.replace("{3,}", "{5,}")))
    admin_page.goto(f"{RULE}?tab=versions")
    diff = admin_page.locator(".version-diff")
    expect(diff.locator("tr.removed .text")).to_have_text(re.compile(r"PATTERN \(FAIL\{3,\}"))
    expect(diff.locator("tr.added .text")).to_have_text(re.compile(r"PATTERN \(FAIL\{5,\}"))
    expect(diff.locator(".meanings")).to_contain_text("match_recognize")
    expect(diff.locator(".meanings")).not_to_contain_text("MEASURES")
