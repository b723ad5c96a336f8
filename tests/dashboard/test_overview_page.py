"""The overview and the page of a job show what jobs report."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from cep.instants import iso_text
from contract.reports import Counters, OutputReport, SourceReport
from contract.service.tokens import Role
from tests.api.documents import processor_document
from tests.dashboard.browsing import Guard
from tests.dashboard.reporting_job import ReportingJob
from tests.dashboard.serving import ServedDashboard

MINUTE_MS = 60_000


@pytest.mark.usefixtures("running_rule")
def test_a_job_goes_from_running_to_stale_and_the_overview_says_so(
    admin_page: Page, dashboard: ServedDashboard
) -> None:
    admin_page.goto("/")
    row = admin_page.get_by_role("row", name="main")
    expect(row).to_contain_text("running")
    expect(row).to_contain_text("1 active")
    expect(admin_page.get_by_text("all healthy")).to_be_visible()

    dashboard.clock.shift_ms = 10 * MINUTE_MS

    attention = admin_page.get_by_role("region", name="Needs attention")
    expect(attention).to_contain_text("Job is silent")
    expect(row).to_contain_text("silent")
    expect(row).not_to_contain_text("250")
    attention.get_by_role("link", name="main").click()
    expect(admin_page).to_have_url(f"{dashboard.url}/streams/logins/jobs/main")
    expect(admin_page.get_by_text("The last heartbeat was")).to_be_visible()


def test_the_rules_that_a_job_runs_are_named_with_what_they_find(
    admin_page: Page, dashboard: ServedDashboard, reporting_job: ReportingJob
) -> None:
    dashboard.publish(processor_document())
    admin_page.goto("/")
    health = admin_page.locator(".health")
    expect(health).to_have_text("a job is starting")
    expect(admin_page.locator(".figure.bad")).to_have_count(0)

    reporting_job.run_batch()
    reporting_job.change("failed-logins", 1, state="active", counters=Counters(matches=7))
    reporting_job.beat()

    expect(health).to_have_text("all healthy")
    row = admin_page.get_by_role("table", name="Rules of logins").get_by_role("row").last
    expect(row).to_contain_text("failed-logins")
    expect(row.locator(".standing")).to_contain_text("since")
    expect(row.locator(".matches-cell")).to_contain_text("7")


def test_a_quarantined_rule_and_a_scheduled_version_are_told(
    admin_page: Page, dashboard: ServedDashboard, running_rule: ReportingJob
) -> None:
    running_rule.quarantine("failed-logins", 1, "ValueError: no amount")
    running_rule.beat()
    soon = dashboard.clock() + 12 * MINUTE_MS
    dashboard.publish(processor_document(id="next-rule", effective_from=iso_text(soon)))
    admin_page.goto("/")

    attention = admin_page.get_by_role("region", name="Needs attention")
    items = attention.get_by_role("listitem")
    expect(items).to_have_count(2)
    expect(items.nth(0)).to_contain_text("ValueError: no amount")
    expect(items.nth(1)).to_contain_text("next-rule")
    expect(items.nth(1)).to_contain_text("in 1")
    expect(admin_page.get_by_text("1 problem")).to_be_visible()


def test_the_page_of_a_job_shows_what_it_runs_and_its_history(
    admin_page: Page, dashboard: ServedDashboard, reporting_job: ReportingJob
) -> None:
    dashboard.publish(processor_document())
    dashboard.publish(processor_document(id="broken"))
    reporting_job.run_batch(events=5_000)
    reporting_job.quarantine("broken", 1, "ValueError: no", "Traceback …\nValueError: no")
    reporting_job.beat(failing_outputs=[OutputReport(name="db", error="no route", lost_rows=2)])
    admin_page.goto("/streams/logins/jobs/main")

    expect(admin_page.get_by_role("row")).to_have_count(2 + 1 + 1 + 1)  # heads; rules; start
    expect(admin_page.locator("figure.chart canvas")).to_have_count(10)
    failing = admin_page.locator(".job-notice")
    expect(failing).to_contain_text("The output db cannot be written and has lost 2 rows: no route")
    admin_page.get_by_role("button", name="1 quarantined").click()
    expect(admin_page).to_have_url(f"{dashboard.url}/streams/logins/jobs/main?state=quarantined")
    rows = admin_page.get_by_role("row").filter(has_text="broken")
    expect(rows).to_have_count(1)
    rows.get_by_text("ValueError: no", exact=True).click()
    expect(admin_page.get_by_label("Traceback")).to_contain_text("Traceback …")
    expect(admin_page.get_by_role("row").filter(has_text="failed-logins")).to_have_count(0)


def test_the_page_of_a_job_says_what_makes_its_time_go_on(
    admin_page: Page, reporting_job: ReportingJob
) -> None:
    def go_on(text: str, **told: Any) -> None:
        reporting_job.run_batch(**told)
        admin_page.goto("/streams/logins/jobs/main")
        figure = admin_page.locator(".figure").filter(has_text="Event time driven by")
        expect(figure).to_contain_text(text)

    go_on("not reported")
    go_on("eventsonly: open windows wait for new events", time_mode="events")
    go_on("eventsor the clock, once its source is silent", time_mode="events_or_clock")
    silent_ms = reporting_job.now_ms() - 90_000
    go_on("clocksource silent since", time_mode="events_or_clock", silent_since_ms=silent_ms)
    go_on("clockevents take the time", time_mode="processing")


def test_the_page_of_a_job_says_which_source_its_time_waits_for(
    admin_page: Page, reporting_job: ReportingJob
) -> None:
    now_ms = reporting_job.now_ms()
    logins = SourceReport(name="logins", newest_event_ms=now_ms)
    payments = SourceReport(name="payments", newest_event_ms=now_ms - 300_000)
    clicks = SourceReport(name="clicks", idle_since_ms=now_ms - 90_000)
    reporting_job.run_batch(sources=[logins, payments, clicks])
    admin_page.goto("/streams/logins/jobs/main")
    rows = admin_page.get_by_role("table", name="Sources of this job").get_by_role("row")
    expect(rows).to_have_count(4)
    expect(rows.filter(has_text="payments")).to_contain_text("waits for this source")
    expect(rows.filter(has_text="waits for this source")).to_have_count(1)
    expect(rows.filter(has_text="clicks")).to_contain_text("none yet")
    expect(rows.filter(has_text="clicks")).to_contain_text("idle since")


def test_a_publisher_removes_a_job_that_has_stopped(
    page_of: Callable[[Role], Page], dashboard: ServedDashboard, reporting_job: ReportingJob
) -> None:
    reporting_job.run_batch()
    reporting_job.stop("deployed")
    viewer = page_of(Role.VIEWER)
    viewer.goto("/streams/logins/jobs/main")
    expect(viewer.get_by_text("deployed").first).to_be_visible()
    expect(viewer.get_by_role("button", name="Remove")).to_have_count(0)

    publisher = page_of(Role.PUBLISHER)
    publisher.goto("/streams/logins/jobs/main")
    publisher.get_by_role("button", name="Remove").click()
    publisher.get_by_label("Reason").fill("moved to another cluster")
    publisher.get_by_role("dialog").get_by_role("button", name="Remove").click()

    expect(publisher.get_by_role("heading", name="No jobs yet")).to_be_visible()
    (change,) = dashboard.get("/v1/changes", action="job.delete")["items"]
    assert change["comment"] == "moved to another cluster"
    assert change["actor"] == "publisher token"


def test_a_path_that_a_proxy_alone_refuses_is_a_problem_of_its_own_and_mends_itself(
    admin_page: Page, guard: Guard, reporting_job: ReportingJob
) -> None:
    guard.expect(503)
    reporting_job.run_batch()
    admin_page.goto("/")
    admin_page.get_by_role("row", name="main").wait_for()
    # No problem document: it comes from a proxy in between, and the service answers elsewhere.
    admin_page.route("**/v1/**", lambda route: route.fulfill(status=503, body="down"))
    expect(admin_page.get_by_role("alert")).to_contain_text("503")
    expect(admin_page.locator(".connection-lost")).to_have_count(0)
    admin_page.unroute("**/v1/**")
    expect(admin_page.get_by_role("alert")).to_have_count(0)


@pytest.mark.usefixtures("running_rule")
def test_the_names_of_the_columns_stand_above_the_first_rule(admin_page: Page) -> None:
    admin_page.goto("/")
    table = admin_page.locator(".busiest")
    table.locator("td").first.wait_for()
    # Both in one look: what stands above the table may come between two.
    head_bottom, first_top = table.evaluate(
        "table => [table.querySelector('th').getBoundingClientRect().bottom,"
        " table.querySelector('td').getBoundingClientRect().top]"
    )
    assert head_bottom <= first_top + 1


def test_a_job_page_says_first_that_events_could_not_be_read(
    admin_page: Page, reporting_job: ReportingJob
) -> None:
    reason = "does not fit the stream's schema: ts"
    reporting_job.run_batch(malformed_events=1_000, malformed_reason=reason)
    admin_page.goto("/streams/logins/jobs/main")
    note = admin_page.get_by_role("note")
    expect(note).to_contain_text(f"1,000 of 1,000 events could not be read: {reason}.")
