"""Columns of the tables of lists, jobs and matches are chosen, kept, and named as they scroll."""

import pytest
from playwright.sync_api import Page, expect

from tests.api.documents import processor_document
from tests.dashboard.accessibility import violations
from tests.dashboard.reporting_job import ReportingJob
from tests.dashboard.serving import ServedDashboard

TABLES = [
    ("/streams/logins/rules", "Rules", "Version"),
    ("/", "Jobs", "Epoch"),
    ("/streams/logins/lists", "Lists of logins", "Type"),
    ("/streams/logins/jobs/main", "Rule versions in the job main", "Version"),
]


@pytest.fixture
def filled(
    admin_page: Page, dashboard: ServedDashboard, reporting_job: ReportingJob
) -> ReportingJob:
    """A job that runs a rule, and a list; the page has nobody's choices."""
    assert admin_page
    dashboard.post("/v1/streams/logins/lists", {"name": "vip", "description": "Called first."})
    dashboard.publish(processor_document())
    reporting_job.run_batch()
    reporting_job.beat()
    return reporting_job


@pytest.mark.parametrize(("path", "caption", "column"), TABLES)
def test_a_column_is_hidden_and_stays_so(
    admin_page: Page, filled: ReportingJob, path: str, caption: str, column: str
) -> None:
    assert filled
    admin_page.goto(path)
    table = admin_page.get_by_role("table", name=caption)
    header = table.get_by_role("columnheader", name=column, exact=True)
    expect(header).to_have_count(1)
    assert header.evaluate("(each) => getComputedStyle(each).position") == "sticky"
    admin_page.get_by_role("button", name="Columns").click()
    admin_page.get_by_label(column, exact=True).uncheck()
    expect(header).to_have_count(0)
    assert not violations(admin_page)
    admin_page.reload()
    expect(table).to_be_visible()
    expect(header).to_have_count(0)


def test_parts_of_matches_are_hidden_and_the_others_stay_in_line(
    admin_page: Page, filled: ReportingJob
) -> None:
    filled.find("failed-logins", 1, key=["ana"])
    filled.find("failed-logins", 1, key=["a much longer key"])
    filled.beat()
    admin_page.goto("/streams/logins/matches")
    matches = admin_page.locator(".found")
    expect(matches).to_have_count(2)
    admin_page.get_by_role("button", name="Columns").click()
    admin_page.get_by_role("checkbox", name="Status", exact=True).uncheck()
    admin_page.get_by_role("checkbox", name="Key", exact=True).uncheck()
    expect(matches.locator(".found-key").first).to_be_hidden()
    admin_page.keyboard.press("Escape")
    lefts = "(all) => all.map((each) => Math.round(each.getBoundingClientRect().left))"
    for part in (".found-rule", ".found-output", ".found-events"):
        found = matches.locator(part).evaluate_all(lefts)
        assert found[0] == found[1], part
    assert not violations(admin_page)
    admin_page.reload()
    expect(matches.locator(".found-rule").first).to_be_visible()
    expect(matches.locator(".found-status").first).to_be_hidden()
    head = admin_page.locator(".found-head")
    assert head.evaluate("(each) => getComputedStyle(each).position") == "sticky"
