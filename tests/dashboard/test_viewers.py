"""Who only looks sees every page, and on none of them a button for what may not be done."""

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from contract.service.tokens import Role
from tests.dashboard.every_page import every_path, open_page
from tests.dashboard.reporting_job import ReportingJob
from tests.dashboard.serving import RULE, ServedDashboard

# Each of them is clicked by somebody else in the test of its page.
CHANGING = re.compile(
    "^(Pause|More actions|Roll back to version.*|Upload…|Add or remove…|Remove ana|Cancel.*"
    "|New list|Change values…|Promote…|Run backtest|Explain)$"
)


def test_no_page_has_a_button_for_what_a_viewer_may_not_do(
    page_of: Callable[[Role], Page], dashboard: ServedDashboard, reporting_job: ReportingJob
) -> None:
    paths = every_path(dashboard, reporting_job)
    paths += [f"{RULE}?tab=versions", f"{RULE}?tab=matches", f"{RULE}?tab=backtests"]
    page = page_of(Role.VIEWER)
    # What was deleted answers 404; the list of matches is paused for oneself alone.
    for path in (each for each in paths if not each.endswith(("/deleted", "/matches"))):
        open_page(page, path)
        expect(page.get_by_role("button", name=CHANGING)).to_have_count(0)
        expect(page.get_by_role("link", name=re.compile("^(Edit|New rule)$"))).to_have_count(0)
        expect(page.locator(".rules-table input[type=checkbox]")).to_have_count(0)
        if path.endswith(("/new-rule", "/edit")):
            expect(page.get_by_text("Your role is read-only")).to_be_visible()
        if path.endswith("/lists/vip"):
            expect(page.get_by_role("link", name="Download")).to_be_visible()
