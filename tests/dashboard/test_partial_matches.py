"""How far partial matches get, and what is open for one key, on the page of a rule."""

from playwright.sync_api import Page, expect

from contract.asked_keys import AskedKey, KeyAnswer, OpenPartialMatch, TakenStep
from contract.reports import Counters, StepReport
from tests.api.documents import PATTERN, processor_document
from tests.dashboard.accessibility import violations
from tests.dashboard.browsing import Guard
from tests.dashboard.reporting_job import ReportingJob
from tests.dashboard.serving import MARKUP, RULE, ServedDashboard


def question(job: ReportingJob, page: Page) -> AskedKey:
    """Return what the job is asked, once the page has asked."""
    expect(page.get_by_text("waiting for the next batch with events")).to_be_visible()
    (asked,) = job.beat().asked_keys
    return asked


def partial(now_ms: int, awaited: str) -> OpenPartialMatch:
    return OpenPartialMatch(
        version=1,
        steps=[TakenStep(name="fail", count=3, first_ms=now_ms - 9_000, last_ms=now_ms)],
        started_ms=now_ms - 9_000,
        last_ms=now_ms,
        awaited=[awaited],
        forbidden=[MARKUP],
    )


def test_what_is_open_for_a_key_is_told_and_followed(
    admin_page: Page, dashboard: ServedDashboard, running_rule: ReportingJob
) -> None:
    admin_page.goto(RULE)
    admin_page.get_by_label("Key: user").fill(MARKUP)
    admin_page.get_by_role("button", name="Show", exact=True).click()
    asked = question(running_rule, admin_page)
    assert asked.key == [MARKUP]
    now_ms = dashboard.clock()
    open_now = [partial(now_ms, "login")]
    running_rule.tell(
        KeyAnswer(id=asked.id, batch_id=1, watermark_ms=now_ms, open=14, partial_matches=open_now)
    )
    table = admin_page.get_by_role("table", name="Partial matches of the key")
    row = table.get_by_role("row").nth(1)
    expect(row).to_contain_text("fail \u00d7 3")
    expect(row).to_contain_text(f"login without {MARKUP}")
    expect(row).to_contain_text("never")
    expect(admin_page.get_by_text("14 partial matches")).to_be_visible()
    assert not violations(admin_page)

    running_rule.tell(KeyAnswer(id=asked.id, batch_id=2, watermark_ms=now_ms, open=0))
    expect(admin_page.get_by_text("0 partial matches", exact=True)).to_be_visible()
    expect(table).to_have_count(0)


def test_a_rule_without_a_key_is_looked_at_as_a_whole(
    admin_page: Page, dashboard: ServedDashboard, reporting_job: ReportingJob
) -> None:
    dashboard.publish(processor_document(pattern=PATTERN, key_by=None))
    reporting_job.run_batch()
    admin_page.goto(RULE)
    admin_page.get_by_role("button", name="Show open partial matches").click()
    asked = question(reporting_job, admin_page)
    assert asked.key == []
    reporting_job.tell(KeyAnswer(id=asked.id, batch_id=1, problem="the job runs no version"))
    expect(admin_page.get_by_text("the job runs no version.")).to_be_visible()


def test_a_key_that_is_none_is_told(
    admin_page: Page, dashboard: ServedDashboard, reporting_job: ReportingJob, guard: Guard
) -> None:
    guard.expect(422)
    dashboard.publish(processor_document())
    reporting_job.run_batch()
    admin_page.goto(RULE)
    admin_page.get_by_label("Key: user").fill("[1, 2]")
    admin_page.get_by_role("button", name="Show", exact=True).click()
    expect(admin_page.get_by_text("this is 2 instead of 1 values")).to_be_visible()


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
