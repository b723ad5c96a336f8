"""The page of a rule in a browser: how it stands, what it finds, what is wrong, what to do."""

import re
from typing import Any, Literal

import pytest
from playwright.sync_api import Page, expect

from contract.reports import FailedAt
from tests.api.documents import PATTERN, processor_document
from tests.dashboard.accessibility import violations
from tests.dashboard.browsing import Guard
from tests.dashboard.reporting_job import ReportingJob
from tests.dashboard.serving import RULE, ServedDashboard

MARKUP = "<img src=x onerror=alert(1)><script>alert(1)</script>"
HOUR_MS = 3_600_000


@pytest.fixture
def rule(dashboard: ServedDashboard) -> dict[str, Any]:
    return processor_document() | {"id": dashboard.publish(processor_document())["id"]}


def head(page: Page) -> Any:
    """Return where the head of the page says the rule stands."""
    return page.locator(".page-header .state").first


def test_a_rule_is_drawn_and_told(
    admin_page: Page, dashboard: ServedDashboard, reporting_job: ReportingJob
) -> None:
    group = {
        "steps": [
            {"name": "fail", "where": "action = 'fail'", "times": {"from": 3, "to": None}},
            {"name": "view", "contiguity": "not_followed_by", "where": "action = 'view'"},
            {
                "contiguity": "followed_by_any",
                "group": {"steps": [{"name": "b"}, {"name": "c", "contiguity": "next"}]},
                "times": 2,
            },
        ],
        "within": "10 minutes",
        "after_match_skip": {"strategy": "skip_past_last_event"},
    }
    dashboard.publish(processor_document(pattern=group, select={"who": "fail.user"}))
    reporting_job.run_batch()
    admin_page.goto(RULE)

    drawing = admin_page.get_by_role("img", name=re.compile("First: 3 or more events “fail”"))
    for text in (
        "fail",
        "≥ 3\N{MULTIPLICATION SIGN}",
        "not followed by",
        "view",
        "followed by any",
        "within 10 minutes",
    ):
        expect(drawing.get_by_text(text, exact=True).first).to_be_visible()
    told = admin_page.locator(".pattern-text")
    expect(told).to_contain_text("Never in between: no event view where action = 'view'")
    expect(told).to_contain_text("All within 10 minutes, from the first event to the last.")
    expect(admin_page.locator(".facts").first).to_contain_text("who = fail.user")


def test_a_scheduled_version_is_pending_with_its_time(
    admin_page: Page, dashboard: ServedDashboard, reporting_job: ReportingJob, rule: dict[str, Any]
) -> None:
    now_ms = dashboard.clock()
    dashboard.publish(rule | {"effective_from": now_ms + HOUR_MS, "severity": "high"})
    reporting_job.run_batch(newest_event_ms=now_ms)
    admin_page.goto(RULE)

    expect(head(admin_page)).to_have_attribute("data-state", "active")
    line = admin_page.get_by_role("row", name=re.compile("main"))
    expect(line).to_contain_text("v1 since")
    expect(line).to_contain_text("v2 at")
    admin_page.get_by_role("button", name="version 2", exact=True).click()
    expect(admin_page.locator(".facts").first).to_contain_text("from ")

    admin_page.goto(f"{RULE}?tab=versions")
    scheduled = admin_page.locator(".version-list > li").first
    expect(scheduled.locator("[data-state=pending]")).to_be_visible()
    scheduled.get_by_role("button", name="Cancel version").click()
    admin_page.get_by_role("button", name="Cancel the version").click()
    expect(scheduled.locator("[data-state=scheduled]")).to_have_count(0)
    assert [
        each["version"] for each in dashboard.get("/v1/processors/failed-logins")["published"]
    ] == [1]


def test_a_match_arrives_on_an_open_page_with_its_events(
    admin_page: Page, reporting_job: ReportingJob, rule: dict[str, Any]
) -> None:
    reporting_job.run_batch()
    admin_page.goto(RULE)
    expect(admin_page.get_by_text("No matches yet")).to_be_visible()
    reporting_job.find(rule["id"], 1, key=["mallory"])
    reporting_job.beat()

    match = admin_page.locator(".recent-match")
    expect(match).to_contain_text("mallory")
    expect(match.locator("figure circle")).to_have_count(4)
    match.get_by_text("Events", exact=True).click()
    expect(match.get_by_label(re.compile("^Events of mallory"))).to_contain_text(
        '"action": "login"'
    )


def test_a_quarantined_rule_shows_its_error_and_what_to_do(
    admin_page: Page,
    reporting_job: ReportingJob,
    rule: dict[str, Any],
    dashboard: ServedDashboard,
) -> None:
    reporting_job.run_batch()
    event: dict[str, Any] = {"ts": dashboard.clock(), "user": MARKUP, "amount": 0.0, "note": None}
    place = FailedAt(key=["eve", 7], time_ms=dashboard.clock(), event=event)
    error = "ZeroDivisionError: division by zero"
    reporting_job.quarantine(rule["id"], 1, error, "line 3, in f", failed_at=place)
    reporting_job.beat()
    admin_page.goto(RULE)

    expect(head(admin_page)).to_have_attribute("data-state", "quarantined")
    alarm = admin_page.locator(".alarm.bad")
    expect(alarm).to_contain_text("division by zero")
    expect(alarm).to_contain_text("publish a new version, or roll back")
    alarm.get_by_text("Traceback").click()
    expect(alarm.get_by_label("Traceback")).to_have_text("line 3, in f")

    # What becomes of it is kept when the rule is well again.
    alarm.get_by_role("button", name="Acknowledge").click()
    dialog = admin_page.get_by_role("dialog")
    dialog.get_by_label("Reason").fill("my divisor")
    dialog.get_by_role("button", name="Acknowledge").click()
    expect(alarm).to_contain_text("Acknowledged by admin token")
    dashboard.publish(processor_document(description="mended", limits={"events_per_key": 9}))
    reporting_job.run_batch()
    admin_page.goto(f"{RULE}?tab=activity")
    history = admin_page.get_by_role("table", name="Quarantines of this rule").get_by_role("row")
    expect(history).to_have_count(2)
    expect(history.nth(1)).to_contain_text("ZeroDivisionError")
    expect(history.nth(1)).to_contain_text("admin token published v2")
    history.nth(1).get_by_text("eve, 7").click()
    facts = history.nth(1).locator(".facts")
    expect(facts).to_contain_text(MARKUP)
    expect(facts).to_contain_text("amount0")
    assert admin_page.locator("img[src=x]").count() == 0
    assert violations(admin_page) == []


def test_a_job_that_has_fallen_silent_is_told(
    admin_page: Page, dashboard: ServedDashboard, reporting_job: ReportingJob, rule: dict[str, Any]
) -> None:
    assert rule["id"]
    reporting_job.run_batch()
    reporting_job.change("failed-logins", 1, partial_matches=5)
    reporting_job.beat()
    held = admin_page.locator(".card", has=admin_page.get_by_role("heading", name="State now"))
    admin_page.goto(RULE)
    expect(held.locator("dd").first).to_have_text("5")
    expect(held).not_to_contain_text("silent")
    dashboard.clock.shift_ms = HOUR_MS
    admin_page.goto(RULE)
    expect(held.locator("dd").first).to_have_text("0")
    expect(held).to_contain_text("Without 1 silent job.")

    alarm = admin_page.locator(".alarm.warn")
    expect(alarm).to_contain_text("The job main is silent.")
    expect(admin_page.get_by_role("row", name=re.compile("main"))).to_contain_text("silent")


def test_a_rule_that_no_job_runs_says_so(admin_page: Page, rule: dict[str, Any]) -> None:
    admin_page.goto(RULE)
    expect(admin_page.locator(".alarm")).to_contain_text("No job runs this stream.")
    expect(head(admin_page)).to_have_text("published, in no job yet")
    assert rule["id"]


def test_versions_are_compared_and_rolled_back(
    admin_page: Page, dashboard: ServedDashboard, rule: dict[str, Any]
) -> None:
    dashboard.publish(rule | {"pattern": PATTERN | {"within": "5 minutes"}})
    admin_page.goto(f"{RULE}?tab=versions&old=1&new=2")
    meaning = admin_page.locator(".meanings")
    expect(meaning).to_contain_text("within")
    expect(meaning.locator("ins")).to_have_text("5 minutes")
    expect(admin_page.locator(".diff tr.removed")).to_contain_text("within: 10 minutes")
    expect(admin_page.locator(".diff tr.added")).to_contain_text("within: 5 minutes")

    admin_page.get_by_role("button", name="Roll back to version").click()
    dialog = admin_page.get_by_role("dialog")
    expect(dialog.locator(".diff tr.added")).to_contain_text("within: 10 minutes")
    dialog.get_by_label("Reason").fill("too strict")
    dialog.get_by_role("button", name="Roll back").click()
    expect(admin_page.locator(".version-list > li")).to_have_count(3)
    newest = admin_page.locator(".version-list > li").first
    expect(newest).to_contain_text("as version 1")
    expect(newest).to_contain_text("too strict")


def test_a_rule_is_deleted_and_brought_back(
    admin_page: Page, guard: Guard, dashboard: ServedDashboard, rule: dict[str, Any]
) -> None:
    guard.expect(404)
    admin_page.goto(RULE)
    admin_page.get_by_role("button", name="More actions").click()
    admin_page.get_by_role("button", name="Delete…").click()
    admin_page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    admin_page.wait_for_url("**/streams/logins/rules")

    admin_page.goto(RULE)
    expect(head(admin_page)).to_have_attribute("data-state", "deleted")
    admin_page.get_by_role("button", name="Restore…").click()
    admin_page.get_by_role("dialog").get_by_role("button", name="Roll back").click()
    expect(head(admin_page)).to_have_attribute("data-state", "published")
    assert dashboard.get(f"/v1/processors/{rule['id']}")["version"] == 2


def test_a_pattern_that_is_too_wide_is_drawn_from_top_to_bottom(
    admin_page: Page, rule: dict[str, Any]
) -> None:
    assert rule["id"]
    admin_page.set_viewport_size({"width": 390, "height": 844})
    admin_page.goto(RULE)
    expect(admin_page.locator("svg.pattern-drawing.is-column")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.nightly)])
def test_versions_errors_and_questions_are_accessible(
    admin_page: Page,
    dashboard: ServedDashboard,
    reporting_job: ReportingJob,
    rule: dict[str, Any],
    scheme: Literal["light", "dark"],
) -> None:
    dashboard.publish(rule | {"pattern": PATTERN | {"within": "5 minutes"}})
    reporting_job.run_batch()
    reporting_job.quarantine(rule["id"], 2, "ValueError: no", "line 3, in f")
    reporting_job.beat()
    admin_page.emulate_media(color_scheme=scheme)
    for tab in ("definition", "activity", "versions&old=1&new=2"):
        admin_page.goto(f"{RULE}?tab={tab}")
        admin_page.locator(".card .code, .card .table, .card .diff").first.wait_for()
        assert violations(admin_page) == []
    admin_page.get_by_text("Traceback").click()
    admin_page.get_by_role("button", name="Roll back to version").click()
    admin_page.get_by_role("dialog").locator(".diff").wait_for()
    assert violations(admin_page) == []


def test_what_was_found_just_now_has_a_bar(
    admin_page: Page, reporting_job: ReportingJob, rule: dict[str, Any]
) -> None:
    reporting_job.run_batch()
    for _ in range(3):
        reporting_job.find(rule["id"], 1)
    reporting_job.beat()
    admin_page.goto(RULE)
    figure = admin_page.get_by_role(
        "figure", name=re.compile("Matches per five minutes.*at most 3")
    )
    canvas = figure.locator("canvas")
    expect(canvas).to_be_visible()
    # Axes and lines of the grid are far thinner than a bar is high and wide.
    admin_page.wait_for_function(
        """canvas => {
          const { width, height } = canvas;
          const middle = canvas.getContext("2d").getImageData(0, height / 2, width, 1).data;
          return middle.filter((value, index) => index % 4 === 3 && value === 255).length > 5;
        }""",
        arg=canvas.element_handle(),
    )


def test_a_rule_may_be_called_as_the_editor_once_was(
    admin_page: Page, dashboard: ServedDashboard, guard: Guard
) -> None:
    guard.expect(404)
    admin_page.goto("/streams/logins/rules/new")
    admin_page.wait_for_url("**/streams/logins/new-rule")
    expect(admin_page.get_by_role("heading", name="New rule")).to_be_visible()

    dashboard.publish(processor_document(id="new"))
    admin_page.goto("/streams/logins/rules/new")
    expect(admin_page.get_by_role("heading", name="new", exact=True)).to_be_visible()


def test_a_rollback_names_what_it_puts_aside_and_compares_with_what_is_in_effect(
    admin_page: Page, dashboard: ServedDashboard
) -> None:
    dashboard.publish(processor_document(severity="low"))
    dashboard.publish(processor_document(severity="high"))
    dashboard.publish(processor_document(severity="info", effective_from="2100-01-01T00:00:00Z"))
    admin_page.goto(RULE)
    admin_page.get_by_role("button", name="More actions").click()
    admin_page.get_by_role("button", name="Roll back…").click()
    dialog = admin_page.get_by_role("dialog")
    expect(dialog).to_contain_text("Scheduled version 3 will not take effect")
    expect(dialog.get_by_label("Back to")).to_have_value("1")  # what was in effect before
    dialog.get_by_label("Back to").select_option("2")
    expect(dialog).to_contain_text("Version 2 is already in effect: nothing changes in what runs.")
    dialog.get_by_label("Back to").select_option("1")
    expect(dialog).to_contain_text("compared with version 2, which is in effect")
    expect(dialog.get_by_label("Version 2 compared with version 1")).to_contain_text("high")
    expect(dialog.get_by_text("info")).to_have_count(0)
    dialog.get_by_role("button", name="Roll back").click()
    expect(dialog).not_to_be_visible()
    assert [
        each["version"] for each in dashboard.get("/v1/processors/failed-logins")["published"]
    ] == [4]
