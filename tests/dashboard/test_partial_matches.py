"""What is open for one key, on the page of a rule: asked, and followed as jobs tell."""

from playwright.sync_api import Page, expect

from contract.asked_keys import AskedKey, KeyAnswer, OpenPartialMatch, TakenStep
from tests.api.documents import PATTERN, processor_document
from tests.dashboard.accessibility import violations
from tests.dashboard.browsing import Guard
from tests.dashboard.reporting_job import ReportingJob
from tests.dashboard.serving import ServedDashboard

RULE = "/streams/logins/rules/failed-logins"
MARKUP = "<img src=x onerror=alert(1)>"


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
    admin_page: Page, dashboard: ServedDashboard, reporting_job: ReportingJob
) -> None:
    dashboard.publish(processor_document())
    reporting_job.run_batch()
    admin_page.goto(RULE)
    admin_page.get_by_label("Key: user").fill(MARKUP)
    admin_page.get_by_role("button", name="Show", exact=True).click()
    asked = question(reporting_job, admin_page)
    assert asked.key == [MARKUP]
    now_ms = dashboard.clock()
    open_now = [partial(now_ms, "login")]
    reporting_job.tell(
        KeyAnswer(id=asked.id, batch_id=1, watermark_ms=now_ms, open=14, partial_matches=open_now)
    )
    table = admin_page.get_by_role("table", name="Partial matches of the key")
    row = table.get_by_role("row").nth(1)
    expect(row).to_contain_text("fail \u00d7 3")
    expect(row).to_contain_text(f"login without {MARKUP}")
    expect(row).to_contain_text("never")
    expect(admin_page.get_by_text("14 partial matches")).to_be_visible()
    assert not violations(admin_page)

    reporting_job.tell(KeyAnswer(id=asked.id, batch_id=2, watermark_ms=now_ms, open=0))
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
