"""What the editor offers while a rule is typed: by the place in the document, not by the word."""

import re
from typing import Any

from playwright.sync_api import Page, expect

from cep.expression.functions.table import FUNCTIONS, OPERATORS, UNWRITTEN
from cep.expression.parsing.windows import CROSSES, WINDOW_FUNCTIONS
from cep.expression.tree import HigherOrderFunction
from tests.api.documents import RULE_TEXT, processor_document
from tests.dashboard.browsing import Guard, write
from tests.dashboard.serving import RULE, ServedDashboard

MODULES = "/assets/any/js/editor"

Places = dict[str, tuple[str, bool, str]]
"""By text, `|` where it is written: the path, whether a key stands there, the keys there are."""
PLACES: Places = {
    "|": ("", True, ""),
    "id: a\nsev|\nstream: logins\n": ("", True, "id stream"),
    "severity: hi|": ("severity", False, ""),
    "pattern:\n  |": ("pattern", True, ""),
    "pattern:\n  steps:\n  - na|\n    where: a\n": ("pattern steps *", True, "where"),
    "pattern:\n  steps:\n    - name: a\n      op|": ("pattern steps *", True, "name"),
    "pattern:\n  steps:\n  - name: a\n    times: 3\n  - na|": ("pattern steps *", True, ""),
    "pattern:\n  steps:\n  - where: am|": ("pattern steps * where", False, ""),
    "pattern:\n  steps:\n  - where: >\n      a = 1\n      AND am|": (
        "pattern steps * where",
        False,
        "",
    ),
    "pattern:\n  steps:\n  - name: a\n  wit|\nid: a": ("pattern", True, "steps"),
    "pattern:\n  after_match_skip: {strategy: no_skip, st|": (
        "pattern after_match_skip",
        True,
        "strategy",
    ),
    "pattern:\n  after_match_skip: {strategy: no|": (
        "pattern after_match_skip strategy",
        False,
        "",
    ),
    "key_by: [user, am|": ("key_by *", False, ""),
    "tags:\n- a\n- b|": ("tags *", True, ""),
    "select:\n  total: SUM(|": ("select total", False, ""),
}
PLACES_IN_JSON: Places = {
    '{"id": "a", "pat|': ("", True, "id"),
    '{"pattern": {"steps": [{"name": "a"}, {"where": "am|"}]}}': (
        "pattern steps * where",
        False,
        "",
    ),
    '{"key_by": ["a", "|"]}': ("key_by *", False, ""),
}


def test_keys_words_columns_steps_functions_and_parameters_are_offered_where_they_belong(
    admin_page: Page, dashboard: ServedDashboard, guard: Guard
) -> None:
    guard.expect(422)  # half a condition
    pattern = dict(processor_document()["pattern"])
    limit = {"type": "DOUBLE", "value": 100, "description": "the least amount"}
    pattern["parameters"] = {"limit": limit}
    pattern["steps"] = [{**pattern["steps"][0], "where": "amount > :limit"}, *pattern["steps"][1:]]
    dashboard.publish(processor_document(pattern=pattern))
    admin_page.goto(f"{RULE}/edit")
    editor = admin_page.get_by_role("textbox", name="The rule")
    editor.wait_for()
    # Which steps there are is known once the text has been checked.
    expect(admin_page.get_by_role("img", name=re.compile("^First: 3 events"))).to_be_visible()
    offered = admin_page.locator(".cm-tooltip-autocomplete li")

    def typed(text: str, wanted: str, *others: str) -> None:
        admin_page.keyboard.type(text)
        expect(offered.filter(has_text=wanted).first).to_be_visible()
        for other in others:
            expect(offered.filter(has_text=other)).to_have_count(0)

    def taken_back(text: str) -> None:
        admin_page.keyboard.press("Escape")
        for _ in text:
            admin_page.keyboard.press("Backspace")

    admin_page.locator(".cm-line", has_text="where: amount").click()
    admin_page.keyboard.press("End")
    admin_page.keyboard.type(" AND ")
    for text, wanted, other in (
        ("acti", "action", "contiguity"),
        ("fai", "fail", "failed"),
        (":li", ":limit", "LIKE"),
        ("fail.am", "amount", "LIMIT"),
        ("SU", "(step.column)", "suppress"),
    ):
        typed(text, wanted, other)
        taken_back(text)

    # A key is offered once, with what it says of itself; choosing it offers its words.
    admin_page.keyboard.press("Enter")
    typed("cont", "contiguity", "description", "CONTAINS")
    expect(admin_page.locator(".cm-completionInfo")).to_contain_text("follows")
    taken_back("cont")
    write(admin_page, RULE_TEXT)
    typed("sev", "severity", "steps")
    chosen(admin_page)
    typed("cr", "critical")
    chosen(admin_page)
    expect(editor).to_contain_text("severity: critical")
    admin_page.evaluate("sessionStorage.clear()")


def test_places_in_a_rule_are_read_from_texts_that_do_not_parse(admin_page: Page) -> None:
    admin_page.goto("/activity")
    admin_page.get_by_role("heading", name="Activity").wait_for()
    for written, places in (("yaml", PLACES), ("json", PLACES_IN_JSON)):
        for text, (path, is_key, used) in places.items():
            found = _position(admin_page, text, written)
            told = " ".join(found["path"]), found["isKey"], " ".join(sorted(found["used"]))
            assert told == (path, is_key, used), text
    assert _position(admin_page, "id: a # not|", "yaml") is None


def test_all_functions_of_the_language_are_offered(admin_page: Page) -> None:
    admin_page.goto("/activity")
    names = admin_page.evaluate(
        f"async () => (await import('{MODULES}/functions.js')).FUNCTIONS.map(([name]) => name)"
    )
    aggregates = {"COUNT", "SUM", "AVG", "MIN", "MAX", "FIRST", "LAST"}
    syntax = {"COALESCE", "IFNULL", "NULLIF", "IF", "CAST", "EXTRACT", "LIST", "MOD"}
    syntax |= {"RLIKE", "DATE", *HigherOrderFunction}
    syntax |= {*WINDOW_FUNCTIONS, CROSSES}
    assert set(names) == (FUNCTIONS.keys() - OPERATORS - UNWRITTEN) | aggregates | syntax


def chosen(page: Page) -> None:
    """Choose what is offered first; the library takes no Enter within 75 ms of its popup."""
    page.wait_for_timeout(200)
    page.keyboard.press("Enter")


def _position(page: Page, text: str, written: str) -> Any:
    return page.evaluate(
        f"""async ([text, format]) => {{
          const {{ positionAt }} = await import('{MODULES}/position.js');
          const found = positionAt(text.replace('|', ''), text.indexOf('|'), format);
          return found && {{ ...found, used: [...found.used] }};
        }}""",
        [text, written],
    )
