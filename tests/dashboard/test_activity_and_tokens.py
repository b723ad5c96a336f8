"""The change log is read and filtered; admins make and revoke tokens."""

import re
from collections.abc import Callable
from typing import get_args

import pytest
from playwright.sync_api import Browser, Page, expect

from api.audit.actions import Action, RuleAction
from api.dashboard.assets import STATIC_FOLDER
from cep.instants import iso_text
from contract.service.tokens import Role
from tests.api.documents import processor_document
from tests.dashboard.browsing import guarded_page, have_signed_in
from tests.dashboard.serving import ServedDashboard

DAY_MS = 86_400_000


def test_the_log_says_who_did_what_and_why(admin_page: Page, dashboard: ServedDashboard) -> None:
    dashboard.publish(processor_document())
    dashboard.post("/v1/processors/failed-logins/pause", comment="too noisy")
    admin_page.goto("/activity")

    newest = admin_page.get_by_role("main").get_by_role("listitem").first
    expect(newest).to_contain_text("admin token paused failed-logins")
    expect(newest).to_contain_text("too noisy")
    expect(newest).to_contain_text("epoch 3")

    admin_page.get_by_label("What").select_option("processor.create")
    expect(admin_page.get_by_role("main").get_by_role("listitem")).to_have_count(1)
    expect(admin_page).to_have_url(f"{dashboard.url}/activity?action=processor.create")
    admin_page.get_by_label("Rule id").fill("another-rule")
    expect(admin_page.get_by_text("No changes match these filters.")).to_be_visible()
    admin_page.get_by_role("button", name="Clear").click()
    expect(newest).to_contain_text("too noisy")


def test_the_log_tells_times_as_the_other_pages_do_and_details_apart(
    browser: Browser, dashboard: ServedDashboard
) -> None:
    dashboard.publish(processor_document())
    until = iso_text(dashboard.clock() + 90 * DAY_MS)
    snoozed = {"until": until, "key": "eve"}
    dashboard.post("/v1/processors/failed-logins/snoozes", snoozed)
    asked = {"processor_id": "failed-logins", "against": None, "since": None, "until": None}
    dashboard.post("/v1/backtests", asked)
    dashboard.ask_approvals()
    zone = {"timezone_id": "Europe/Berlin", "locale": "en-GB"}
    with guarded_page(browser, dashboard.url, **zone) as (page, _guard):
        have_signed_in(page, dashboard.url, dashboard.token_of[Role.ADMIN])
        page.goto("/activity")
        approvals, backtest, snooze = (
            page.locator(".changes .what").nth(each) for each in range(3)
        )
        expect(snooze).to_contain_text("admin token snoozed failed-logins")
        local = re.compile(r"^key eve, until \d+ \w+( \d{4})?, \d\d:\d\d:\d\d$")
        expect(snooze.locator(".details")).to_have_text(local)
        expect(backtest.locator(".details > span")).to_have_text(["version 1", "backtest 1"])
        expect(backtest.get_by_role("link", name="backtest 1")).to_be_visible()
        expect(approvals).to_contain_text("changed the approvals required on logins")
        expect(page.locator(".changes")).not_to_contain_text(until[:10])


def test_the_log_is_paged(admin_page: Page, dashboard: ServedDashboard) -> None:
    for number in range(60):
        dashboard.client.post("/v1/tokens", json={"name": f"token-{number}", "role": "viewer"})
    admin_page.goto("/activity?action=token.create&actor=admin token")
    items = admin_page.get_by_role("main").get_by_role("listitem")
    expect(items).to_have_count(50)
    admin_page.get_by_role("button", name="Next").click()
    expect(items).to_have_count(10)
    admin_page.get_by_role("button", name="Back").click()
    expect(items.first).to_contain_text("token-59")
    size = admin_page.get_by_label("Rows on a page")
    size.select_option("100")
    expect(items).to_have_count(60)
    size.select_option("25")
    expect(items).to_have_count(25)


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("/activity", "action=token.create"),
        ("/proposals", "state=rejected"),
        ("/streams/logins/rules", "owner=fraud&sort=-updated_at"),
        ("/streams/logins/matches", "kind=timeout"),
    ],
)
def test_filters_are_kept_under_a_name(admin_page: Page, path: str, query: str) -> None:
    admin_page.goto(f"{path}?{query}")
    admin_page.get_by_role("button", name="Saved views").click()
    admin_page.get_by_role("button", name="Save this view").click()
    dialog = admin_page.get_by_role("dialog", name="Save this view")
    dialog.get_by_label("Name").fill("Of the night")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_have_count(0)
    admin_page.goto(path)
    admin_page.get_by_role("button", name="Saved views").click()
    admin_page.get_by_role("link", name="Of the night").click()
    expect(admin_page).to_have_url(re.compile(re.escape(f"{path}?{query}")))


def test_an_admin_makes_a_token_sees_it_once_and_revokes_it(
    admin_page: Page, dashboard: ServedDashboard
) -> None:
    admin_page.goto("/tokens")
    admin_page.get_by_role("button", name="New token").click()
    admin_page.get_by_label("Name").fill("Jürgen Müller")
    admin_page.get_by_label("Role").select_option("publisher")
    admin_page.get_by_role("button", name="Create token").click()
    text = admin_page.get_by_label("The token", exact=True).text_content()
    assert text
    assert text.startswith("percept_")
    bearer = {"Authorization": f"Bearer {text}"}
    assert dashboard.client.get("/v1/streams", headers=bearer).status_code == 200

    admin_page.get_by_role("button", name="I have copied it").click()
    expect(admin_page.get_by_text(text)).to_have_count(0)
    row = admin_page.get_by_role("row", name="Jürgen Müller")
    expect(row).to_contain_text("publisher")
    row.get_by_role("button", name="Revoke").click()
    admin_page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(row).to_contain_text("revoked")
    assert dashboard.client.get("/v1/streams", headers=bearer).status_code == 401


def test_others_are_told_that_tokens_and_webhooks_are_for_admins(
    page_of: Callable[[Role], Page],
) -> None:
    page = page_of(Role.PUBLISHER)
    expect(page.get_by_role("link", name="Tokens")).to_have_count(0)
    for path in ("/tokens", "/webhooks"):
        page.goto(path)
        expect(page.get_by_text("For admins only")).to_be_visible()


def _names(actions: object) -> list[str]:
    """Return the names of a union of literals, all in one list."""
    return [
        name
        for each in get_args(actions)
        for name in ([each] if isinstance(each, str) else _names(each))
    ]


@pytest.mark.parametrize(
    ("module", "actions"),
    [("activity/change.js", Action), ("rule/changes.js", RuleAction)],
)
def test_every_action_of_the_log_has_words(module: str, actions: object) -> None:
    text = (STATIC_FOLDER / "js" / module).read_text(encoding="utf-8")
    words = dict(re.findall(r'^  "([a-z]+\.[a-z]+)": "([^"]+)",$', text, re.MULTILINE))
    assert sorted(words) == sorted(_names(actions))


def test_words_of_the_code_on_a_page_are_noticed(
    browser: Browser, dashboard: ServedDashboard
) -> None:
    with guarded_page(browser, dashboard.url) as (page, guard):
        page.goto("/sign-in")
        page.get_by_label("Access token").wait_for()
        page.evaluate("document.body.append(document.createElement('code'))")
        page.evaluate("document.querySelector('code').append('a processor in code')")
        assert guard.seen == []
        with page.expect_console_message():
            page.evaluate("document.querySelector('h1').append(' to a Processor')")
        (told,) = guard.seen
        assert "words of the code on the page: to a Processor" in told
        guard.seen.clear()
