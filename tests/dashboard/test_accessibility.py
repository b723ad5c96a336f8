"""No page has an accessibility problem or scrolls sideways, in light or dark, wide or narrow."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from contract.service.tokens import Role
from tests.dashboard.accessibility import violations
from tests.dashboard.browsing import Guard, guarded_page, have_signed_in, sign_in
from tests.dashboard.every_page import LONG_ID, every_path, open_page
from tests.dashboard.reporting_job import ReportingJob
from tests.dashboard.serving import RULE, ServedDashboard

SIZES = {"wide": (1440, 900), "narrow": (390, 844)}
AT_FIRST = ("light", "narrow")
"""The others take long."""
_MORE = "More actions"
DIALOGS = {
    RULE: (
        "Pause",
        _MORE,
        f"{_MORE} > Snooze…",
        f"{_MORE} > Schedule a version…",
        f"{_MORE} > Delete…",
    ),
    f"/streams/logins/rules/{LONG_ID}": (f"{_MORE} > Roll back…",),
    "/streams/logins/rules/noisy": ("Resume",),
    "/streams/logins/rules/deleted": ("Restore…",),
    "/streams/logins/rules": ("Saved views", "Columns", "Saved views > Save this view…"),
    f"{RULE}/edit": ("Publish…",),
    "/streams/logins/lists": ("New list",),
    "/streams/logins/lists/vip": (
        "Upload…",
        "Add or remove…",
        f"{_MORE} > Describe…",
        f"{_MORE} > Delete…",
    ),
    "/tokens": ("New token",),
    "/webhooks": ("New webhook",),
    "/proposals": ("Change…",),
}
"""Pages and the buttons that open something over them, one after the other."""
TWO_LINES = 2
WIDTHS = (320, 390, 768, 900, 1100, 1280, 1440, 1600)
OF_LAPTOPS = 1280
JOB = "fraud-detection-production-eu-central-1"
SETTLING_LOOKS = 50
TOO_WIDE = """() => [...document.querySelectorAll(".table-scroll, .figure, .rules-table td *")]
  .filter((each) => {
    const { overflowX, display } = getComputedStyle(each);
    const isCut = overflowX !== "visible" && !each.matches(".table-scroll");
    return each.scrollWidth > each.clientWidth + 1 && !isCut && display !== "inline";
  })
  .map((each) => {
    const words = each.textContent.trim().slice(0, 60);
    return `${each.className} ${each.scrollWidth} > ${each.clientWidth} ${words}`;
  })
"""
# The time after which a page appears unfinished: a busy machine may need longer.
_AS_LONG_AS_IT_TAKES = """
const timeout = window.setTimeout;
window.setTimeout = (call, ms, ...rest) => (ms === 2000 ? 0 : timeout(call, ms, ...rest));
"""
_SHIFTS = """
window.shifts = [];
new PerformanceObserver((list) => {
  for (const shift of list.getEntries().filter((each) => !each.hadRecentInput)) {
    const places = shift.sources.map(({ node }) => node?.className ?? node?.nodeName);
    window.shifts.push([shift.value, places.join(", ")]);
  }
}).observe({ type: "layout-shift", buffered: true });
"""
MOST_SHIFT = 0.1
"""What counts as good."""


@pytest.fixture
def paths(dashboard: ServedDashboard, start_job: Callable[..., ReportingJob]) -> list[str]:
    return every_path(dashboard, start_job(JOB))


@pytest.fixture
def coloured_page(
    request: pytest.FixtureRequest, browser: Browser, dashboard: ServedDashboard
) -> Iterator[Page]:
    with guarded_page(browser, dashboard.url, color_scheme=request.param) as (page, guard):
        guard.expect(404)  # of a rule that was deleted its versions are left
        yield page


@pytest.mark.parametrize(
    ("coloured_page", "size"),
    [
        pytest.param(
            scheme, size, marks=[] if (scheme, size) == AT_FIRST else [pytest.mark.nightly]
        )
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
    found = violations(page)
    sign_in(page, dashboard.token_of[Role.ADMIN])
    for path in paths:
        open_page(page, path)
        found += violations(page)
    assert found == [], "\n".join(found)


def test_no_page_scrolls_sideways_and_no_table_at_the_width_of_a_laptop(
    admin_page: Page, guard: Guard, paths: list[str]
) -> None:
    guard.expect(404)
    found = []
    for path in paths:
        open_page(admin_page, path)
        for width in WIDTHS:
            admin_page.set_viewport_size({"width": width, "height": 844})
            found += _too_wide(admin_page, path, width)
            if width >= OF_LAPTOPS:
                found += [f"{path} at {width}: {it}" for it in admin_page.evaluate(TOO_WIDE)]
    assert found == [], "\n".join(found)


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_moves_while_a_page_comes(
    admin_page: Page, guard: Guard, paths: list[str], width: int
) -> None:
    guard.expect(404)
    admin_page.set_viewport_size({"width": width, "height": 844})
    admin_page.add_init_script(_AS_LONG_AS_IT_TAKES + _SHIFTS)
    found = []
    for path in paths:
        open_page(admin_page, path)
        shifts = admin_page.evaluate("shifts")
        if sum(value for value, _ in shifts) >= MOST_SHIFT:
            found.append(f"{path}: {shifts}")
    assert found == [], "\n".join(found)


def _too_wide(page: Page, path: str, width: int) -> list[str]:
    """Return what is wrong with the width of a page once it has taken that of the screen."""
    for _ in range(SETTLING_LOOKS):
        needed = page.evaluate("document.documentElement.scrollWidth")
        if needed <= width:
            return []
        page.wait_for_timeout(100)
    return [f"{path} is {needed} px wide on a screen of {width}"]


@pytest.mark.parametrize(
    "path", ["/proposals", "/webhooks", "/streams/logins/lists/vip?tab=rules", "/"]
)
@pytest.mark.usefixtures("paths")
def test_an_id_stays_on_one_line(admin_page: Page, path: str) -> None:
    open_page(admin_page, path)
    names = admin_page.locator(".table td.name a")
    expect(names.first).to_be_visible()
    heights = names.evaluate_all(
        "all => all.map((it) => it.offsetHeight / parseFloat(getComputedStyle(it).lineHeight))"
    )
    assert max(heights) < TWO_LINES
    assert all(names.evaluate_all("all => all.map((each) => each.title)"))


@pytest.mark.parametrize(
    "coloured_page",
    [pytest.param("dark"), pytest.param("light", marks=pytest.mark.nightly)],
    indirect=True,
)
@pytest.mark.usefixtures("paths")
def test_no_dialog_or_menu_has_an_accessibility_problem(
    coloured_page: Page, dashboard: ServedDashboard
) -> None:
    page = coloured_page
    have_signed_in(page, dashboard.url, dashboard.token_of[Role.ADMIN])
    found = []
    for path, buttons in DIALOGS.items():
        open_page(page, path)
        for names in buttons:
            for name in names.split(" > "):
                page.get_by_role("button", name=name, exact=True).first.click()
            expect(page.get_by_role("dialog").or_(page.locator(".menu > .items"))).to_be_visible()
            found += violations(page)
            page.keyboard.press("Escape")
            expect(page.get_by_role("dialog").or_(page.locator(".menu > .items"))).to_have_count(0)
    assert found == [], "\n".join(found)


def test_dialogs_and_menus_work_by_keyboard_alone(admin_page: Page) -> None:
    admin_page.goto("/tokens")
    admin_page.get_by_role("button", name="New token").focus()
    admin_page.keyboard.press("Enter")
    dialog = admin_page.get_by_role("dialog", name="New token")
    expect(dialog).to_be_visible()
    assert violations(admin_page) == []
    admin_page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)

    person = admin_page.get_by_role("button", name="Signed in as admin token, admin")
    person.focus()
    admin_page.keyboard.press("Enter")
    admin_page.keyboard.press("ArrowDown")
    expect(admin_page.get_by_role("button", name="Keyboard shortcuts")).to_be_focused()
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
