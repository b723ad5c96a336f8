"""A version is tried, compared, given a share and promoted, in a browser."""

import re

import pytest
from playwright.sync_api import Page, expect

from contract.reports import Counters
from tests.api.documents import PATTERN, processor_document
from tests.dashboard.accessibility import violations
from tests.dashboard.reporting_job import ReportingJob
from tests.dashboard.serving import MARKUP, RULE, ServedDashboard

WIDER = processor_document(pattern=PATTERN | {"within": "1 hour"})
WIDEST = PATTERN | {"within": "2 hours"}


@pytest.fixture
def tried(dashboard: ServedDashboard, reporting_job: ReportingJob) -> ReportingJob:
    """A job that runs version 1, and version 2 in shadow, and has found something by both."""
    dashboard.publish(processor_document())
    dashboard.post("/v1/processors/failed-logins/rollout", WIDER)
    reporting_job.run_batch(newest_event_ms=dashboard.clock() - 3_600_000)
    found = {"both": (1, 2), "lost": (1,), "gained": (2,)}
    for name, versions in found.items():
        for version in versions:
            reporting_job.find(
                "failed-logins",
                version,
                kind="match" if version == 1 else "shadow",
                identity=name.encode().hex().rjust(16, "0"),
                key=[MARKUP if name == "gained" else name],
            )
    reporting_job.change("failed-logins", 2, counters=Counters(shadow=2), partial_matches=7)
    reporting_job.beat()
    return reporting_job


def figures(page: Page) -> dict[str, str]:
    names = page.locator(".rollout-figures dt").all_text_contents()
    return dict(zip(names, page.locator(".rollout-figures dd").all_text_contents(), strict=True))


@pytest.mark.usefixtures("tried")
def test_a_shadow_is_compared_given_a_share_and_promoted(
    admin_page: Page, dashboard: ServedDashboard
) -> None:
    admin_page.goto(RULE)
    expect(admin_page.get_by_role("heading", name="Version 2 in shadow")).to_be_visible()
    expect(admin_page.locator(".rollout-figures")).to_be_visible()
    assert figures(admin_page) == {
        "found": "2",
        "by both": "1",
        "only by this version": "1",
        "only by the published version": "1",
        "partial matches": "7",
    }
    expect(admin_page.locator(".rollout-samples").first).to_contain_text(MARKUP)
    assert not violations(admin_page)
    admin_page.goto(f"{RULE}?tab=versions")
    tried_line = admin_page.locator(".version-list li").first
    expect(tried_line).to_contain_text("v2")
    expect(tried_line.locator("[data-state=shadow]").first).to_be_visible()
    admin_page.goto(RULE)

    admin_page.get_by_role("button", name="Change share…").click()
    admin_page.get_by_label("Share of the keys, in percent").fill("12.5")
    admin_page.get_by_role("dialog").get_by_role("button", name="Change").click()
    heading = "Version 2 for 12.5% of the keys"
    expect(admin_page.get_by_role("heading", name=heading)).to_be_visible()

    admin_page.get_by_role("button", name="Promote…").click()
    dialog = admin_page.get_by_role("dialog")
    expect(dialog).to_contain_text("it found 2 matches")
    expect(dialog).to_contain_text("That is little to judge by")
    promote = dialog.get_by_role("button", name="Promote")
    expect(promote).to_be_disabled()
    dialog.get_by_label("Publish it all the same").check()
    promote.click()
    expect(admin_page.get_by_role("heading", name=heading)).not_to_be_visible()
    published = dashboard.client.get("/v1/processors/failed-logins").json()
    assert (published["version"], published["rollout"]) == (2, None)


def test_after_a_day_with_enough_found_a_version_is_promoted_at_once(
    admin_page: Page, dashboard: ServedDashboard, tried: ReportingJob
) -> None:
    dashboard.clock.shift_ms += 25 * 3_600_000
    tried.run_batch(events=20_000)
    tried.change("failed-logins", 2, counters=Counters(shadow=12))
    tried.beat()
    admin_page.clock.set_fixed_time(dashboard.clock() / 1_000)
    admin_page.goto(RULE)
    expect(admin_page.locator(".rollout-figures dd").first).to_have_text("12")
    admin_page.get_by_role("button", name="Promote…").click()
    dialog = admin_page.get_by_role("dialog")
    expect(dialog).to_contain_text("over 20,000 events; it found 12 matches")
    expect(dialog.get_by_role("button", name="Promote")).to_be_enabled()
    expect(dialog).not_to_contain_text("little")


@pytest.mark.usefixtures("tried")
def test_no_version_that_is_only_tried_is_rolled_back_to_or_scheduled(
    admin_page: Page, dashboard: ServedDashboard
) -> None:
    admin_page.goto(RULE)
    more = admin_page.get_by_role("button", name="More actions")
    more.click()
    expect(admin_page.get_by_role("button", name="Roll back…")).to_be_disabled()
    admin_page.get_by_role("button", name="Schedule a version…").click()
    options = admin_page.get_by_role("dialog").get_by_label("Content of").locator("option")
    expect(options).to_have_text([re.compile("^version 1,")])
    admin_page.keyboard.press("Escape")
    dashboard.publish(processor_document(pattern=WIDEST))
    admin_page.goto(RULE)
    more.click()
    admin_page.get_by_role("button", name="Roll back…").click()
    options = admin_page.get_by_role("dialog").get_by_label("Back to").locator("option")
    expect(options).to_have_text([re.compile("^version 1,")])
    admin_page.keyboard.press("Escape")
    admin_page.goto(f"{RULE}?tab=versions")
    expect(admin_page.get_by_role("button", name="Roll back to version 1")).to_be_visible()
    expect(admin_page.get_by_role("button", name="Roll back to version 2")).to_have_count(0)


@pytest.mark.usefixtures("tried")
def test_a_shadow_is_ended(admin_page: Page, dashboard: ServedDashboard) -> None:
    admin_page.goto(RULE)
    admin_page.get_by_role("button", name="End…").click()
    admin_page.get_by_role("dialog").get_by_role("button", name="End").click()
    expect(admin_page.locator(".rollout-figures")).not_to_be_visible()
    assert dashboard.client.get("/v1/processors/failed-logins").json()["version"] == 1


@pytest.mark.usefixtures("running_rule")
def test_a_draft_is_started_in_shadow(admin_page: Page, dashboard: ServedDashboard) -> None:
    admin_page.goto(f"{RULE}/edit")
    editor = admin_page.get_by_role("textbox", name="The rule")
    expect(editor).to_contain_text("10 minutes")
    editor.click()
    admin_page.keyboard.press("ControlOrMeta+End")
    admin_page.keyboard.insert_text("\nseverity: low\n")
    admin_page.get_by_role("button", name="Publish…").click()
    dialog = admin_page.get_by_role("dialog")
    dialog.get_by_label("In shadow").check()
    dialog.get_by_role("button", name="Start in shadow").click()
    expect(admin_page.get_by_role("heading", name="Version 2 in shadow")).to_be_visible()
    assert dashboard.client.get("/v1/processors/failed-logins").json()["version"] == 1
