"""Nothing that users, events or failing rules say is markup, or reorders the texts of others."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.api.documents import processor_document
from tests.dashboard.reporting_job import ReportingJob
from tests.dashboard.serving import ServedDashboard

# At its end it asks for all that follows to be read from right to left.
MARKUP = "<img src=x onerror=\"window.hit='yes'\"><script>window.hit='yes'</script>&lt;b&gt;\u202e"
RULE = "odd-rule"
TABS = ("now", "matches", "versions", "definition", "activity")
# Texts that reorder others beside them: nothing of their line may be of somebody else.
_REORDERING = """() => {
  const found = [];
  const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (!node.data.includes("\\u202e")) continue;
    if (node.parentElement.closest("option, .cm-editor, textarea")) continue;
    let around = node.parentElement;
    const isApart = (style) => style.unicodeBidi.includes("isolate") || style.display !== "inline";
    while (!isApart(getComputedStyle(around))) around = around.parentElement;
    const after = around.textContent.slice(around.textContent.lastIndexOf("\\u202e") + 1);
    if (after.startsWith("\\u2069")) continue; // isolated in a tooltip
    if (/[\\p{L}\\p{N}]/u.test(after)) found.push(around.outerHTML.slice(0, 300));
  }
  return found;
}"""


@pytest.fixture
def ids(dashboard: ServedDashboard, reporting_job: ReportingJob) -> dict[str, Any]:
    """The ids of what stands on pages; whatever may hold any text holds markup."""
    pattern: dict[str, Any] = {
        "steps": [{"name": "first", "where": "action = '<img src=x onerror=alert(1)>'"}]
    }
    document = processor_document(id=RULE, pattern=pattern, description=MARKUP, owner=MARKUP)
    dashboard.publish(document, comment=MARKUP)
    dashboard.publish(document | {"pattern": {"steps": [{"name": "second", "where": "true"}]}})
    hook = {"name": "odd", "url": "https://127.0.0.1/a", "events": ["rule.quarantined"]}
    webhook = dashboard.post("/v1/webhooks", hook)["id"]
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
    triage = {"matches": [{"match_id": match.match_id}], "assignee": MARKUP, "note": MARKUP}
    dashboard.post("/v1/streams/logins/triage", triage)
    stopped = ReportingJob(dashboard.client, dashboard.clock, name="stopped")
    stopped.beat()
    stopped.stop(MARKUP)
    proposal = {"document": document, "comment": MARKUP}
    number = dashboard.post("/v1/proposals", proposal)["id"]
    dashboard.post(f"/v1/proposals/{number}/comments", {"text": MARKUP})
    return {"match_id": match.match_id, "proposal": number, "webhook": webhook}


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
        ("/streams/logins/rules", 1),
        *((f"/streams/logins/rules/{RULE}?tab={tab}", 1) for tab in TABS),
        (f"/streams/logins/rules/{RULE}/edit", 0),
        ("/streams/logins/matches", 1),
        ("/streams/logins/matches?open={match_id}", 1),
        ("/streams/logins/matches/{match_id}", 1),
        ("/proposals", 1),
        ("/proposals/{proposal}", 1),
        ("/webhooks", 0),
        ("/webhooks?webhook={webhook}", 0),
    ],
)
def test_markup_is_shown_as_text(
    watched: Page, ids: dict[str, Any], path: str, times_shown: int
) -> None:
    watched.goto(path.format(**ids))
    watched.locator("main h1, main h2").first.wait_for()
    expect(watched.get_by_text("Loading")).to_have_count(0)
    if times_shown:
        expect(watched.get_by_text("<img src=x onerror=").first).to_be_attached()
    assert watched.locator("img[src='x']").count() == 0
    assert watched.locator("script:not([src])").count() == 0
    assert watched.evaluate(_REORDERING) == []


def test_markup_in_a_message_to_a_webhook_is_text_too(watched: Page, ids: dict[str, Any]) -> None:
    watched.goto(f"/webhooks?webhook={ids['webhook']}")
    watched.get_by_role("button", name="Show message").first.click()
    message = watched.get_by_role("dialog")
    expect(message).to_contain_text("<img src=x onerror=")
    expect(message).to_contain_text("⟨U+202E⟩")
    assert watched.locator("img[src='x']").count() == 0


def test_markup_in_an_address_is_text_too(watched: Page, ids: dict[str, Any]) -> None:
    assert ids
    watched.goto("/streams/logins/jobs/%3Cimg%20src=x%20onerror=alert(1)%3E")
    expect(watched.get_by_role("heading", name="<img src=x onerror=alert(1)>")).to_be_visible()
    watched.goto("/activity?actor=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E")
    expect(watched.get_by_label("Who (token name)")).to_have_value("<img src=x onerror=alert(1)>")
    assert watched.locator("img[src='x']").count() == 0
