"""Drawings of patterns with many steps: folded, zoomed and scrolled, by mouse and by keyboard."""

from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from cep.explain.drawing import row_drawing
from cep.row_pattern.parsing.clauses import read_query
from contract.reports import Counters, StepReport
from tests.api.documents import processor_document
from tests.dashboard.accessibility import violations
from tests.dashboard.browsing import write
from tests.dashboard.reporting_job import ReportingJob
from tests.dashboard.serving import RULE, ServedDashboard
from tests.dashboard.test_row_patterns_drawn import CLAUSE
from tests.row_pattern.cases import load

EDITOR = f"{RULE}/edit"
MIDDLE = "38 more steps, from step_7 to step_44"

# Folds and lays out drawings; tells what is lost, and which cards overlap or leave the drawing.
FOLDED = """async ([drawings, available, isUnfolded]) => {
  const bundle = document.querySelector("script[src$='generated/console.js']").src;
  const folder = bundle.replace("generated/console.js", "js/pattern");
  const { layout } = await import(`${folder}/layout.js`);
  const { folded, foldsOf } = await import(`${folder}/folding.js`);
  const { readRowPattern } = await import(`${folder}/row_model.js`);
  const { stepsOf } = await import(`${folder}/model.js`);
  return drawings.map((drawing) => {
    const read = readRowPattern(drawing);
    const marks = (toggled) => ({ toggled: new Set(toggled), wrong: [], notes: {} });
    const folds = foldsOf(folded(read.elements, marks([])));
    const keys = folds.filter((each) => each.isRun === isUnfolded).map((each) => each.key);
    const elements = folded(read.elements, marks(keys));
    const { width, height, parts } = layout({ ...read, elements }, available);
    const cards = parts.filter((part) => part.type === "card" || part.type === "fold");
    const meet = (a, b) =>
      a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
    const covers = (card, index) => cards.slice(index + 1).some((other) => meet(card, other));
    const leaves = ({ x, y, ...size }) =>
      x < 0 || y < 0 || x + size.width > width || y + size.height > height;
    const held = cards.reduce((sum, card) => sum + (card.fold?.steps ?? 1), 0);
    return {
      lost: stepsOf(read.elements).length - held,
      overlaps: cards.filter(covers).length,
      outside: parts.filter((part) => part.width !== undefined && leaves(part)).length,
      doubled: folds.length - new Set(folds.map((each) => each.key)).size,
    };
  });
}"""


def long_pattern(*, condition_of_20: str = "action = 'login'") -> dict[str, Any]:
    steps: list[dict[str, Any]] = [{"name": "step_1", "where": "action = 'fail'"}]
    for number in range(2, 51):
        condition = condition_of_20 if number == 20 else f"amount > {number}"
        step = {"name": f"step_{number}", "contiguity": "followed_by", "where": condition}
        steps.append(step)
    inner = [{"name": "a", "where": "amount > 1"}, {"name": "b", "contiguity": "next"}]
    steps[-1] = {"contiguity": "followed_by", "group": {"steps": inner}, "times": 2}
    return {"steps": steps, "within": "1 hour"}


def fold(page: Page, name: str) -> Locator:
    return page.locator(".pattern-graph").get_by_role("button", name=name)


def size(page: Page) -> str:
    return page.get_by_role("status", name="Size of the drawing").inner_text()


@pytest.fixture
def rule_page(admin_page: Page, dashboard: ServedDashboard, reporting_job: ReportingJob) -> Page:
    dashboard.publish(processor_document(pattern=long_pattern()))
    reporting_job.run_batch()
    names = [*(f"step_{number}" for number in range(1, 50)), "a", "b"]
    counted = [StepReport(name=name, reached=900 - at) for at, name in enumerate(names)]
    reporting_job.change("failed-logins", 1, counters=Counters(events=9), steps=counted)
    reporting_job.beat()
    admin_page.goto(RULE)
    fold(admin_page, MIDDLE).wait_for()
    return admin_page


def test_the_middle_of_a_long_pattern_is_folded_and_keeps_its_marks(rule_page: Page) -> None:
    drawing = rule_page.locator("svg.pattern-drawing")
    expect(drawing).to_contain_text("… 38 more steps")
    expect(drawing).to_contain_text("step_7 … step_44")
    expect(drawing).to_contain_text("step_7: 894 reached")
    expect(drawing).to_contain_text("step_44: 857 reached")
    expect(drawing.locator(".pattern-step:not(.pattern-folded)")).to_have_count(13)
    expect(drawing).to_have_attribute("role", "img")
    assert "“step_25” where amount > 25" in (drawing.get_attribute("aria-label") or "")
    assert violations(rule_page) == []

    middle = fold(rule_page, MIDDLE)
    expect(middle).to_have_attribute("aria-expanded", "false")
    middle.focus()
    rule_page.keyboard.press("Enter")
    expect(middle).to_have_attribute("aria-expanded", "true")
    expect(middle).to_be_focused()
    expect(drawing.locator(".pattern-step")).to_have_count(51)
    expect(drawing).to_contain_text("876 reached")
    assert violations(rule_page) == []
    rule_page.keyboard.press("Enter")
    expect(drawing.locator(".pattern-folded")).to_have_count(1)


def test_groups_fold_and_all_folds_at_once(rule_page: Page) -> None:
    drawing = rule_page.locator("svg.pattern-drawing")
    group = fold(rule_page, "Group of 2 steps, from a to b")
    expect(group).to_have_attribute("aria-expanded", "true")
    group.click()
    expect(group).to_have_attribute("aria-expanded", "false")
    expect(drawing).to_contain_text("of 2 steps")
    expect(drawing).to_contain_text("b: 850 reached")
    rule_page.get_by_role("button", name="Unfold all").click()
    expect(drawing.locator(".pattern-folded")).to_have_count(0)
    everything = rule_page.get_by_role("button", name="Fold all", exact=True)
    everything.click()
    expect(drawing.locator(".pattern-folded")).to_have_count(2)
    expect(everything).to_be_focused()


def test_a_drawing_is_zoomed_by_buttons_keys_and_wheel_and_scrolls_in_its_frame(
    rule_page: Page,
) -> None:
    frame = rule_page.get_by_role("region", name="Drawing of the pattern")
    overflow = "each => each.scrollHeight - each.clientHeight"
    assert size(rule_page) == "100%"
    assert frame.evaluate(overflow) > 0
    rule_page.get_by_role("button", name="Fit", exact=True).click()
    assert frame.evaluate(overflow) <= 1
    fitted = int(size(rule_page).removesuffix("%"))
    assert 10 <= fitted < 100
    rule_page.get_by_role("button", name="Zoom in").click()
    assert int(size(rule_page).removesuffix("%")) > fitted

    frame.focus()
    rule_page.keyboard.press("0")
    assert size(rule_page) == f"{fitted}%"
    for _ in range(20):
        rule_page.keyboard.press("+")
    assert size(rule_page) == "300%"
    rule_page.keyboard.press("-")
    assert size(rule_page) == "200%"
    before = frame.evaluate("each => each.scrollTop")
    rule_page.keyboard.press("End")
    rule_page.wait_for_function(
        "([each, top]) => each.scrollTop > top", arg=[frame.element_handle(), before]
    )

    frame.hover()
    rule_page.keyboard.down("Control")
    rule_page.mouse.wheel(0, 100)
    rule_page.keyboard.up("Control")
    expect(rule_page.get_by_role("status", name="Size of the drawing")).to_have_text("150%")
    assert rule_page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_folded_part_tells_that_a_step_in_it_is_wrong(
    admin_page: Page, dashboard: ServedDashboard
) -> None:
    dashboard.publish(processor_document(pattern=long_pattern()))
    admin_page.goto(EDITOR)
    fold(admin_page, MIDDLE).wait_for()
    steps = long_pattern(condition_of_20="nothing_such = 1")["steps"]
    lines = ["id: failed-logins", "stream: logins", "pattern:", "  within: 1 hour", "  steps:"]
    write(admin_page, "\n".join([*lines, *(f"  - {step}" for step in steps)]))
    wrong = fold(admin_page, f"{MIDDLE}, 1 step is wrong")
    expect(wrong).to_have_attribute("aria-expanded", "false")
    drawing = admin_page.locator("svg.pattern-drawing")
    expect(drawing.locator(".pattern-folded.is-wrong")).to_contain_text("1 step is wrong")
    wrong.click()
    expect(drawing.locator(".pattern-step.is-wrong")).to_contain_text("step_20")
    assert violations(admin_page) == []
    admin_page.evaluate("sessionStorage.clear()")


def test_short_patterns_have_no_controls(admin_page: Page, dashboard: ServedDashboard) -> None:
    dashboard.publish(processor_document())
    admin_page.goto(RULE)
    admin_page.locator("svg.pattern-drawing").wait_for()
    expect(admin_page.locator(".pattern-tools")).to_have_count(0)
    expect(admin_page.locator(".pattern-fold")).to_have_count(0)


def test_folding_loses_no_step_and_no_card_covers_another(admin_page: Page) -> None:
    admin_page.goto("/")
    cases = [case for case in load("fuzz")[::20] if case.error is None]
    names = " ".join(f"v{number}" for number in range(30))
    branches = names.replace(" ", " | ")
    clause = (
        "MATCH_RECOGNIZE (ORDER BY ts PATTERN (({names}){{2}} ({branches})) DEFINE v0 AS x > 1)"
    )
    long = clause.format(names=names, branches=branches)
    drawings = [
        row_drawing(read_query(text).clause)
        for text in (long, CLAUSE, *(case.query for case in cases))
    ]
    for available in (1600, 340):
        for is_unfolded in (True, False):
            told = admin_page.evaluate(FOLDED, [drawings, available, is_unfolded])
            assert [each for each in told if any(each.values())] == []
