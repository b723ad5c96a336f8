"""The editor in a browser: written, checked, tried out, published, and then seen in a job."""

import re
from collections.abc import Callable
from random import Random
from typing import Literal

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from contract.service.tokens import Role
from tests.api.documents import PATTERN, RULE_TEXT, processor_document
from tests.dashboard.accessibility import violations
from tests.dashboard.browsing import Guard, write
from tests.dashboard.reporting_job import ReportingJob
from tests.dashboard.serving import ServedDashboard

NEW = "/streams/logins/new-rule"
RULE = "/streams/logins/rules/guessed"
TEXT = RULE_TEXT.replace("failed-logins", "guessed")
EVENTS = """\
{"ts": 1000, "user": "eve", "action": "fail"}
{"ts": 2000, "user": "eve", "action": "fail"}
{"ts": 3000, "user": "bob", "action": "fail"}
{"ts": 4000, "user": "eve", "action": "fail"}
"""
TWO_TO_FOUR = "2\N{EN DASH}4\N{MULTIPLICATION SIGN}"
LOGIN = '{"ts": 5000, "user": "eve", "action": "login"}'


def publish_button(page: Page) -> Locator:
    return page.get_by_role("button", name="Publish…")


def test_a_rule_lives_from_the_editor_to_its_rollback(
    editor: Page, dashboard: ServedDashboard, reporting_job: ReportingJob
) -> None:
    write(editor, TEXT)
    expect(editor.locator(".draft-problems")).to_contain_text("valid")
    publish_button(editor).click()
    editor.get_by_role("dialog").get_by_label("Reason").fill("guesses rise")
    editor.get_by_role("dialog").get_by_role("button", name="Publish").click()
    editor.wait_for_url(f"**{RULE}")
    state = editor.locator(".page-header .state").first
    expect(state).to_have_text("published, in no job yet")

    # The job has read the rule; it is active from the next event time on.
    now_ms = dashboard.clock()
    reporting_job.take_up(now_ms)
    reporting_job.change("guessed", 1, state="pending", active_from_ms=now_ms + 720_000)
    reporting_job.beat(newest_event_ms=now_ms, watermark_ms=now_ms)
    expect(state).to_have_text("pending in 12 min of event time")
    reporting_job.change("guessed", 1, state="active", active_from_ms=now_ms)
    reporting_job.beat(newest_event_ms=now_ms, watermark_ms=now_ms)
    expect(state).to_have_text("active")

    reporting_job.find("guessed", 1, key=["mallory"])
    reporting_job.beat()
    expect(editor.locator(".recent-match")).to_contain_text("mallory")

    editor.get_by_role("button", name="Pause").click()
    editor.get_by_role("dialog").get_by_role("button", name="Pause").click()
    expect(state).to_have_text("paused")
    editor.get_by_role("button", name="Resume").click()
    editor.get_by_role("dialog").get_by_role("button", name="Resume").click()
    # Marks of charts are buttons, too, and say that it was paused.
    expect(editor.get_by_role("button", name="Pause", exact=True)).to_be_visible()

    editor.get_by_role("link", name="Edit").click()
    editor.get_by_role("textbox", name="The rule").wait_for()
    write(editor, TEXT.replace("10 minutes", "5 minutes"))
    publish_button(editor).click()
    dialog = editor.get_by_role("dialog")
    expect(dialog.locator(".diff tr.added")).to_contain_text("within: 5 minutes")
    dialog.get_by_role("button", name="Publish").click()
    editor.wait_for_url(f"**{RULE}")

    editor.get_by_role("button", name="More actions").click()
    editor.get_by_role("button", name="Roll back…").click()
    editor.get_by_role("dialog").get_by_role("button", name="Roll back").click()
    expect(editor.locator(".page-header")).to_contain_text("version 3")
    document = dashboard.get("/v1/processors/guessed")["document"]
    assert document["pattern"]["within"] == "10 minutes"
    comments = [each["comment"] for each in dashboard.get("/v1/changes")["items"]]
    assert "guesses rise" in comments


def test_a_mistake_is_marked_at_its_line_and_cannot_be_published(editor: Page) -> None:
    write(editor, TEXT.replace("action = 'login'", "acton = 'login'"))
    problems = editor.locator(".draft-problems")
    expect(problems).to_contain_text("1 error")
    expect(problems).to_contain_text("there is no column acton. Did you mean action?")
    expect(editor.locator(".cm-lintRange-error")).to_have_text("acton")
    expect(editor.locator(".pattern-step.is-wrong")).to_contain_text("login")
    expect(publish_button(editor)).to_be_disabled()

    problems.get_by_role("button", name=re.compile("line 11")).click()
    expect(editor.get_by_role("textbox", name="The rule")).to_be_focused()
    editor.keyboard.press("Control+Delete")
    editor.keyboard.insert_text("action")
    expect(problems).to_contain_text("valid")
    expect(publish_button(editor)).to_be_enabled()


def test_the_drawing_follows_the_text(editor: Page) -> None:
    write(editor, TEXT)
    drawing = editor.locator(".pattern-drawing")
    expect(drawing).to_contain_text("3\N{MULTIPLICATION SIGN}")
    write(editor, TEXT.replace("times: 3", "times: {from: 2, to: 4}"))
    expect(drawing).to_contain_text(TWO_TO_FOUR)
    write(editor, "pattern: [")
    expect(editor.locator(".draft-problems")).to_contain_text("error")
    expect(drawing).to_contain_text(TWO_TO_FOUR)


def test_a_try_out_shows_near_misses_and_then_a_match(editor: Page) -> None:
    write(editor, TEXT)
    write(editor, EVENTS, into="Events")
    findings = editor.locator(".findings")
    expect(findings).to_contain_text("0 matches, 2 near misses in 4 events")
    nearest = findings.locator(".finding").first
    expect(nearest).to_contain_text("timed out")
    expect(nearest).to_contain_text("fail \N{MULTIPLICATION SIGN} 3")
    expect(nearest).to_contain_text("still waiting for login")
    expect(editor.locator(".pattern-drawing")).to_contain_text("4 events match")

    write(editor, EVENTS + LOGIN, into="Events")
    expect(findings).to_contain_text("1 match, 1 near miss in 5 events")
    expect(findings.locator(".finding").first.locator("figure circle")).to_have_count(4)


def test_sample_events_are_made_for_the_rule(editor: Page, guard: Guard) -> None:
    write(editor, TEXT)
    samples = "**/v1/drafts/samples"
    editor.route(samples, lambda route: route.abort())
    editor.get_by_role("button", name="Create sample events").click()
    expect(editor.locator(".try-out .problem")).to_contain_text("The service is not responding")
    expect(editor.locator(".try-out .problem")).not_to_contain_text("change")
    guard.seen.clear()  # the request was aborted, and the browser says so
    editor.unroute(samples)
    editor.get_by_role("button", name="Create sample events").click()
    expect(editor.locator(".findings")).to_contain_text("1 match")


def test_events_that_cannot_be_read_are_told_by_line(editor: Page) -> None:
    write(editor, EVENTS + "{", into="Events")
    expect(editor.locator(".try-out .mistake")).to_contain_text("Line 5")


def test_the_events_of_a_real_match_can_be_tried(editor: Page, running_rule: ReportingJob) -> None:
    running_rule.find("failed-logins", 1)
    write(editor, TEXT)
    editor.get_by_role("button", name="From the newest match").click()
    expect(editor.locator(".findings")).to_contain_text("1 match")


def test_the_newest_match_is_one_of_the_rule_also_before_its_text_is_checked(
    admin_page: Page, dashboard: ServedDashboard, reporting_job: ReportingJob
) -> None:
    for name in ("failed-logins", "other"):
        dashboard.publish(processor_document(id=name))
    reporting_job.run_batch()
    reporting_job.find("failed-logins", 1, events={"login": [{"user": "of this rule"}]})
    reporting_job.find("other", 1, events={"login": [{"user": "of another"}]})
    admin_page.route("**/v1/drafts/check", lambda _route: None)  # no answer
    admin_page.goto("/streams/logins/rules/failed-logins/edit")
    admin_page.get_by_role("button", name="From the newest match").click()
    expect(admin_page.locator(".event-editor")).to_contain_text("of this rule")


def test_a_draft_can_be_seen_as_json_and_back(editor: Page) -> None:
    write(editor, TEXT)
    expect(editor.locator(".draft-problems")).to_contain_text("valid")
    editor.get_by_role("button", name="JSON").click()
    code = editor.get_by_role("textbox", name="The rule")
    expect(code).to_contain_text('"id": "guessed"')
    expect(editor.locator(".draft-problems")).to_contain_text("valid")
    editor.get_by_role("button", name="YAML").click()
    expect(code).to_contain_text("id: guessed")


def test_a_draft_that_cannot_be_read_keeps_its_format_and_text(editor: Page) -> None:
    write(editor, TEXT)
    expect(editor.locator(".draft-problems")).to_contain_text("valid")
    write(editor, "id: [unfinished")
    editor.get_by_role("button", name="JSON").click()
    expect(editor.locator(".toast")).to_contain_text("Correct its errors")
    expect(editor.get_by_role("textbox", name="The rule")).to_have_text("id: [unfinished")
    expect(editor.get_by_role("button", name="YAML")).to_have_attribute("aria-pressed", "true")


def test_a_version_is_published_at_a_time(editor: Page, dashboard: ServedDashboard) -> None:
    dashboard.publish(processor_document(id="guessed"))
    editor.goto(f"{RULE}/edit")
    write(editor, TEXT.replace("10 minutes", "1 hour"))
    publish_button(editor).click()
    dialog = editor.get_by_role("dialog")
    dialog.get_by_label("At a time").check()
    dialog.get_by_label("From event time").fill("2099-01-01T12:00:00")
    dialog.get_by_role("button", name="Schedule").click()
    editor.wait_for_url(f"**{RULE}")
    published = dashboard.get("/v1/processors/guessed")["published"]
    offset_minutes = editor.evaluate("new Date('2099-01-01T12:00:00').getTimezoneOffset()")
    assert offset_minutes == 0
    assert published[1]["effective_from"] == "2099-01-01T12:00:00.000Z"


def test_authors_save_paused_rules(
    page_of: Callable[[Role], Page], dashboard: ServedDashboard
) -> None:
    page = page_of(Role.AUTHOR)
    page.goto(NEW)
    write(page, TEXT)
    page.get_by_role("button", name="Save…").click()
    page.get_by_role("dialog").get_by_role("button", name="Save paused").click()
    page.wait_for_url(f"**{RULE}")
    assert dashboard.get("/v1/processors/guessed")["state"] == "paused"


def test_a_refusal_of_the_service_is_shown_and_the_draft_stays(
    editor: Page, guard: Guard, dashboard: ServedDashboard
) -> None:
    guard.expect(409)
    dashboard.publish(processor_document(id="guessed"))
    write(editor, TEXT)
    publish_button(editor).click()
    dialog = editor.get_by_role("dialog")
    dialog.get_by_role("button", name="Publish").click()
    expect(dialog.get_by_role("alert")).to_contain_text("guessed")
    dialog.get_by_role("button", name="Cancel").click()
    expect(editor.get_by_role("textbox", name="The rule")).to_contain_text("id: guessed")


def test_a_draft_survives_a_reload(editor: Page) -> None:
    editor.on("dialog", lambda dialog: dialog.accept())
    write(editor, TEXT)
    expect(editor.locator(".draft-problems")).to_contain_text("valid")
    editor.reload()
    expect(editor.get_by_role("textbox", name="The rule")).to_contain_text("id: guessed")
    editor.get_by_role("button", name="Discard changes").click()
    expect(editor.get_by_role("textbox", name="The rule")).to_contain_text("id: my-rule")


def test_markup_in_a_draft_is_shown_as_text(editor: Page) -> None:
    markup = "<img src=x onerror=alert(1)>"
    write(
        editor, TEXT.replace("'login'", f"'{markup}'").replace("stream:", f'"{markup}": 1\nstream:')
    )
    expect(editor.locator(".draft-problems")).to_contain_text(markup)
    expect(editor.locator(".pattern-text")).to_contain_text(markup)
    assert editor.locator("img[src=x]").count() == 0


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.nightly)])
def test_findings_mistakes_and_the_last_question_are_accessible(
    editor: Page, scheme: Literal["light", "dark"]
) -> None:
    editor.emulate_media(color_scheme=scheme)
    write(editor, TEXT)
    write(editor, EVENTS, into="Events")
    expect(editor.locator(".findings")).to_contain_text("near misses")
    publish_button(editor).click()
    assert violations(editor) == []
    editor.keyboard.press("Escape")
    write(editor, TEXT.replace("action = 'login'", "acton = 'login'"))
    expect(editor.locator(".draft-problems")).to_contain_text("1 error")
    assert violations(editor) == []


def changed_rule(editor: Page, dashboard: ServedDashboard) -> None:
    """Open the editor of a rule, and change its text."""
    document = processor_document(id="guessed")
    dashboard.publish(document)
    text: str = dashboard.post("/v1/drafts/text", {"document": document, "format": "yaml"})["text"]
    editor.goto(f"{RULE}/edit")
    editor.get_by_role("textbox", name="The rule").wait_for()
    write(editor, text.replace("'fail'", "'failed'"))
    expect(editor.locator(".draft-problems")).to_contain_text("valid")


def test_the_question_before_publishing_opens_as_a_whole(
    editor: Page, dashboard: ServedDashboard
) -> None:
    """What came later would move its buttons away from under a pointer that is about to click."""
    changed_rule(editor, dashboard)
    waiting: list[Route] = []
    editor.route("**/v1/drafts/text", lambda route: waiting.append(route))  # noqa: PLW0108 - Playwright takes no bound method of a list
    publish_button(editor).click()
    dialog = editor.get_by_role("dialog")
    while len(waiting) < 2:
        editor.wait_for_timeout(20)
    expect(dialog).to_have_count(0)
    for each in waiting:
        each.continue_()
    dialog.wait_for()
    assert dialog.get_by_role("heading", name="What changes").is_visible()
    assert dialog.get_by_role("button", name="Publish").is_visible()


def test_what_cannot_be_compared_can_be_published(
    editor: Page, guard: Guard, dashboard: ServedDashboard
) -> None:
    guard.expect(503)
    changed_rule(editor, dashboard)
    editor.route("**/v1/drafts/text", lambda route: route.fulfill(status=503))
    publish_button(editor).click()
    dialog = editor.get_by_role("dialog")
    dialog.get_by_role("button", name="Publish").click()
    expect(dialog).to_have_count(0)
    assert dashboard.get("/v1/processors/guessed")["version"] == 2


@pytest.fixture
def edited(editor: Page, guard: Guard, dashboard: ServedDashboard) -> Page:
    """The editor of a rule whose text has been changed, while someone else has published it."""
    guard.expect(412)
    changed_rule(editor, dashboard)
    dashboard.publish(processor_document(id="guessed", severity="low"))
    publish_button(editor).click()
    dialog = editor.get_by_role("dialog")
    dialog.get_by_role("button", name="Publish").click()
    expect(dialog.get_by_role("alert")).to_contain_text("It has changed since you loaded it")
    dialog.get_by_role("button", name="Cancel").click()
    return editor


def conflict_in(page: Page) -> Locator:
    return page.get_by_role("status", name="A newer version")


def test_a_change_is_applied_to_that_of_someone_else(
    edited: Page, dashboard: ServedDashboard
) -> None:
    conflict = conflict_in(edited)
    expect(conflict).to_contain_text("severity: low")
    expect(conflict).not_to_contain_text("'failed'")
    conflict.get_by_role("button", name="Your changes").click()
    expect(conflict).to_contain_text("'failed'")
    assert not violations(edited)
    conflict.get_by_role("button", name="Apply my changes to theirs").click()
    expect(conflict).to_have_count(0)
    expect(edited.get_by_role("textbox", name="The rule")).to_contain_text("severity: low")
    expect(edited.get_by_role("textbox", name="The rule")).to_contain_text("'failed'")
    publish_button(edited).click()
    edited.get_by_role("dialog").get_by_role("button", name="Publish").click()
    expect(edited).to_have_url(re.compile(r"/rules/guessed$"))
    published = dashboard.get("/v1/processors/guessed")
    assert published["document"]["severity"] == "low"
    assert "'failed'" in str(published["document"]["pattern"])


def test_a_draft_outlives_a_newer_version_and_a_reload(edited: Page) -> None:
    edited.on("dialog", lambda dialog: dialog.accept())
    expect(conflict_in(edited)).to_be_visible()
    edited.reload()
    expect(edited.get_by_role("textbox", name="The rule")).to_contain_text("'failed'")
    conflict = conflict_in(edited)
    expect(conflict).to_contain_text("severity: low")
    conflict.get_by_role("button", name="Keep my text").click()
    expect(conflict).to_have_count(0)
    expect(edited.get_by_role("textbox", name="The rule")).to_contain_text("'failed'")
    expect(edited.get_by_role("textbox", name="The rule")).not_to_contain_text("severity")


def test_the_version_of_someone_else_can_be_taken(edited: Page, dashboard: ServedDashboard) -> None:
    conflict = conflict_in(edited)
    conflict.get_by_role("button", name="Take theirs").click()
    expect(conflict).to_have_count(0)
    expect(edited.get_by_role("textbox", name="The rule")).to_contain_text("severity: low")
    expect(edited.get_by_role("textbox", name="The rule")).not_to_contain_text("'failed'")
    assert dashboard.get("/v1/processors/guessed")["version"] == 2


def test_all_three_texts_and_the_merged_one_are_seen_before_anything_is_applied(
    edited: Page,
) -> None:
    conflict = conflict_in(edited)
    conflict.get_by_role("button", name="Side by side").click()
    parts = conflict.locator(".three-way > li")
    expect(parts).to_have_count(2)
    by_them, by_you = parts.first, parts.last
    expect(by_them).to_contain_text("Changed by them")
    expect(by_them.locator("section")).to_contain_text(["no lines", "severity: low", "no lines"])
    expect(by_you).to_contain_text("You changed this")
    expect(by_you.locator("section")).to_contain_text(["'fail'", "'fail'", "'failed'"])
    assert not violations(edited)
    conflict.get_by_role("button", name="Merged").click()
    expect(conflict).to_contain_text("Everything could be merged.")
    expect(conflict.locator("tr.added")).to_contain_text(["'failed'"])
    expect(conflict.locator("tr.removed")).not_to_contain_text(["severity"])
    assert not violations(edited)


def test_what_cannot_be_merged_is_marked_and_cannot_be_published(
    edited: Page, dashboard: ServedDashboard
) -> None:
    steps = [PATTERN["steps"][0] | {"where": "action = 'denied'"}, PATTERN["steps"][1]]
    dashboard.publish(processor_document(id="guessed", pattern=PATTERN | {"steps": steps}))
    conflict = conflict_in(edited)
    expect(conflict).to_contain_text("1 part could not be merged", timeout=120_000)
    conflict.get_by_role("button", name="Side by side").click()
    part = conflict.locator(".three-way > li.conflict")
    expect(part.locator("section")).to_contain_text(["'fail'", "'denied'", "'failed'"])
    conflict.get_by_role("button", name="Merged").click()
    expect(conflict.locator("tr.conflict-mark")).to_have_count(4)
    assert not violations(edited)
    conflict.get_by_role("button", name="Apply mine and mark conflicts").click()
    expect(conflict).to_have_count(0)
    text = edited.get_by_role("textbox", name="The rule")
    expect(text).to_contain_text("<<<<<<< theirs")
    expect(text).to_contain_text("'denied'")
    expect(text).to_contain_text("'failed'")
    expect(edited.locator(".draft-problems")).to_contain_text("1 error")
    expect(publish_button(edited)).to_be_disabled()


@pytest.mark.parametrize(
    ("base", "mine", "theirs", "both"),
    [
        ("a b c d e", "A b c d e", "a b c d E", "A b c d E"),
        ("a b c d e", "a b c d e", "a x c d e", "a x c d e"),
        ("a b c d e", "a X c d e", "a X c d e", "a X c d e"),
        ("a b c d e", "a X c d e", "a Y c d e", None),
        ("a b c d e", "a X c d e", "a b Y d e", None),
        ("a b c d e", "b c d e", "a b c d e f", "b c d e f"),
        ("a b c d e", "a b n c d e", "a b c d", "a b n c d"),
        ("a b c d e", "a b n c d e", "a b m c d e", None),
    ],
)
def test_two_changes_of_one_text(
    editor: Page, base: str, mine: str, theirs: str, both: str | None
) -> None:
    lines = [text.replace(" ", "\n") for text in (base, mine, theirs)]
    found = editor.evaluate(
        "async (texts) => (await import('/assets/any/js/editor/merge.js')).merged(...texts)", lines
    )
    assert found == (None if both is None else both.replace(" ", "\n"))


def test_merged_parts_hold_all_of_the_three_texts(editor: Page) -> None:
    chance = Random(7)  # noqa: S311  # no secret, and the same texts every time
    made = []
    for _ in range(400):
        base = [chance.choice("abc") for _ in range(chance.randint(1, 9))]
        made.append(["\n".join(each) for each in (base, other(chance, base), other(chance, base))])
    found = editor.evaluate(
        """async (all) => {
          const { mergedParts, markedText } = await import('/assets/any/js/editor/merge.js');
          return all.map((texts) => {
            const parts = mergedParts(...texts);
            return [parts, markedText(parts), mergedParts(texts[0], texts[2], texts[1])];
          });
        }""",
        made,
    )
    swapped = {"mine": "theirs", "theirs": "mine"}
    conflicts = 0
    for texts, (parts, text, mirrored) in zip(made, found, strict=True):
        for name, whole in zip(("base", "mine", "theirs"), texts, strict=True):
            assert [line for part in parts for line in part[name]] == whole.split("\n")
        assert [part["by"] for part in mirrored] == [swapped.get(p["by"], p["by"]) for p in parts]
        for part in parts:
            assert (part["by"] == "conflict") == (
                part["mine"] != part["theirs"]
                and part["base"] not in (part["mine"], part["theirs"])
            )
        if texts[0] == texts[1]:
            assert text == texts[2]
        conflicts += any(part["by"] == "conflict" for part in parts)
    assert 20 < conflicts < 400


def other(chance: Random, lines: list[str]) -> list[str]:
    """Return lines with up to two changes."""
    changed = list(lines)
    for _ in range(chance.randint(0, 2)):
        at = chance.randrange(len(changed) + 1)
        changed[at : at + chance.randint(0, 2)] = chance.choices("abxy", k=chance.randint(0, 2))
    return changed or ["a"]
