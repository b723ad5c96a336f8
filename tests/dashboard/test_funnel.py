"""How far partial matches get, on the page of a rule."""

from playwright.sync_api import Page, expect

from contract.reports import Counters, StepReport
from tests.api.documents import PATTERN, processor_document
from tests.dashboard.accessibility import violations
from tests.dashboard.reporting_job import ReportingJob
from tests.dashboard.serving import ServedDashboard

RULE = "/streams/logins/rules/failed-logins"
MARKUP = "<img src=x onerror=alert(1)>"


def test_how_far_partial_matches_get_is_drawn_and_told(
    admin_page: Page, dashboard: ServedDashboard, reporting_job: ReportingJob
) -> None:
    first, second = PATTERN["steps"]
    steps = [first, {"name": MARKUP, "contiguity": "not_followed_by", "where": "FALSE"}, second]
    dashboard.publish(processor_document(pattern=PATTERN | {"steps": steps}))
    reporting_job.run_batch()
    counted = [
        StepReport(name="fail", reached=12_345, events=40_000, timed_out=12_000, broken=7),
        StepReport(name="login", reached=3, events=3, pruned=1, last_event_ms=dashboard.clock()),
    ]
    reporting_job.change(
        "failed-logins",
        1,
        counters=Counters(matches=2, unsuppressed=1, suppressed=4),
        partial_matches=5,
        steps=counted,
    )
    reporting_job.beat()
    admin_page.goto(RULE)

    rows = admin_page.locator(".funnel tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.nth(0)).to_contain_text("12,345")
    expect(rows.nth(0)).to_contain_text("never")
    expect(rows.nth(1)).to_contain_text(f"{MARKUP} forbidden")
    expect(rows.nth(2)).to_contain_text("login")
    expect(admin_page.locator(".funnel")).to_contain_text(
        "2 matches, 1 of them not suppressed (too many values), 4 suppressed, "
        "5 partial matches open now"
    )
    drawing = admin_page.locator(".pattern-drawing")
    expect(drawing).to_contain_text("12.3K reached")
    expect(drawing).to_contain_text("3 reached")
    assert not violations(admin_page)


def test_instead_of_matches_that_have_not_come_it_is_told_why(
    admin_page: Page, dashboard: ServedDashboard, reporting_job: ReportingJob
) -> None:
    first, second = PATTERN["steps"]
    steps = [first, second | {"where": f"action = '{MARKUP}'"}]
    dashboard.publish(processor_document(pattern=PATTERN | {"steps": steps}))
    reporting_job.run_batch()
    counters, counted = Counters(events=9), [StepReport(name="fail", reached=9, timed_out=9)]
    reporting_job.change("failed-logins", 1, counters=counters, steps=counted)
    reporting_job.beat()
    admin_page.goto(RULE)

    chain = admin_page.locator(".diagnosis")
    expect(chain.get_by_role("heading")).to_have_text("Why no matches?")
    expect(chain.locator(".diagnosis-reason")).to_have_text(
        "No partial match has reached the step login."
    )
    wrong = chain.locator("li.is-attention")
    expect(wrong).to_have_count(1)
    expect(wrong).to_contain_text(f"login requires: action = '{MARKUP}'")
    assert not violations(admin_page)

    reporting_job.find("failed-logins", 1)
    reporting_job.beat()
    expect(chain).to_have_count(0)
    admin_page.get_by_text("Why aren't there more?").click()
    expect(chain.get_by_role("heading")).to_have_text("From events to matches")
