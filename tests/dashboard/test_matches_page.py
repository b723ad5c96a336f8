"""The pages of matches: heard as they come, narrowed, opened; and one match with its events."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from contract.service.tokens import Role
from tests.api.documents import processor_document
from tests.dashboard.accessibility import violations
from tests.dashboard.browsing import Guard, guarded_page, sign_in
from tests.dashboard.reporting_job import ReportingJob
from tests.dashboard.serving import ServedDashboard, served_copy

HOUR_MS = 3_600_000
MATCHES = "/streams/logins/matches"


@pytest.fixture
def job(dashboard: ServedDashboard, reporting_job: ReportingJob) -> ReportingJob:
    """A job that runs the rules `failed-logins` and `other`."""
    for processor_id in ("failed-logins", "other"):
        dashboard.publish(processor_document(id=processor_id))
    reporting_job.run_batch()
    return reporting_job


@pytest.fixture
def opened(admin_page: Page, job: ReportingJob) -> Page:  # noqa: ARG001 - its rules are wanted
    admin_page.goto(MATCHES)
    expect(admin_page.locator(".tail-status")).to_have_text("live")
    return admin_page


def found(page: Page) -> Locator:
    return page.locator(".found")


def test_where_there_is_no_match_the_reasons_are_told(opened: Page, job: ReportingJob) -> None:
    reasons = opened.get_by_text("Why a rule finds nothing")
    reasons.get_by_role("link", name="failed-logins").click()
    expect(opened).to_have_url(re.compile("processor=failed-logins"))
    diagnosis = opened.locator(".diagnosis")
    expect(diagnosis).to_contain_text("Why no matches?")
    expect(diagnosis.get_by_role("listitem").first).to_be_visible()
    assert violations(opened) == []
    job.find("failed-logins", 1)
    expect(found(opened)).to_have_count(1)
    expect(diagnosis).to_have_count(0)


def test_matches_appear_as_they_are_found(opened: Page, job: ReportingJob) -> None:
    expect(opened.get_by_text("No matches yet")).to_be_visible()
    job.find("failed-logins", 1, key=["e\u200bve", 7], output={"user": "eve", "failures": 3})
    line = found(opened)
    expect(line).to_have_count(1)
    expect(line).to_contain_text("failed-logins")
    expect(line).to_contain_text("v1 · epoch")
    expect(line).to_contain_text("e⟨U+200B⟩ve, 7")
    expect(line).to_contain_text("failures 3")
    expect(line).to_contain_text("4 events · 1 min")
    job.find("other", 1, kind="timeout", output=None)
    expect(found(opened).first).to_contain_text("timeout")
    expect(found(opened)).to_have_count(2)


def test_held_matches_wait_until_they_are_asked_for(opened: Page, job: ReportingJob) -> None:
    opened.get_by_role("button", name="Pause").click()
    expect(opened.locator(".tail-status")).to_have_text("paused")
    job.find("failed-logins", 1)
    job.find("other", 1)
    opened.get_by_role("button", name="Show 2 new matches").click()
    expect(found(opened)).to_have_count(2)
    job.find("other", 1)
    expect(opened.get_by_role("button", name="Show 1 new match")).to_be_visible()
    opened.get_by_role("button", name="Resume").click()
    expect(found(opened)).to_have_count(3)


def test_filters_live_in_the_address_and_hold_for_new_ones(opened: Page, job: ReportingJob) -> None:
    job.find("failed-logins", 1, key=["eve"])
    job.find("failed-logins", 1, key=["bob"], kind="timeout")
    job.find("other", 1, key=["eve"], output={"amount": 917})
    expect(found(opened)).to_have_count(3)

    opened.get_by_role("button", name="Timeouts").click()
    expect(found(opened)).to_have_count(1)
    expect(opened).to_have_url(re.compile(r"kind=timeout"))
    opened.get_by_role("button", name="All", exact=True).click()
    opened.get_by_label("Key", exact=True).fill("eve")
    expect(found(opened)).to_have_count(2)
    opened.get_by_label("Text in the output").fill("917")
    expect(found(opened)).to_have_count(1)
    opened.reload()
    expect(found(opened)).to_contain_text(["other"])
    expect(opened.locator(".tail-status")).to_have_text("live")
    job.find("other", 1, key=["bob"], output={"amount": 917})
    job.find("failed-logins", 1, key=["eve"], output={"amount": 9170})
    expect(found(opened)).to_have_count(2)
    expect(found(opened).first).to_contain_text("failed-logins")

    opened.get_by_role("button", name="Clear", exact=True).click()
    rule = opened.get_by_label("Rule", exact=True)
    rule.press_sequentially("oth")
    expect(opened.locator("datalist option[value=other]")).to_have_count(1)
    rule.fill("other")
    rule.press("Enter")
    expect(found(opened)).to_have_count(2)
    expect(opened).to_have_url(re.compile(r"processor=other"))


def test_matches_stand_by_event_time_and_are_narrowed_by_what_is_seen(
    opened: Page, job: ReportingJob, dashboard: ServedDashboard
) -> None:
    now_ms = dashboard.clock()
    early = job.find("other", 1, key=["early"], end_ms=now_ms - 5 * HOUR_MS)
    job.find("failed-logins", 1, key=["eve"], end_ms=now_ms - 1_000)
    expect(found(opened)).to_have_count(2)
    job.find("other", 1, key=["old"], end_ms=now_ms - 2 * HOUR_MS)
    expect(found(opened)).to_contain_text(["eve", "old", "early"])
    opened.get_by_label("Sort by").select_option("Latest arrival")
    expect(found(opened)).to_contain_text(["old", "eve", "early"])

    summary = opened.get_by_role("region", name="Summary of the matches")
    expect(summary).to_contain_text("3 matches")
    box = summary.locator(".histogram svg").bounding_box()
    assert box is not None
    opened.mouse.move(box["x"] + 2, box["y"] + 20)
    opened.mouse.down()
    opened.mouse.move(box["x"] + box["width"] / 10, box["y"] + 20)
    opened.mouse.up()
    expect(opened).to_have_url(re.compile(r"since=.*until="))
    expect(found(opened)).to_contain_text(["early"])
    expect(found(opened)).to_have_count(1)
    opened.get_by_label("Event time", exact=True).select_option("Last hour")
    expect(found(opened)).to_contain_text(["eve"])
    opened.get_by_role("button", name="Clear", exact=True).click()
    opened.get_by_label("Key", exact=True).fill("ea")
    expect(found(opened)).to_have_count(1)
    opened.get_by_role("button", name="Clear", exact=True).click()
    summary.get_by_role("button", name="eve").click()
    expect(opened.get_by_role("button", name="Remove the filter key eve")).to_be_visible()
    expect(found(opened)).to_have_count(1)

    summary.get_by_role("button", name="Download").click()
    with opened.expect_download() as download:
        summary.get_by_role("link", name="CSV").click()
    text = download.value.path().read_text(encoding="utf-8")
    assert len(text.splitlines()) == 2

    opened.get_by_role("button", name="Clear", exact=True).click()
    rules = summary.get_by_role("listitem").filter(has_text="failed-logins")
    expect(rules).to_have_text("failed-logins1")
    rules.get_by_role("button").click()
    expect(opened).to_have_url(re.compile("processor=failed-logins"))
    expect(found(opened)).to_have_count(1)

    # The open row is part of the link; where the list is another, it stands above it.
    opened.goto(f"{MATCHES}?key=eve&open={early.match_id}")
    linked = opened.get_by_role("list", name="Linked match")
    expect(linked.get_by_role("figure", name=re.compile("^match of 4 events"))).to_be_visible()


def test_up_to_a_time_nothing_new_is_waited_for(admin_page: Page, job: ReportingJob) -> None:
    job.find("other", 1, end_ms=1_800_000_000_000)
    admin_page.goto(f"{MATCHES}?since=2027-01-15T07:00:00Z&until=2027-01-15T09:00:00Z")
    expect(found(admin_page)).to_have_count(1)
    expect(admin_page.locator(".tail-status")).to_have_text("fixed range")
    admin_page.goto(f"{MATCHES}?until=2027-01-15T07:00:00Z")
    expect(admin_page.get_by_text("No recent matches for these filters")).to_be_visible()


def test_older_matches_are_read_when_asked_for(admin_page: Page, job: ReportingJob) -> None:
    for _ in range(53):
        job.find("other", 1)
    admin_page.goto(MATCHES)
    expect(found(admin_page)).to_have_count(50)
    admin_page.get_by_role("button", name="Show older matches").click()
    expect(found(admin_page)).to_have_count(53)
    expect(admin_page.get_by_role("button", name="Show older matches")).to_have_count(0)


def test_a_match_opens_to_its_timeline_and_leads_on(opened: Page, job: ReportingJob) -> None:
    match = job.find("failed-logins", 1)
    opened.get_by_role("button", name="Events of the match of failed-logins, key eve").click()
    timeline = opened.get_by_role("figure", name="match of 4 events in 1 min: fail 3 times, login")
    expect(timeline.locator("circle")).to_have_count(4)
    opened.get_by_role("link", name="All event fields").click()
    expect(opened).to_have_url(re.compile(f"{MATCHES}/{match.match_id}$"))
    expect(opened.get_by_role("heading", level=1)).to_have_text("Match of failed-logins")
    events = opened.get_by_role("region", name="Events of this match").get_by_role("row")
    expect(events).to_have_count(5)
    expect(events.nth(2)).to_contain_text("+20 s")
    events.nth(4).hover()
    expect(opened.locator("circle.marked")).to_have_count(1)
    opened.get_by_role("link", name="all matches for this key").click()
    expect(opened).to_have_url(re.compile(r"matches\?key=eve$"))


def test_a_timeout_shows_when_its_window_closed(
    admin_page: Page, job: ReportingJob, dashboard: ServedDashboard
) -> None:
    now_ms = dashboard.clock()
    match = job.find(
        "other",
        1,
        kind="timeout",
        start_ms=now_ms - 600_000,
        end_ms=now_ms,
        events={"fail": [{"ts": now_ms - 600_000}]},
    )
    admin_page.goto(f"{MATCHES}/{match.match_id}")
    expect(admin_page.get_by_text("Its window closed at the dashed line")).to_be_visible()
    expect(admin_page.locator(".closing")).to_have_count(1)


def test_events_without_times_stand_in_their_order(admin_page: Page, job: ReportingJob) -> None:
    match = job.find("other", 1, events={"a": [{"user": "eve"}], "b": [{"user": "bob"}]})
    admin_page.goto(f"{MATCHES}/{match.match_id}")
    expect(admin_page.get_by_text("The events have no readable time in ts")).to_be_visible()
    expect(admin_page.locator(".match-chart circle")).to_have_count(2)


def test_a_match_that_was_let_go_is_explained(
    admin_page: Page, guard: Guard, job: ReportingJob
) -> None:
    guard.expect(404)
    assert job.running
    admin_page.goto(f"{MATCHES}/0123456789abcdef")
    expect(admin_page.get_by_role("alert")).to_contain_text("Only recent matches are kept.")
    expect(admin_page.get_by_text("The outputs of the job have all matches")).to_be_visible()


@pytest.fixture
def impatient(migrated_file: Path, tmp_path: Path, request: Any) -> Iterator[ServedDashboard]:
    with served_copy(migrated_file, tmp_path, **request.param) as served:
        yield served


@pytest.mark.parametrize("impatient", [{"max_wait_seconds": 0.2}], indirect=True)
def test_nothing_is_missed_while_the_connection_is_made_anew(
    impatient: ServedDashboard, browser: Browser
) -> None:
    job = ReportingJob(impatient.client, impatient.clock)
    with guarded_page(browser, impatient.url) as (page, _guard):
        sign_in(page, impatient.token_of[Role.VIEWER])
        page.goto(MATCHES)
        expect(page.locator(".tail-status")).to_have_text("live")
        for number in range(1, 4):
            with page.expect_request(re.compile(r"/matches/stream")):
                job.find("other", 1)
            expect(found(page)).to_have_count(number)


@pytest.mark.parametrize("impatient", [{"match_listeners": 0}], indirect=True)
def test_where_no_seat_is_free_matches_are_read_instead(
    impatient: ServedDashboard, browser: Browser
) -> None:
    job = ReportingJob(impatient.client, impatient.clock)
    with guarded_page(browser, impatient.url) as (page, guard):
        guard.expect(503)
        sign_in(page, impatient.token_of[Role.VIEWER])
        page.goto(MATCHES)
        expect(page.locator(".tail-status")).to_have_text("every few seconds")
        job.find("other", 1)
        expect(found(page)).to_have_count(1)


TIMES = [
    (1_800_000_000_123, 1_800_000_000_123),
    ("2027-01-15T08:00:00.123Z", 1_800_000_000_123),
    ("2027-01-15T09:00:00.123+01:00", 1_800_000_000_123),
    ("2027-01-15T08:00:00.123", 1_800_000_000_123),
    ("2027-01-15 08:00:00", 1_800_000_000_000),
    ("2027-01-15", 1_799_971_200_000),
    ("12", None),
    ("yesterday", None),
    (None, None),
]


def test_event_times_are_read_as_jobs_write_them(page: Page) -> None:
    page.goto("/sign-in")
    read = page.evaluate(
        """async (values) => {
            const {eventTimeMs} = await import("/assets/any/js/matches/event_times.js");
            return values.map((value) => eventTimeMs(value));
        }""",
        [value for value, _ in TIMES],
    )
    assert read == [ms for _, ms in TIMES]
