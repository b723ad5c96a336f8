"""Every page of the dashboard with something on it, for what must hold of all of them."""

from typing import Any

from playwright.sync_api import Page, expect

from cep.instants import iso_text
from tests.api.documents import ANY_STATE, processor_document
from tests.dashboard.production import THICK_IDS, fill, publish_thick
from tests.dashboard.reporting_job import DELAY_MS, ReportingJob
from tests.dashboard.serving import ServedDashboard

LONG_ID = "transfers-abroad-after-three-failed-logins-from-a-device-that-is-new"
LONG_LIST = "v" * 100
EVENTS = ["rule.quarantined", "job.stale"]
PATHS = (
    "/",
    "/activity",
    "/proposals",
    "/proposals/{proposal}",
    "/tokens",
    "/webhooks",
    "/webhooks?webhook={webhook}",
    "/streams/logins/rules",
    "/streams/logins/new-rule",
    "/streams/logins/rules/failed-logins",
    f"/streams/logins/rules/{LONG_ID}",
    f"/streams/logins/rules/{THICK_IDS[0]}",
    f"/streams/logins/rules/{THICK_IDS[0]}?tab=versions",
    "/streams/logins/rules/of-vip",
    "/streams/logins/rules/broken",
    "/streams/logins/rules/deleted",
    "/streams/logins/rules/failed-logins/edit",
    "/streams/logins/matches",
    "/streams/logins/matches/{match_id}",
    "/streams/logins/lists",
    f"/streams/logins/lists/{LONG_LIST}",
    "/streams/logins/lists/vip",
    "/streams/logins/lists/vip?tab=versions",
    "/streams/logins/lists/vip?tab=rules",
    "/streams/logins/backtests/{backtest}",
    "/streams/logins/jobs/{job}",
)


def every_path(dashboard: ServedDashboard, job: ReportingJob) -> list[str]:
    """Put on each page as much as production has, and return the paths."""
    dashboard.post("/v1/streams/logins/lists", {"name": "vip", "description": "Called first."})
    dashboard.post("/v1/streams/logins/lists/vip/changes", {"add": ["ana", "eve", "v" * 1000]})
    dashboard.post("/v1/streams/logins/lists", {"name": LONG_LIST, "description": "d" * 300})
    later = {"effective_from": "2099-01-01T00:00:00Z"}
    dashboard.put("/v1/streams/logins/lists/vip/values", ["v" * 1000], **later)
    dashboard.publish(processor_document(severity="high", tags=["cards"], owner="fraud"))
    steps = [{"name": "a", "where": "user IN LIST('vip') AND amount > :least"}]
    pattern = {"steps": steps, "parameters": {"least": {"type": "DOUBLE", "value": 100}}}
    dashboard.publish(processor_document(id="of-vip", pattern=pattern, select={}))
    tried = processor_document(id="of-vip", pattern=pattern | {"within": "1 hour"}, select={})
    dashboard.post("/v1/processors/of-vip/rollout", tried)
    for processor_id in ("broken", "noisy", "deleted"):
        dashboard.publish(processor_document(id=processor_id))
    _publish_long(dashboard)
    publish_thick(dashboard)
    dashboard.post("/v1/processors/noisy/pause", comment="too noisy")
    dashboard.client.delete("/v1/processors/deleted", headers=ANY_STATE)
    proposed = {"document": processor_document(), "comment": "no severity " + "y" * 300}
    webhook = {"name": "n" * 90, "url": "https://alerts.example.com/" + "p" * 300}
    past = {"since": "2026-11-01T00:00:00Z", "until": "2026-12-01T00:00:00Z"}
    asked = {"processor_id": "failed-logins", "against": "published", **past}
    made = {
        "proposal": dashboard.post("/v1/proposals", proposed)["id"],
        "webhook": dashboard.post("/v1/webhooks", webhook | {"events": EVENTS})["id"],
        "backtest": dashboard.post("/v1/backtests", asked)["number"],
    }
    question = {"text": "Why? " + "w" * 300}
    dashboard.post(f"/v1/proposals/{made['proposal']}/comments", question)
    job.run_batch()
    dashboard.publish(processor_document(id="unheard-of"))
    fill(dashboard, job)
    match = job.find("failed-logins", 1)
    job.find(LONG_ID, 2, output={"user": "u" * 500})
    job.change(LONG_ID, 2, partial_matches=1_234_567, state_bytes=123_456_789)
    job.quarantine("broken", 1, "ValueError: no " + "x" * 300, "Traceback …\nValueError: no")
    newest_ms = dashboard.clock()
    job.beat(newest_event_ms=newest_ms, watermark_ms=newest_ms - DELAY_MS)
    return [path.format(match_id=match.match_id, job=job.name, **made) for path in PATHS]


def open_page(page: Page, path: str) -> None:
    """Open a page and wait until all of it is there."""
    page.goto(path)
    page.locator("main h1, main h2").first.wait_for()
    expect(page.get_by_text("Loading")).to_have_count(0)
    expect(page.locator(".awaited, .refreshing")).to_have_count(0)


def _publish_long(dashboard: ServedDashboard) -> None:
    labels: dict[str, Any] = {"owner": "o" * 100, "tags": ["tag-" + "t" * 80, "b", "c"]}
    later = iso_text(dashboard.clock() + 3_600_000)
    for change in (
        {"key_by": ["user"], "description": "A first version."},
        {"key_by": ["user", "action"], "description": "d" * 500},
        {"key_by": ["action"], "description": "d" * 500, "effective_from": later},
    ):
        dashboard.publish(processor_document(id=LONG_ID, **labels, **change))
