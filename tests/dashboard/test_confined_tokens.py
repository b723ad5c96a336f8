"""A session whose token is confined to a stream shows that one alone, and no page breaks."""

import re

from playwright.sync_api import Page, expect

from tests.api.documents import STREAM, processor_document
from tests.dashboard.browsing import Guard, have_signed_in
from tests.dashboard.every_page import every_path, open_page
from tests.dashboard.reporting_job import ReportingJob
from tests.dashboard.serving import ServedDashboard

OTHER = "treasury"


def test_no_page_shows_another_stream(
    page: Page, guard: Guard, dashboard: ServedDashboard, reporting_job: ReportingJob
) -> None:
    dashboard.post("/v1/streams", STREAM | {"name": OTHER})
    dashboard.publish(processor_document(id=f"{OTHER}-rule", stream=OTHER, owner=OTHER))
    made = {"name": "team", "role": "admin", "streams": ["logins"]}
    have_signed_in(page, dashboard.url, dashboard.post("/v1/tokens", made)["token"])
    paths = every_path(dashboard, reporting_job)

    for path in paths:
        if "webhook=" in path or path.endswith("/deleted"):
            continue  # not there: the webhook is one of all streams
        open_page(page, path)
        assert OTHER not in (page.locator("body").text_content() or ""), path
    expect(page.get_by_label("Stream").first.locator("option")).to_have_text(["logins"])

    page.get_by_role("button", name=re.compile("Signed in as")).click()
    expect(page.get_by_text("Streams: logins")).to_be_visible()
    open_page(page, "/tokens")
    expect(page.get_by_text("confined to logins")).to_be_visible()
    page.get_by_role("link", name="Webhooks").click()
    page.get_by_role("button", name="New webhook").click()
    expect(page.get_by_role("dialog").get_by_label("Stream").locator("option")).to_have_text(
        ["logins"]
    )
    page.keyboard.press("Escape")
    guard.expect(404)
    page.goto(f"/streams/{OTHER}/rules")
    expect(page.get_by_role("alert").first).to_contain_text("not found")


def test_an_admin_makes_one(admin_page: Page, dashboard: ServedDashboard, guard: Guard) -> None:
    admin_page.goto("/tokens")
    admin_page.get_by_role("button", name="New token").click()
    admin_page.get_by_label("Name").fill("fraud team")
    streams = admin_page.get_by_label("Streams (optional)")
    streams.fill("logins,")
    guard.expect(422)
    admin_page.get_by_role("button", name="Create token").click()
    expect(admin_page.get_by_role("alert")).to_contain_text("/streams/1")
    streams.fill("payments, logins")
    admin_page.get_by_role("button", name="Create token").click()
    text = admin_page.get_by_label("The token", exact=True).text_content()
    admin_page.get_by_role("button", name="I have copied it").click()
    expect(admin_page.get_by_role("row", name="fraud team")).to_contain_text("logins, payments")
    own = dashboard.client.get("/v1/streams", headers={"Authorization": f"Bearer {text}"})
    assert [each["name"] for each in own.json()["items"]] == ["logins"]
