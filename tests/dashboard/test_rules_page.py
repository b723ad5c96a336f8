"""The page of rules: what stands in it, how it is narrowed and sorted, what is done from it."""

import re
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Browser, Locator, Page, expect

from cep.instants import instant_ms, iso_text
from contract.reports import DiscoveryReport
from contract.service.tokens import Role
from tests.api.documents import ANY_STATE, PATTERN, processor_document
from tests.dashboard.browsing import guarded_page, have_signed_in
from tests.dashboard.reporting_job import ReportingJob
from tests.dashboard.serving import ServedDashboard

RULES = "/streams/logins/rules"


MINUTE_MS = 60_000
DASH = "\N{EN DASH}"
REFRESHED_MS = 15_000


def publish(dashboard: ServedDashboard, *ids: str, **fields: Any) -> None:
    for processor_id in ids:
        dashboard.publish(processor_document(id=processor_id, **fields))


def row(page: Page, processor_id: str) -> Locator:
    link = page.get_by_role("link", name=processor_id, exact=True)
    return page.get_by_role("row").filter(has=link)


def listed(page: Page) -> Locator:
    return page.locator(".rules-table tbody .name")


def choose(page: Page, label: str, text: str) -> None:
    field = page.get_by_label(label, exact=True)
    field.fill(text)
    field.press("Enter")


def test_each_rule_shows_what_the_job_makes_of_it(
    admin_page: Page, dashboard: ServedDashboard, reporting_job: ReportingJob
) -> None:
    publish(dashboard, "steady", "broken", "halted", key_by=["user", "action"])
    dashboard.post("/v1/processors/halted/pause")
    reporting_job.run_batch()
    later_ms = dashboard.clock() + 30 * MINUTE_MS
    publish(dashboard, "steady", effective_from=iso_text(later_ms), key_by=["user", "action"])
    reporting_job.run_batch()
    reporting_job.quarantine("broken", 1, "division by zero")
    reporting_job.find("steady", 1)
    reporting_job.change("steady", 1, partial_matches=12)
    reporting_job.run_batch()
    publish(dashboard, "late")

    admin_page.goto(RULES)
    steady = row(admin_page, "steady")
    expect(steady).to_contain_text("active")
    expect(steady).to_contain_text("since")
    expect(steady).to_contain_text("user, action")
    expect(steady.locator(".version-cell")).to_have_text("v1→ v2")
    expect(steady.locator(".next")).to_have_attribute(
        "title", re.compile(r"Runs in (29|30) min of event time")
    )
    expect(steady.locator(".matches-cell")).to_contain_text("1")
    expect(steady.locator(".partial")).to_have_text("12")
    expect(row(admin_page, "broken")).to_contain_text("quarantined")
    expect(row(admin_page, "broken")).to_contain_text("division by zero")
    expect(row(admin_page, "halted")).to_contain_text("paused")
    expect(row(admin_page, "late")).to_contain_text("not in main")
    expect(row(admin_page, "late")).to_contain_text("newest change pending")
    expect(admin_page.locator(".job-notice")).to_contain_text(
        "main has not applied the newest change of 1 rule yet"
    )


def test_a_label_is_found_however_rare_it_is(admin_page: Page, dashboard: ServedDashboard) -> None:
    for number in range(11):
        tags = [f"tag-{number:02}-{place:02}" for place in range(20)]
        publish(dashboard, f"many-{number:02}", tags=tags)
    publish(dashboard, "rare", tags=["zz-Rarest"], owner="zz-owner")
    admin_page.goto(RULES)
    field = admin_page.get_by_label("Tag", exact=True)
    offered = admin_page.locator("datalist").first.locator("option")
    expect(offered).to_have_count(200)
    field.fill("rare")
    expect(offered).to_have_count(1)
    expect(offered).to_have_attribute("value", "zz-Rarest")
    expect(offered).to_have_attribute("label", "1 rule")
    field.press("Enter")
    expect(listed(admin_page)).to_have_text(["rare"])
    choose(admin_page, "Owner", "zz")
    expect(admin_page).to_have_url(re.compile("owner=zz-owner"))
    admin_page.get_by_role("button", name="Remove the filter Owner: zz-owner").click()
    admin_page.get_by_role("button", name="Remove the filter Tag: zz-Rarest").click()
    expect(field).to_be_empty()
    expect(listed(admin_page)).to_have_count(12)


OVERFLOWING = """[...document.querySelectorAll(".rules-table, .rules-table td")]
    .filter((it) => it.scrollWidth > it.clientWidth + 1
        || it.getBoundingClientRect().right > innerWidth)
    .map((it) => it.innerText)"""


def test_dates_of_a_language_with_long_ones_stay_inside_their_cells(
    browser: Browser, dashboard: ServedDashboard, reporting_job: ReportingJob
) -> None:
    text = "Twenty connections of one address broken off within a minute, and some more words. "
    publish(dashboard, "steady", description=4 * text, key_by=["user", "action"])
    reporting_job.run_batch()
    reporting_job.find("steady", 1)
    long_ago_ms = instant_ms("2017-03-28T10:35:57Z")
    reporting_job.change(
        "steady", 1, active_from_ms=long_ago_ms, last_match_ms=long_ago_ms, partial_matches=12
    )
    reporting_job.run_batch()
    with guarded_page(browser, dashboard.url, locale="en-US") as (page, _guard):
        have_signed_in(page, dashboard.url, dashboard.token_of[Role.ADMIN])
        page.goto(RULES)
        expect(row(page, "steady")).to_contain_text("Mar 28, 2017, 10:35:57 AM")
        for width in (1440, 1280, 390):
            page.set_viewport_size({"width": width, "height": 844})
            page.wait_for_timeout(300)
            assert page.evaluate(OVERFLOWING) == [], width
            assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_rows_follow_the_job_without_a_reload(
    admin_page: Page, dashboard: ServedDashboard, reporting_job: ReportingJob
) -> None:
    publish(dashboard, "failed-logins")
    admin_page.goto(RULES)
    line = row(admin_page, "failed-logins")
    expect(line).to_contain_text("not in main")
    reporting_job.run_batch()
    expect(line.locator(".state-cell")).to_contain_text("active", timeout=REFRESHED_MS)


def test_without_a_job_it_says_so(admin_page: Page, dashboard: ServedDashboard) -> None:
    publish(dashboard, "failed-logins")
    admin_page.goto(RULES)
    expect(admin_page.locator(".job-notice")).to_contain_text("No job runs the rules of logins yet")
    expect(row(admin_page, "failed-logins")).to_contain_text("published, in no job")


def test_that_a_job_reads_no_rules_is_told_and_what_a_stale_one_said_is_shown_as_old(
    admin_page: Page, dashboard: ServedDashboard, reporting_job: ReportingJob
) -> None:
    publish(dashboard, "failed-logins")
    reporting_job.run_batch(discovery=DiscoveryReport(status="failing", error="no route to host"))
    for page in (RULES, f"{RULES}/failed-logins"):
        admin_page.goto(page)
        notice = admin_page.locator(".job-notice")
        expect(notice).to_contain_text("cannot read its rules")
        expect(notice).to_contain_text("no route to host")
    dashboard.clock.shift_ms += 10 * MINUTE_MS
    admin_page.goto(RULES)
    expect(admin_page.locator(".job-notice")).to_contain_text("main has not reported since")
    expect(admin_page.locator(".standing.old")).to_contain_text("job silent")
    expect(admin_page.locator(".standing.old")).to_contain_text("was active")


def test_a_silent_job_is_called_silent_where_jobs_are_chosen(
    admin_page: Page, dashboard: ServedDashboard, start_job: Callable[..., ReportingJob]
) -> None:
    publish(dashboard, "failed-logins")
    start_job("spare").run_batch()
    dashboard.clock.shift_ms += 10 * MINUTE_MS
    start_job("main").run_batch()
    admin_page.goto(RULES)
    choice = admin_page.get_by_label("Job", exact=True)
    expect(choice.get_by_role("option")).to_have_text(["in main", "in spare (silent)"])


def test_a_mended_rule_is_not_with_errors_any_longer(
    admin_page: Page, dashboard: ServedDashboard, reporting_job: ReportingJob
) -> None:
    publish(dashboard, "failed-logins")
    reporting_job.run_batch()
    reporting_job.quarantine("failed-logins", 1, "division by zero")
    reporting_job.beat()
    admin_page.goto(RULES)
    with_errors = admin_page.get_by_role("link", name="with errors")
    expect(with_errors).to_have_text("with errors 1")
    expect(row(admin_page, "failed-logins").locator(".error-count")).to_have_text("1")

    publish(dashboard, "failed-logins", pattern=PATTERN | {"within": "3 minutes"})
    reporting_job.run_batch()
    line = row(admin_page, "failed-logins")
    expect(line.locator(".state-cell")).to_contain_text("active")
    expect(with_errors).to_have_count(0)
    expect(line.locator(".error-count")).to_have_count(0)
    # What it counted stands beside the version that counted it.
    admin_page.goto("/streams/logins/jobs/main?state=superseded")
    superseded = admin_page.get_by_role("row").filter(has_text="superseded")
    expect(superseded.get_by_role("cell").last).to_have_text("1")


def test_filters_and_order_live_in_the_address(
    admin_page: Page, dashboard: ServedDashboard, reporting_job: ReportingJob
) -> None:
    publish(dashboard, "alpha", tags=["cards"], owner="fraud", severity="high")
    publish(dashboard, "beta", tags=["cards", "new"], owner="identity")
    publish(dashboard, "gamma", pattern=PATTERN | {"within": "3 minutes"})
    reporting_job.run_batch()
    reporting_job.quarantine("beta", 1, "oops")
    reporting_job.find("gamma", 1)
    reporting_job.beat()

    admin_page.goto(RULES)
    expect(listed(admin_page)).to_have_text(["alpha", "beta", "gamma"])
    admin_page.get_by_role("button", name="Matches/h").click()
    expect(admin_page).to_have_url(re.compile(r"sort=-matches_last_hour"))
    expect(listed(admin_page)).to_have_text(["gamma", "beta", "alpha"])
    expect(admin_page.get_by_role("columnheader", name="Matches/h")).to_have_attribute(
        "aria-sort", "descending"
    )
    choose(admin_page, "Tag", "cards")
    expect(listed(admin_page)).to_have_text(["beta", "alpha"])
    choose(admin_page, "Tag", "new")
    expect(listed(admin_page)).to_have_text(["beta"])
    admin_page.get_by_role("link", name="quarantined 1").click()
    expect(listed(admin_page)).to_have_text(["beta"])
    admin_page.reload()
    expect(listed(admin_page)).to_have_text(["beta"])
    admin_page.get_by_role("button", name="Remove the filter Tag: new").click()
    expect(admin_page.get_by_role("button", name="Remove the filter Tag: cards")).to_be_visible()
    expect(listed(admin_page)).to_have_text(["beta"])

    admin_page.get_by_role("button", name="Clear", exact=True).click()
    admin_page.get_by_label("Search rules").fill("3 minutes")
    expect(listed(admin_page)).to_have_text(["gamma"])
    admin_page.get_by_label("Search rules").fill("nothing of the kind")
    expect(admin_page.get_by_text("No rules match these filters")).to_be_visible()
    admin_page.get_by_role("button", name="Clear the filters").click()
    expect(listed(admin_page)).to_have_count(3)
    admin_page.get_by_role("button", name="fraud").click()
    expect(admin_page).to_have_url(re.compile("owner=fraud"))
    expect(listed(admin_page)).to_have_text(["alpha"])


def test_many_rules_come_in_pages(admin_page: Page, dashboard: ServedDashboard) -> None:
    publish(dashboard, *(f"rule-{number:02}" for number in range(53)))
    admin_page.goto(RULES)
    pager = admin_page.locator(".pager")
    expect(pager).to_contain_text(f"1{DASH}50 of 53")
    pager.get_by_role("button", name="Next").click()
    expect(listed(admin_page)).to_have_text(["rule-50", "rule-51", "rule-52"])
    expect(pager).to_contain_text(f"51{DASH}53 of 53")
    admin_page.reload()
    expect(listed(admin_page)).to_have_text(["rule-50", "rule-51", "rule-52"])
    pager.get_by_role("button", name="Back").click()
    expect(listed(admin_page)).to_have_count(50)
    # While a long list passes, the names of its columns stay below the bar.
    admin_page.mouse.wheel(0, 2_000)
    expect(admin_page.get_by_role("columnheader", name="State")).to_be_in_viewport()

    admin_page.get_by_role("checkbox", name="All rules on this page").check()
    admin_page.get_by_role("button", name="Select all 53").click()
    bar = admin_page.get_by_role("region", name="Selected rules")
    expect(bar).to_contain_text("53 rules selected")
    bar.get_by_role("button", name="Pause").click()
    admin_page.get_by_role("dialog").get_by_role("button", name="Pause").click()
    expect(admin_page.get_by_text("53 rules paused.")).to_be_visible()

    pager.get_by_label("Rows on a page").select_option("100")
    expect(listed(admin_page)).to_have_count(53)
    expect(pager).to_contain_text("53 rules")


def test_ticked_rules_are_paused_and_resumed_together(
    page_of: Callable[[Role], Page], dashboard: ServedDashboard
) -> None:
    publish(dashboard, "a", "b", "c", "d")
    page = page_of(Role.PUBLISHER)
    page.goto(RULES)
    page.get_by_role("checkbox", name="b", exact=True).check()
    page.get_by_role("checkbox", name="d", exact=True).click(modifiers=["Shift"])
    bar = page.get_by_role("region", name="Selected rules")
    expect(bar).to_contain_text("3 rules selected")
    bar.get_by_role("button", name="Pause").click()
    dialog = page.get_by_role("dialog", name="Pause 3 rules?")
    dialog.get_by_label("Reason").fill("too noisy")
    dialog.get_by_role("button", name="Pause").click()
    expect(page.get_by_text("3 rules paused.")).to_be_visible()
    expect(bar).to_have_count(0)
    expect(row(page, "c")).to_contain_text("paused")
    expect(row(page, "a")).to_contain_text("published")
    log = dashboard.get("/v1/changes", action="processor.pause")["items"]
    assert [(each["processor_id"], each["comment"]) for each in log] == [
        ("d", "too noisy"),
        ("c", "too noisy"),
        ("b", "too noisy"),
    ]

    page.get_by_role("checkbox", name="All rules on this page").check()
    bar.get_by_role("button", name="Resume").click()
    page.get_by_role("dialog").get_by_role("button", name="Resume").click()
    expect(page.get_by_text("3 rules resumed; 1 unchanged.")).to_be_visible()


def test_if_a_ticked_rule_is_gone_the_dialog_says_so_and_none_is_changed(
    admin_page: Page, guard: Any, dashboard: ServedDashboard
) -> None:
    guard.expect(422)
    publish(dashboard, "a", "b")
    admin_page.goto(RULES)
    admin_page.get_by_role("checkbox", name="All rules on this page").check()
    dashboard.client.delete("/v1/processors/b", headers=ANY_STATE)
    admin_page.get_by_role("button", name="Pause").click()
    dialog = admin_page.get_by_role("dialog")
    dialog.get_by_role("button", name="Pause").click()
    expect(dialog).to_contain_text("Stream 'logins' has no rule 'b'.")
    assert dashboard.get("/v1/processors/a")["state"] == "published"
