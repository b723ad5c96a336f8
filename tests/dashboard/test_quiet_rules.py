"""Less noise, in a browser: a budget that is spent, snoozes, and matches that stand for others."""

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from contract.reports import Counters
from contract.service.tokens import Role
from tests.api.documents import RULE_TEXT, processor_document
from tests.dashboard.accessibility import violations
from tests.dashboard.browsing import Guard, write
from tests.dashboard.reporting_job import ReportingJob
from tests.dashboard.serving import MARKUP, RULE, ServedDashboard

ALERT = {"budget": {"at_most": 100, "for": "1 hour"}}


def test_a_rule_is_throttled_snoozed_and_woken(
    admin_page: Page,
    page_of: Callable[[Role], Page],
    dashboard: ServedDashboard,
    reporting_job: ReportingJob,
) -> None:
    dashboard.publish(processor_document(alert=ALERT))
    reporting_job.run_batch(newest_event_ms=dashboard.clock())
    until_ms = dashboard.clock() + 1_800_000
    counters = Counters(matches=100, suppressed=7, unsuppressed=3)
    reporting_job.change("failed-logins", 1, throttled_until_ms=until_ms, counters=counters)
    reporting_job.beat()
    admin_page.goto(RULE)
    alarms = admin_page.locator(".alarms")
    expect(alarms).to_contain_text("has spent its budget of matches")
    expect(admin_page.get_by_role("table").first).to_contain_text("throttled")
    expect(admin_page.get_by_text("at most 100 matches in each 1 hour")).to_be_visible()

    admin_page.get_by_label("More actions").click()
    admin_page.get_by_role("button", name="Snooze…").click()
    dialog = admin_page.get_by_role("dialog")
    dialog.get_by_label("For", exact=True).select_option("4 hours")
    dialog.get_by_label("Only for this key").fill(MARKUP)
    dialog.get_by_label("Reason").fill("known to the bank")
    assert violations(admin_page) == []
    dialog.get_by_role("button", name="Snooze").click()
    card = admin_page.get_by_role("heading", name="Snoozed").locator("xpath=ancestor::section")
    expect(card).to_contain_text(MARKUP)
    expect(card).to_contain_text("known to the bank")
    assert violations(admin_page) == []
    (snoozed,) = dashboard.get("/v1/processors/failed-logins/snoozes")["items"]
    assert snoozed["key"] == MARKUP

    viewer_page = page_of(Role.VIEWER)
    viewer_page.goto(RULE)
    expect(viewer_page.get_by_role("heading", name="Snoozed")).to_be_visible()
    expect(viewer_page.get_by_role("button", name="End…")).to_have_count(0)

    card.get_by_role("button", name="End…").click()
    admin_page.get_by_role("dialog").get_by_role("button", name="End snooze").click()
    expect(card).to_have_count(0)
    assert dashboard.get("/v1/processors/failed-logins/snoozes")["items"] == []


MATCHES = "/streams/logins/matches"
GROUP_ID = "5a0c" * 8
GROUPED = {"group": {"by": ["user"], "for": "1 hour"}}


def test_a_match_says_what_it_stands_for(
    admin_page: Page, dashboard: ServedDashboard, reporting_job: ReportingJob
) -> None:
    dashboard.publish(processor_document(alert=GROUPED, select={"user": "login.user"}))
    reporting_job.run_batch(newest_event_ms=dashboard.clock())
    admin_page.goto(MATCHES)
    expect(admin_page.locator(".tail-status")).to_have_text("live")
    match = reporting_job.find("failed-logins", 1, group_id=GROUP_ID)
    line = admin_page.locator(".found")
    expect(line).to_have_count(1)
    expect(line).not_to_contain_text("stands for")
    group = {"user": MARKUP}
    reporting_job.tell_group(match, 1_037, keys=512, keys_are_estimated=True, group=group)
    expect(line).to_contain_text("stands for 1,037 matches in 1 hour")
    line.get_by_role("button", name=re.compile("^Events of")).click()
    expect(line).to_contain_text("1,037 matches in 1 hour, of about 512 keys")
    expect(line).to_contain_text(MARKUP)
    expect(line.get_by_text("are kept")).to_have_count(0)

    for number in range(2):
        reporting_job.find("failed-logins", 1, group_id=GROUP_ID, kind="grouped", key=[number])
    admin_page.goto(f"{MATCHES}/{match.match_id}")
    expect(admin_page.locator(".title")).to_contain_text("stands for 1,037 matches in 1 hour")
    assert violations(admin_page) == []
    admin_page.get_by_role("link", name="the other 2 matches still stored").click()
    expect(admin_page).to_have_url(re.compile(rf"group={GROUP_ID}"))
    expect(line).to_have_count(2)
    filters = admin_page.get_by_role("search", name="Filter matches")
    expect(filters).to_contain_text("of one group")
    expect(admin_page.locator(".tail-status")).to_have_text("live")
    reporting_job.find("failed-logins", 1, group_id=GROUP_ID, kind="grouped", key=[2])
    expect(line).to_have_count(3)
    assert violations(admin_page) == []
    line.first.get_by_role("button", name=re.compile("^Events of")).click()
    admin_page.get_by_role("link", name="Show the match that was sent").click()
    expect(line).to_have_count(1)
    expect(line).to_contain_text("stands for")


def test_a_rule_says_how_it_groups_and_how_many_were(
    admin_page: Page, dashboard: ServedDashboard, reporting_job: ReportingJob
) -> None:
    dashboard.publish(processor_document(alert=GROUPED, select={"user": "login.user"}))
    reporting_job.run_batch(newest_event_ms=dashboard.clock())
    reporting_job.change("failed-logins", 1, counters=Counters(matches=2, grouped=998))
    reporting_job.beat()
    match = reporting_job.find("failed-logins", 1, group_id=GROUP_ID)
    reporting_job.beat()
    reporting_job.tell_group(match, 7, group={}, is_rest=True)
    admin_page.goto(RULE)
    grouping = admin_page.get_by_text("one alert for all matches in each 1 hour with the same user")
    expect(grouping).to_be_visible()
    expect(admin_page.get_by_text("stands for 7 matches in 1 hour")).to_be_visible()
    expect(admin_page.get_by_text("3 matches, 998 grouped, 0 partial matches open")).to_be_visible()
    expect(admin_page.get_by_role("heading", name="Suppressed and grouped")).to_be_visible()
    assert violations(admin_page) == []


def test_the_editor_completes_and_checks_a_grouping(
    admin_page: Page, dashboard: ServedDashboard, guard: Guard
) -> None:
    guard.expect(422)  # half a grouping
    dashboard.publish(processor_document())
    admin_page.goto(f"{RULE}/edit")
    expect(admin_page.get_by_role("img", name=re.compile("^First: 3 events"))).to_be_visible()
    offered = admin_page.locator(".cm-tooltip-autocomplete li")
    for above, text, wanted in (
        ("alert:\n  ", "gr", "group"),
        ("alert:\n  group:\n    ", "fo", "for"),
    ):
        write(admin_page, RULE_TEXT + above)
        admin_page.keyboard.type(text)
        expect(offered.filter(has_text=wanted).first).to_be_visible()
        admin_page.keyboard.press("Escape")
    grouped = "alert: {group: {by: [prize], for: 1 hour}}\n"
    write(admin_page, f"{RULE_TEXT}select: {{user: login.user}}\n{grouped}")
    expect(admin_page.get_by_text("prize").last).to_be_visible()
    expect(admin_page.get_by_text(re.compile(r"alert.*group.*by")).first).to_be_visible()
    admin_page.evaluate("sessionStorage.clear()")
