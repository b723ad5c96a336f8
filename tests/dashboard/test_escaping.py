"""Nothing that users, events or failing rules say is ever taken for markup."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.api.documents import processor_document
from tests.dashboard.reporting_job import ReportingJob
from tests.dashboard.serving import ServedDashboard

MARKUP = "<img src=x onerror=\"window.hit='yes'\"><script>window.hit='yes'</script>&lt;b&gt;"
RULE = "odd-rule"


@pytest.fixture
def match_id(dashboard: ServedDashboard, reporting_job: ReportingJob) -> str:
    """The id of a match of a rule; whatever may hold any text holds markup."""
    pattern: dict[str, Any] = {
        "steps": [{"name": "first", "where": "action = '<img src=x onerror=alert(1)>'"}]
    }
    document = processor_document(id=RULE, pattern=pattern, description=MARKUP, owner=MARKUP)
    dashboard.publish(document, comment=MARKUP)
    dashboard.publish(document | {"pattern": {"steps": [{"name": "second", "where": "true"}]}})
    reporting_job.run_batch()
    reporting_job.quarantine(RULE, 2, MARKUP, f"Traceback …\n{MARKUP}")
    reporting_job.beat()
    match = reporting_job.find(
        RULE,
        2,
        key=[MARKUP],
        output={MARKUP: MARKUP},
        events={MARKUP: [{MARKUP: MARKUP, "ts": dashboard.clock()}]},
    )
    stopped = ReportingJob(dashboard.client, dashboard.clock, name="stopped")
    stopped.beat()
    stopped.stop(MARKUP)
    return match.match_id


@pytest.fixture
def watched(admin_page: Page) -> Iterator[Page]:
    """A page on which no markup may have come to life."""
    yield admin_page
    assert admin_page.evaluate("window.hit") is None


@pytest.mark.parametrize(
    ("path", "times_shown"),
    [
        ("/", 1),
        ("/activity", 1),
        ("/streams/logins/jobs/main", 1),
        ("/streams/logins/jobs/stopped", 1),
        ("/streams/logins/rules", 0),
        (f"/streams/logins/rules/{RULE}", 1),
        (f"/streams/logins/rules/{RULE}/edit", 0),
        ("/streams/logins/matches", 1),
        ("/streams/logins/matches/{match_id}", 1),
    ],
)
def test_markup_is_shown_as_text(watched: Page, match_id: str, path: str, times_shown: int) -> None:
    watched.goto(path.format(match_id=match_id))
    watched.locator("main h1, main h2").first.wait_for()
    expect(watched.get_by_text("Loading")).to_have_count(0)
    if times_shown:
        expect(watched.get_by_text("<img src=x onerror=").first).to_be_attached()
    assert watched.locator("img[src='x']").count() == 0
    assert watched.locator("script:not([src])").count() == 0


def test_markup_in_an_address_is_text_too(watched: Page, match_id: str) -> None:
    assert match_id
    watched.goto("/streams/logins/jobs/%3Cimg%20src=x%20onerror=alert(1)%3E")
    expect(watched.get_by_role("heading", name="<img src=x onerror=alert(1)>")).to_be_visible()
    watched.goto("/activity?actor=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E")
    expect(watched.get_by_label("Who (name of the token)")).to_have_value(
        "<img src=x onerror=alert(1)>"
    )
    assert watched.locator("img[src='x']").count() == 0
