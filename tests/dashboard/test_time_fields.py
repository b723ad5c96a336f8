"""Beside every field for a time: the zone it is read in, and how far event time has come."""

from playwright.sync_api import Locator, Page, expect

from tests.api.documents import processor_document
from tests.dashboard.reporting_job import DELAY_MS, ReportingJob
from tests.dashboard.serving import RULE, ServedDashboard


def expect_note(note: Locator, watermark_ms: int) -> None:
    page = note.page
    zone = page.evaluate("Intl.DateTimeFormat().resolvedOptions().timeZone")
    expect(note).to_contain_text(f"Event time, in {zone}")
    expect(note).to_contain_text("Watermark: ")
    instant = page.evaluate("ms => new Date(ms).toISOString()", watermark_ms)
    expect(note.locator("time")).to_have_attribute("datetime", instant)


def test_the_zone_and_the_watermark_stand_beside_every_time_that_is_asked_for(
    admin_page: Page, dashboard: ServedDashboard, reporting_job: ReportingJob
) -> None:
    dashboard.publish(processor_document())
    dashboard.post("/v1/streams/logins/lists", {"name": "vip"})
    newest_ms = dashboard.clock()
    reporting_job.run_batch(newest_event_ms=newest_ms)
    dialog = admin_page.get_by_role("dialog")
    field = dialog.get_by_label("From event time")

    admin_page.goto(RULE)
    admin_page.get_by_role("button", name="More actions").click()
    admin_page.get_by_role("button", name="Schedule a version…").click()
    expect_note(dialog.locator(".zone-note"), newest_ms - DELAY_MS)
    field.fill("2099-01-01T12:00:00")
    typed = admin_page.evaluate("new Date('2099-01-01T12:00:00').toISOString()")
    expect(dialog.locator(".hint")).to_contain_text(
        f"The time above is {typed[:10]} {typed[11:16]}"
    )

    admin_page.goto(f"{RULE}/edit")
    admin_page.get_by_role("button", name="Publish…").click()
    dialog.get_by_label("At a time").check()
    expect_note(dialog.locator(".zone-note"), newest_ms - DELAY_MS)

    admin_page.goto("/streams/logins/lists/vip")
    admin_page.get_by_role("button", name="Add or remove…").click()
    dialog.get_by_role("button", name="At a time").click()
    expect_note(dialog.locator(".zone-note"), newest_ms - DELAY_MS)

    admin_page.goto("/streams/logins/matches")
    expect_note(admin_page.locator(".zone-note"), newest_ms - DELAY_MS)
