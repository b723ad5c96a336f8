"""Publishes, pauses and rollbacks as lines in the charts of a rule."""

import re

import pytest
from playwright.sync_api import Page, expect

from contract.reports import Counters
from tests.api.documents import PATTERN, processor_document
from tests.dashboard.accessibility import violations
from tests.dashboard.reporting_job import ReportingJob
from tests.dashboard.serving import RULE, ServedDashboard

HOUR_MS = 3_600_000
FIGURE = "Matches per five minutes"
COMMENT = "<img src=x onerror=alert(1)>"
SHARE = """(line, over) => {
  const box = over.getBoundingClientRect();
  return (line.getBoundingClientRect().x - box.x) / box.width;
}"""


@pytest.fixture
def changed_rule(dashboard: ServedDashboard, reporting_job: ReportingJob) -> str:
    """A rule changed every hour of the last ten; it has found matches for eight of them."""
    path = "/v1/processors/failed-logins"

    def hours_ago(hours: float) -> None:
        dashboard.clock.shift_ms = -int(hours * HOUR_MS)

    def found(matches: int) -> None:
        reporting_job.run_batch()
        version = max(number for _, number in reporting_job.running)
        reporting_job.change("failed-logins", version, counters=Counters(matches=matches))
        reporting_job.beat()

    hours_ago(10)
    dashboard.publish(processor_document())
    hours_ago(8)
    found(5)
    hours_ago(6)
    dashboard.publish(processor_document(pattern=PATTERN | {"within": "5 minutes"}))
    hours_ago(5)
    dashboard.post(f"{path}/pause", comment=COMMENT)
    hours_ago(4)
    dashboard.post(f"{path}/resume")
    hours_ago(3)
    dashboard.post(f"{path}/rollback", {"version": 1})
    hours_ago(2.99)
    dashboard.post(f"{path}/pause")
    dashboard.post(f"{path}/resume")
    hours_ago(0)
    found(9)
    return RULE


def test_changes_of_a_rule_are_lines_in_its_charts(admin_page: Page, changed_rule: str) -> None:
    admin_page.goto(changed_rule)
    chart = admin_page.get_by_role("figure", name=re.compile(FIGURE)).first
    flags = chart.get_by_role("list", name="Changes of the rule").get_by_role("button")
    expect(flags).to_have_count(4)  # the first publish was before the shown time
    second = flags.nth(0)
    expect(second).to_have_text("v2")
    told = second.get_attribute("title") or ""
    assert told.startswith("Published version 2 by admin token, ")
    assert (flags.nth(1).get_attribute("title") or "").endswith(f": {COMMENT}")
    assert second.get_attribute("aria-label") == f"v2: {told}"
    expect(flags.nth(1)).to_have_accessible_name(re.compile(r"^Paused version 2 by admin token, "))
    expect(flags.nth(2)).to_have_accessible_name(re.compile("^Resumed version 2 by "))
    expect(flags.nth(3)).to_have_text("3×")  # noqa: RUF001 - as it is shown
    together = flags.nth(3).get_attribute("title") or ""
    first, *others = together.split("\n")
    assert first.startswith("Rolled back version 2 → 3 by admin token, ")
    assert [line.split()[0] for line in others] == ["Paused", "Resumed"]
    expect(chart.locator(".chart-mark-key")).to_have_text("published, paused, resumed, rolled back")

    places = [flags.nth(at).bounding_box() for at in range(4)]
    lefts = [place["x"] for place in places if place]
    assert lefts == sorted(lefts)
    assert len(set(lefts)) == 4
    second.focus()
    expect(chart.locator(".chart-mark-told")).to_have_text(told)
    assert violations(admin_page) == []
    second.blur()
    expect(chart.locator(".chart-mark-told")).to_have_count(0)


def test_lines_stay_at_their_time_in_a_narrow_window(admin_page: Page, changed_rule: str) -> None:
    admin_page.goto(changed_rule)
    chart = admin_page.get_by_role("figure", name=re.compile(FIGURE)).first
    lines = chart.locator(".chart-marks > li")
    expect(lines).to_have_count(4)

    def shares() -> list[float]:
        over = chart.locator(".u-over").element_handle()
        return [lines.nth(at).evaluate(SHARE, over) for at in range(4)]

    wide = shares()
    admin_page.set_viewport_size({"width": 700, "height": 900})
    expect(lines).to_have_count(4)
    admin_page.wait_for_function(
        "each => each.getBoundingClientRect().width < 620",
        arg=chart.locator(".u-over").element_handle(),
    )
    assert shares() == pytest.approx(wide, abs=0.01)
    # Of the last eight hours it is six, five, four and three ago.
    assert wide == pytest.approx([2 / 8, 3 / 8, 4 / 8, 5 / 8], abs=0.03)


def test_a_chart_without_changes_in_its_time_has_no_entry_for_them(
    admin_page: Page, dashboard: ServedDashboard, reporting_job: ReportingJob
) -> None:
    dashboard.clock.shift_ms = -5 * HOUR_MS
    dashboard.publish(processor_document())
    dashboard.clock.shift_ms = 0
    reporting_job.run_batch()
    reporting_job.change("failed-logins", 1, counters=Counters(matches=3))
    reporting_job.beat()
    admin_page.goto(RULE)
    chart = admin_page.get_by_role("figure", name=re.compile(FIGURE)).first
    chart.locator("canvas").wait_for()
    expect(chart.locator(".chart-mark-key")).to_have_count(0)
    expect(chart.locator(".chart-marks")).to_have_count(0)
