"""Triage in the browser: one match and many, two people at once, rules counted, who only looks."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from contract.service.tokens import Role
from tests.api.documents import processor_document
from tests.dashboard.browsing import Guard
from tests.dashboard.reporting_job import ReportingJob
from tests.dashboard.serving import ServedDashboard

MATCHES = "/streams/logins/matches"


@pytest.fixture
def ids(dashboard: ServedDashboard, reporting_job: ReportingJob) -> list[str]:
    """The ids of four matches, oldest first; the last is of another rule."""
    for processor_id in ("failed-logins", "other"):
        dashboard.publish(processor_document(id=processor_id))
    reporting_job.run_batch()
    rules = ["failed-logins", "failed-logins", "failed-logins", "other"]
    return [
        reporting_job.find(rule, 1, key=[f"key {place}"]).match_id
        for place, rule in enumerate(rules)
    ]


def triage(dashboard: ServedDashboard, match_id: str, **change: Any) -> None:
    dashboard.post("/v1/streams/logins/triage", {"matches": [{"match_id": match_id}], **change})


def line(page: Page, match_id: str) -> Locator:
    return page.locator(f".found[data-match='{match_id}']")


def opened(page: Page) -> Page:
    page.goto(MATCHES)
    expect(page.locator(".tail-status")).to_have_text("live")
    return page


def test_a_match_is_given_a_status_an_assignee_and_notes(
    admin_page: Page, dashboard: ServedDashboard, ids: list[str]
) -> None:
    page = opened(admin_page)
    expect(line(page, ids[1]).locator(".found-status")).to_have_text(re.compile("^open"))
    line(page, ids[1]).locator(".opener").click()
    panel = line(page, ids[1]).locator(".triage-panel")
    panel.get_by_role("button", name="acknowledged").click()
    expect(panel.get_by_text("Last changed by admin token")).to_be_visible()
    panel.get_by_role("button", name="Assign to me").click()
    expect(line(page, ids[1]).locator(".found-status")).to_contain_text("acknowledged")
    expect(line(page, ids[1]).locator(".found-status")).to_contain_text("admin token")
    panel.get_by_label("Note", exact=True).fill("Calling her.\nShe is in Lisbon.")
    panel.get_by_role("button", name="Add note").click()
    expect(panel.locator(".note-text")).to_have_text("Calling her.\nShe is in Lisbon.")
    expect(panel.get_by_label("Note", exact=True)).to_have_value("")
    panel.get_by_label("Assigned to").fill("ben")
    panel.get_by_role("button", name="Assign", exact=True).click()
    expect(line(page, ids[1]).locator(".assignee")).to_have_text("ben")
    stored = dashboard.get(f"/v1/streams/logins/matches/{ids[1]}/triage")
    assert (stored["status"], stored["assignee"], stored["note_count"]) == (
        "acknowledged",
        "ben",
        1,
    )

    page.goto(f"{MATCHES}/{ids[1]}")
    expect(page.locator(".page-header")).to_contain_text("acknowledged")
    page.get_by_role("button", name="resolved").click()
    expect(page.locator(".page-header")).to_contain_text("resolved")


def test_what_somebody_else_decides_is_seen_at_once_and_never_overwritten(
    admin_page: Page, guard: Guard, dashboard: ServedDashboard, ids: list[str]
) -> None:
    page = opened(admin_page)
    triage(dashboard, ids[2], status="resolved", assignee="ana")
    expect(line(page, ids[2]).locator(".found-status")).to_contain_text("resolved")
    expect(line(page, ids[2]).locator(".assignee")).to_have_text("ana")

    guard.expect(412)
    page.goto(f"{MATCHES}/{ids[0]}")
    resolved = page.get_by_role("button", name="resolved")
    expect(resolved).to_be_visible()
    triage(dashboard, ids[0], status="false_positive", assignee="ana")
    resolved.click()
    expect(page.get_by_role("alert")).to_contain_text("it is false positive, assigned to ana")
    expect(page.get_by_role("button", name="false positive")).to_have_attribute(
        "aria-pressed", "true"
    )
    assert dashboard.get(f"/v1/streams/logins/matches/{ids[0]}/triage")["status"] == (
        "false_positive"
    )
    resolved.click()
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(page.locator(".page-header")).to_contain_text("resolved")


def test_matches_that_are_ticked_change_together(
    admin_page: Page, guard: Guard, dashboard: ServedDashboard, ids: list[str]
) -> None:
    page = opened(admin_page)
    for match_id in (ids[0], ids[3]):
        line(page, match_id).get_by_role("checkbox").check()
    page.get_by_role("button", name="False positive…").click()
    dialog = page.get_by_role("dialog", name="2 matches: false positive")
    dialog.get_by_label("Note on each match").fill("The load test.")
    dialog.get_by_role("button", name="Mark as false positive").click()
    expect(page.get_by_text("2 matches changed.")).to_be_visible()
    for match_id in (ids[0], ids[3]):
        expect(line(page, match_id).locator(".found-status")).to_contain_text("false positive")
    expect(page.get_by_role("region", name="Selected matches")).to_have_count(0)
    assert dashboard.get(f"/v1/streams/logins/matches/{ids[3]}/notes")["items"][0]["text"] == (
        "The load test."
    )

    page.get_by_label("All 4 matches shown").check()
    page.get_by_role("button", name="Resolve…").click()
    triage(dashboard, ids[2], assignee="ana")
    expect(line(page, ids[2]).locator(".assignee")).to_have_text("ana")
    page.get_by_role("dialog").get_by_role("button", name="Mark as resolved").click()
    expect(page.get_by_text("4 matches changed.")).to_be_visible()

    guard.expect(409)
    page.get_by_role("button", name="Pause").click()
    line(page, ids[1]).get_by_role("checkbox").check()
    page.route("**/v1/streams/logins/triage", lambda route: _behind(route, dashboard, ids[1]))
    page.get_by_role("button", name="Reopen…").click()
    page.get_by_role("dialog").get_by_role("button", name="Mark as open").click()
    problem = page.get_by_role("dialog").get_by_role("alert")
    expect(problem).to_contain_text("1 of them have been changed")
    expect(problem).to_contain_text("It is acknowledged now")


def _behind(route: Any, dashboard: ServedDashboard, match_id: str) -> None:
    """Let somebody else be first by a moment."""
    triage(dashboard, match_id, status="acknowledged")
    route.continue_()


def test_all_that_meet_a_filter_change_page_by_page(
    admin_page: Page, dashboard: ServedDashboard, ids: list[str], reporting_job: ReportingJob
) -> None:
    for _ in range(52):
        reporting_job.find("other", 1)
    admin_page.goto(f"{MATCHES}?processor=other&status=open")
    expect(admin_page.locator(".found")).to_have_count(50)
    admin_page.get_by_label("All 50 matches shown").check()
    admin_page.get_by_role("button", name="Resolve…").click()
    dialog = admin_page.get_by_role("dialog")
    dialog.get_by_label("All recent matches that match").check()
    dialog.get_by_role("button", name="Mark as resolved").click()
    expect(admin_page.get_by_text("53 matches changed.")).to_be_visible()
    (other,) = dashboard.get("/v1/streams/logins/triage", processor="other")["items"]
    assert (other["open"], other["resolved"]) == (0, 53)
    assert dashboard.get(f"/v1/streams/logins/matches/{ids[0]}")["triage"]["status"] == "open"


def test_the_list_is_filtered_by_status_and_assignee(
    admin_page: Page, dashboard: ServedDashboard, ids: list[str]
) -> None:
    triage(dashboard, ids[0], status="acknowledged", assignee="ana")
    triage(dashboard, ids[1], status="acknowledged")
    page = opened(admin_page)
    page.get_by_label("Status", exact=True).select_option("acknowledged")
    expect(page.locator(".found")).to_have_count(2)
    expect(page).to_have_url(re.compile("status=acknowledged"))
    page.get_by_label("Assigned to", exact=True).select_option(label="ana")
    expect(page.locator(".found")).to_have_count(1)
    page.get_by_label("Assigned to", exact=True).select_option(label="Unassigned")
    expect(page.locator(".found")).to_have_count(1)
    expect(line(page, ids[1])).to_be_visible()
    page.get_by_role("button", name="Clear", exact=True).click()
    expect(page.locator(".found")).to_have_count(4)


def test_rules_show_their_counts_and_rate(
    admin_page: Page, dashboard: ServedDashboard, ids: list[str]
) -> None:
    triage(dashboard, ids[0], status="false_positive")
    triage(dashboard, ids[1], status="resolved")
    admin_page.goto("/streams/logins/rules?sort=-false_positive_rate")
    rows = admin_page.locator("tbody tr")
    expect(rows.first.locator(".false-positives")).to_contain_text("50%")
    expect(rows.first.locator(".false-positives")).to_contain_text("of 2")
    expect(rows.first.locator(".false-positives")).to_contain_text("1 open")
    expect(rows.nth(1)).to_contain_text("1 open")
    rows.first.get_by_role("link", name="50%").click()
    expect(admin_page.locator(".found")).to_have_count(1)

    admin_page.goto("/streams/logins/rules/failed-logins")
    figures = admin_page.locator(".triage-figures")
    expect(figures).to_contain_text("50%")
    expect(figures).to_contain_text("1 of 2 matches reviewed")
    with admin_page.expect_download() as downloading:
        admin_page.get_by_role("link", name="Labels (CSV)").click()
    lines = downloading.value.path().read_text(encoding="utf-8").splitlines()
    assert downloading.value.suggested_filename == "labels-logins.csv"
    assert [each.split(",")[0] for each in lines] == ["match_id", *ids[:2]]

    admin_page.goto("/streams/logins/rules/other")
    expect(admin_page.locator(".triage-figures")).to_contain_text("No match has been reviewed")
    admin_page.goto("/activity?action=match.triage")
    expect(admin_page.locator(".changes li").first).to_contain_text("triaged matches of failed-")


def test_who_only_looks_sees_all_and_may_change_nothing(
    page_of: Callable[[Role], Page], dashboard: ServedDashboard, ids: list[str]
) -> None:
    triage(dashboard, ids[3], status="acknowledged", assignee="ana", note="Calling her.")
    page = opened(page_of(Role.VIEWER))
    expect(page.get_by_role("checkbox")).to_have_count(0)
    line(page, ids[3]).locator(".opener").click()
    panel = line(page, ids[3]).locator(".triage-panel")
    expect(panel).to_contain_text("acknowledged")
    expect(panel.locator(".note-text")).to_have_text("Calling her.")
    expect(panel.get_by_role("button")).to_have_count(0)
    expect(panel.get_by_role("textbox")).to_have_count(0)
    page.goto(f"{MATCHES}/{ids[3]}")
    expect(page.locator(".note-text")).to_have_text("Calling her.")
    expect(page.locator(".triage-panel button, .triage-panel input")).to_have_count(0)


def test_of_a_match_that_is_gone_what_was_decided_is_shown(
    admin_page: Page, guard: Guard, dashboard: ServedDashboard, ids: list[str]
) -> None:
    guard.expect(404)
    triage(dashboard, ids[0], status="false_positive", note="The load test.")
    with dashboard.database.writing() as session:
        session.connection().exec_driver_sql("DELETE FROM matches WHERE number = 1")
    admin_page.goto(f"{MATCHES}/{ids[0]}")
    expect(admin_page.get_by_text("Only recent matches are kept")).to_be_visible()
    expect(admin_page.get_by_text("Triage decision")).to_be_visible()
    expect(admin_page.locator(".note-text")).to_have_text("The load test.")
    admin_page.get_by_role("button", name="resolved").click()
    expect(admin_page.get_by_role("button", name="resolved")).to_have_attribute(
        "aria-pressed", "true"
    )
