"""Long texts of people and of failing rules are folded, and shown whole when asked for."""

import pytest
from playwright.sync_api import Page, expect

from tests.api.documents import processor_document
from tests.dashboard.accessibility import violations
from tests.dashboard.reporting_job import ReportingJob
from tests.dashboard.serving import RULE, ServedDashboard

LINES = "\n".join(f"line {number} of it" for number in range(1, 13))
LONG = "why " * 200 + "in the end"


@pytest.fixture
def proposal(dashboard: ServedDashboard, reporting_job: ReportingJob) -> int:
    """A proposal for a rule; all that has been said of both is long."""
    dashboard.publish(processor_document(), comment=LONG)
    reporting_job.run_batch()
    reporting_job.quarantine("failed-logins", 1, LINES, "Traceback …")
    reporting_job.beat()
    changed = processor_document(severity="low")
    number: int = dashboard.post("/v1/proposals", {"document": changed, "comment": LINES})["id"]
    dashboard.post(f"/v1/proposals/{number}/comments", {"text": LONG})
    return number


@pytest.mark.parametrize(
    ("path", "place", "words"),
    [
        ("/proposals/{}", ".page-header", ("line 6 of it…", "line 12 of it")),
        ("/proposals/{}", ".note", ("why why", "in the end")),
        (f"{RULE}?tab=versions", ".version-list", ("why why", "in the end")),
        (RULE, ".alarm.bad", ("line 6 of it…", "line 12 of it")),
        ("/activity", ".what:has(q)", ("why why", "in the end")),
    ],
)
def test_a_long_text_is_folded_until_it_is_asked_for(
    admin_page: Page, proposal: int, path: str, place: str, words: tuple[str, str]
) -> None:
    beginning, end = words
    admin_page.goto(path.format(proposal))
    text = admin_page.locator(place).filter(has_text=beginning).first
    expect(text).to_be_visible()
    expect(text).not_to_contain_text(end)
    more = text.get_by_role("button", name="Show all")
    expect(more).to_have_attribute("aria-expanded", "false")
    more.click()
    whole = admin_page.locator(place).filter(has_text=end).first
    expect(whole).to_be_visible()
    assert not violations(admin_page)
    whole.get_by_role("button", name="Show less").click()
    expect(text).not_to_contain_text(end)
