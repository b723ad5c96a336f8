"""The service is away, a page does not load, a session ends: said once, mended by itself."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Page, Route, expect

from contract.service.tokens import Role
from tests.api.documents import PATTERN, RULE_TEXT, processor_document
from tests.dashboard.browsing import Guard, sign_in, write
from tests.dashboard.reporting_job import ReportingJob
from tests.dashboard.serving import RULE, ServedDashboard

AWAY = re.compile(r"/v1/|/session$")


@contextmanager
def outage(
    page: Page, guard: Guard, answer: Callable[[Route], None] = lambda route: route.abort()
) -> Iterator[None]:
    """Let no data of the service be reached; scripts are, as from the cache of a browser."""
    page.route(AWAY, answer)
    yield
    page.unroute(AWAY, answer)
    guard.seen.clear()  # requests failed, and the browser says so


def expect_one_banner(page: Page) -> None:
    expect(page.locator(".connection-lost")).to_have_count(1)
    expect(page.locator(".problem")).to_have_count(0)
    expect(page.locator(".toast")).to_have_count(0)


@pytest.mark.parametrize("case", [("/", 503), (RULE, 502), (RULE, 504)])
def test_where_only_a_proxy_answers_there_is_one_banner_and_no_problem(
    admin_page: Page,
    guard: Guard,
    dashboard: ServedDashboard,
    reporting_job: ReportingJob,
    case: tuple[str, int],
) -> None:
    path, status = case
    dashboard.publish(processor_document())
    reporting_job.run_batch()
    admin_page.goto(path)
    expect(admin_page.get_by_text("failed-logins").first).to_be_visible()
    with outage(admin_page, guard, lambda route: route.fulfill(status=status, body="<h1>Bad</h1>")):
        expect(admin_page.locator(".connection-lost")).to_be_visible()
        # Each part of the page has been asked for since.
        for _ in range(3):
            admin_page.wait_for_event("response", lambda answer: "/v1/" in answer.url)
        expect_one_banner(admin_page)
    expect(admin_page.locator(".connection-lost")).to_have_count(0)
    expect(admin_page.locator(".problem")).to_have_count(0)


SLOW_ANSWERS = """
const read = window.fetch;
window.fetch = async (url, options) => {
  if (String(url).includes("/v1/")) {
    await new Promise((done, gone) => {
      setTimeout(done, 4_000);
      const end = () => gone(new DOMException("gone", "AbortError"));
      options?.signal?.addEventListener("abort", end);
    });
  }
  return read(url, options);
};
"""


@pytest.mark.usefixtures("running_rule")
def test_a_page_is_shown_though_each_answer_takes_longer_than_the_pause_between_two(
    admin_page: Page,
) -> None:
    admin_page.add_init_script(SLOW_ANSWERS)
    admin_page.goto(RULE)
    expect(admin_page.get_by_text("In the job").first).to_be_visible(timeout=60_000)


def test_what_the_service_itself_cannot_do_now_stays_a_problem_until_it_can(
    admin_page: Page, guard: Guard, dashboard: ServedDashboard
) -> None:
    guard.expect(503)
    dashboard.publish(processor_document())
    told = {
        "title": "Service Unavailable",
        "status": 503,
        "detail": "The store cannot be used now.",
    }
    texts = "**/v1/drafts/text"
    admin_page.route(
        texts,
        lambda route: route.fulfill(status=503, json=told, content_type="application/problem+json"),
    )
    admin_page.goto(f"{RULE}?tab=definition")
    expect(admin_page.locator(".problem")).to_contain_text("The store cannot be used now.")
    expect(admin_page.locator(".connection-lost")).to_have_count(0)
    admin_page.unroute(texts)
    expect(admin_page.get_by_label("Definition")).to_contain_text("failed-logins")
    expect(admin_page.locator(".problem")).to_have_count(0)


@pytest.mark.parametrize(
    ("before", "way", "comes"),
    [
        (RULE, "Matches", "text=No matches yet"),
        (RULE, "Edit", ".cm-content"),
        (RULE, "Definition", ".code pre"),
        (RULE, "Versions", ".version-diff"),
        (f"{RULE}?tab=definition", "Now", ".rule-charts .chart"),
        ("/proposals", "publish failed-logins", ".version-diff"),
    ],
)
def test_what_is_opened_during_an_outage_comes_by_itself_afterwards(  # noqa: PLR0913, PLR0917 - fixtures and a case
    admin_page: Page,
    guard: Guard,
    dashboard: ServedDashboard,
    reporting_job: ReportingJob,
    before: str,
    way: str,
    comes: str,
) -> None:
    dashboard.publish(processor_document())
    dashboard.publish(processor_document(pattern=PATTERN | {"within": "1 hour"}))
    proposed = processor_document(pattern=PATTERN | {"within": "2 hours"})
    dashboard.post("/v1/proposals", {"document": proposed})
    reporting_job.run_batch()
    admin_page.goto(before)
    link = admin_page.get_by_role("link", name=way).first
    expect(link).to_be_visible()
    with outage(admin_page, guard):
        link.click()
        expect(admin_page.locator(".connection-lost")).to_be_visible()
        expect(admin_page.locator(comes)).to_have_count(0)
        expect_one_banner(admin_page)
    expect(admin_page.locator(comes).first).to_be_visible()
    expect(admin_page.locator(".connection-lost")).to_have_count(0)


def test_the_streams_to_choose_from_come_after_an_outage(
    admin_page: Page, guard: Guard, dashboard: ServedDashboard
) -> None:
    dashboard.publish(processor_document())
    asked = []

    def only_who_is_signed_in(route: Route) -> None:
        asked.append(route.request.url)
        is_first = len(asked) == 1 and route.request.url.endswith("/session")
        route.fallback() if is_first else route.abort()

    with outage(admin_page, guard, only_who_is_signed_in):
        admin_page.goto("/")
        expect(admin_page.locator(".connection-lost")).to_be_visible()
        expect_one_banner(admin_page)
    expect(admin_page.get_by_label("Stream", exact=True)).to_have_value("logins")
    expect(admin_page.get_by_role("navigation", name="Pages").get_by_text("Rules")).to_be_visible()


def test_a_session_that_ends_is_begun_again_over_the_page_and_nothing_is_lost(
    page: Page, guard: Guard, dashboard: ServedDashboard
) -> None:
    guard.expect(401)
    page.goto("/streams/logins/new-rule")
    expect(page.get_by_text("to open /streams/logins/new-rule")).to_be_visible()
    page.get_by_label("Access token").fill(dashboard.token_of[Role.AUTHOR])
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("textbox", name="The rule").wait_for()
    write(page, RULE_TEXT)
    author = next(each for each in dashboard.get("/v1/tokens") if each["role"] == "author")
    dashboard.client.delete(f"/v1/tokens/{author['id']}")
    page.keyboard.type("severity: low")

    dialog = page.get_by_role("dialog", name="Your session has ended")
    expect(dialog).to_contain_text("expired or was revoked")
    dialog.get_by_label("Access token").fill(dashboard.token_of[Role.PUBLISHER])
    dialog.get_by_role("button", name="Sign in").click()
    expect(dialog).to_have_count(0)
    expect(page.get_by_role("textbox", name="The rule")).to_contain_text("severity: low")
    expect(page.locator(".draft-problems")).to_contain_text("valid")
    page.evaluate("sessionStorage.clear()")


def test_keys_lead_to_pages_and_dialogs_give_the_focus_back(
    page: Page, dashboard: ServedDashboard
) -> None:
    sign_in(page, dashboard.token_of[Role.ADMIN])
    # Keys that lead to pages of a stream do something once it is known which streams there are.
    expect(page.get_by_role("navigation", name="Pages").get_by_text("Rules")).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("r")
    expect(page.get_by_role("heading", name="Rules", exact=True)).to_be_visible()
    page.keyboard.press("/")
    expect(page.get_by_label("Search rules")).to_be_focused()
    page.keyboard.type("n?")  # typed, not obeyed
    expect(page.get_by_label("Search rules")).to_have_value("n?")

    page.get_by_role("heading", name="Rules", exact=True).click()
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(keys).to_contain_text("Search on this page")
    page.keyboard.press("Escape")
    expect(keys).to_have_count(0)

    person = page.get_by_role("button", name="Signed in as admin token, admin")
    person.click()
    page.get_by_role("button", name="Keyboard shortcuts").click()
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    page.keyboard.press("Escape")
    expect(person).to_be_focused()
    page.keyboard.press("n")
    expect(page.get_by_role("heading", name="New rule")).to_be_visible()
