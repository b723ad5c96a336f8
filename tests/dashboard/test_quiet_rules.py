"""A rule that has spent its budget says so; it is snoozed for a key and woken, in a browser."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

from contract.reports import Counters
from contract.service.tokens import Role
from tests.api.documents import processor_document
from tests.dashboard.accessibility import violations
from tests.dashboard.reporting_job import ReportingJob
from tests.dashboard.serving import ServedDashboard

RULE = "/streams/logins/rules/failed-logins"
MARKUP = "<img src=x onerror=alert(1)>"
ALERT = {"budget": {"at_most": 100, "for": "1 hour"}}


def test_a_rule_is_throttled_snoozed_and_woken(
    admin_page: Page,
    page_of: Callable[[Role], Page],
    dashboard: ServedDashboard,
    reporting_job: ReportingJob,
) -> None:
    dashboard.publish(processor_document(alert=ALERT))
    reporting_job.run_batch(newest_event_ms=dashboard.clock())
    until_ms = dashboard.clock() + 1_800_000
    counters = Counters(matches=100, suppressed=7, unsuppressed=3)
    reporting_job.change("failed-logins", 1, throttled_until_ms=until_ms, counters=counters)
    reporting_job.beat()
    admin_page.goto(RULE)
    alarms = admin_page.locator(".alarms")
    expect(alarms).to_contain_text("has spent its budget of matches")
    expect(admin_page.get_by_role("table").first).to_contain_text("throttled")
    expect(admin_page.get_by_text("at most 100 matches in each 1 hour")).to_be_visible()

    admin_page.get_by_label("More actions").click()
    admin_page.get_by_role("button", name="Snooze…").click()
    dialog = admin_page.get_by_role("dialog")
    dialog.get_by_label("For", exact=True).select_option("4 hours")
    dialog.get_by_label("Only for this key").fill(MARKUP)
    dialog.get_by_label("Reason").fill("known to the bank")
    assert violations(admin_page) == []
    dialog.get_by_role("button", name="Snooze").click()
    card = admin_page.get_by_role("heading", name="Snoozed").locator("xpath=ancestor::section")
    expect(card).to_contain_text(MARKUP)
    expect(card).to_contain_text("known to the bank")
    assert violations(admin_page) == []
    (snoozed,) = dashboard.get("/v1/processors/failed-logins/snoozes")["items"]
    assert snoozed["key"] == MARKUP

    viewer_page = page_of(Role.VIEWER)
    viewer_page.goto(RULE)
    expect(viewer_page.get_by_role("heading", name="Snoozed")).to_be_visible()
    expect(viewer_page.get_by_role("button", name="End…")).to_have_count(0)

    card.get_by_role("button", name="End…").click()
    admin_page.get_by_role("dialog").get_by_role("button", name="End snooze").click()
    expect(card).to_have_count(0)
    assert dashboard.get("/v1/processors/failed-logins/snoozes")["items"] == []
