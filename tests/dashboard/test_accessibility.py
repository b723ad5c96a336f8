"""No page has a serious accessibility problem, in light or dark, wide or narrow."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from api.access.authentication import Role
from tests.api.documents import processor_document
from tests.dashboard.accessibility import serious_violations
from tests.dashboard.browsing import guarded_page, sign_in
from tests.dashboard.reporting_job import ReportingJob
from tests.dashboard.serving import ServedDashboard

SIZES = {"wide": (1440, 900), "narrow": (390, 844)}
AT_FIRST = ("light", "narrow")
"""The others take long."""
PATHS = (
    "/",
    "/activity",
    "/tokens",
    "/streams/logins/rules",
    "/streams/logins/new-rule",
    "/streams/logins/rules/failed-logins",
    "/streams/logins/rules/failed-logins/edit",
    "/streams/logins/matches",
    "/streams/logins/matches/{match_id}",
    "/streams/logins/jobs/main",
)


@pytest.fixture
def paths(dashboard: ServedDashboard, reporting_job: ReportingJob) -> list[str]:
    """The paths of all pages, with something on each."""
    dashboard.publish(processor_document(severity="high", tags=["cards"], owner="fraud"))
    dashboard.publish(processor_document(id="broken"))
    dashboard.publish(processor_document(id="noisy"))
    dashboard.post("/v1/processors/noisy/pause", comment="too noisy")
    reporting_job.run_batch()
    match = reporting_job.find("failed-logins", 1)
    reporting_job.quarantine("broken", 1, "ValueError: no", "Traceback …\nValueError: no")
    reporting_job.beat()
    return [path.format(match_id=match.match_id) for path in PATHS]


@pytest.fixture
def coloured_page(
    request: pytest.FixtureRequest, browser: Browser, dashboard: ServedDashboard
) -> Iterator[Page]:
    """A page that nobody is signed in to, in a colour scheme."""
    with guarded_page(browser, dashboard.url, color_scheme=request.param) as (page, _guard):
        yield page


@pytest.mark.parametrize(
    ("coloured_page", "size"),
    [
        pytest.param(scheme, size, marks=[] if (scheme, size) == AT_FIRST else [pytest.mark.long])
        for scheme in ("light", "dark")
        for size in SIZES
    ],
    indirect=["coloured_page"],
)
def test_no_page_has_a_serious_accessibility_problem(
    coloured_page: Page, size: str, paths: list[str], dashboard: ServedDashboard
) -> None:
    page = coloured_page
    width, height = SIZES[size]
    page.set_viewport_size({"width": width, "height": height})
    page.goto("/sign-in")
    page.get_by_label("Access token").wait_for()
    found = serious_violations(page)
    sign_in(page, dashboard.token_of[Role.ADMIN])
    for path in paths:
        _open(page, path)
        found += serious_violations(page)
        too_wide = page.evaluate("document.documentElement.scrollWidth > innerWidth")
        found += [f"{path} is wider than the screen"] if too_wide else []
    assert found == [], "\n".join(found)


def test_dialogs_and_menus_work_by_keyboard_alone(admin_page: Page) -> None:
    admin_page.goto("/tokens")
    admin_page.get_by_role("button", name="New token").focus()
    admin_page.keyboard.press("Enter")
    dialog = admin_page.get_by_role("dialog", name="New token")
    expect(dialog).to_be_visible()
    assert serious_violations(admin_page) == []
    admin_page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)

    person = admin_page.get_by_role("button", name="Signed in as admin token, admin")
    person.focus()
    admin_page.keyboard.press("Enter")
    admin_page.keyboard.press("ArrowDown")
    expect(admin_page.get_by_role("button", name="Sign out")).to_be_focused()
    admin_page.keyboard.press("Escape")
    expect(person).to_be_focused()


def test_the_first_stop_of_the_keyboard_leads_past_the_bar(admin_page: Page) -> None:
    admin_page.goto("/activity")
    admin_page.get_by_role("heading", name="Activity").wait_for()
    admin_page.keyboard.press("Tab")
    expect(admin_page.get_by_role("link", name="Skip to content")).to_be_focused()
    admin_page.keyboard.press("Enter")
    expect(admin_page.locator("main")).to_be_focused()


def _open(page: Page, path: str) -> None:
    page.goto(path)
    page.locator("main h1, main h2").first.wait_for()
    expect(page.get_by_text("Loading")).to_have_count(0)
    expect(page.locator(".refreshing")).to_have_count(0)
