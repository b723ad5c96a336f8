"""Whoever goes back finds a page where it was left."""

from playwright.sync_api import Page, expect

from tests.api.documents import processor_document
from tests.dashboard.serving import ServedDashboard
from tests.patience import eventually

RULES = "/streams/logins/rules"
PLACE = "Math.round(scrollY)"


def expect_place(page: Page, pixels: int) -> None:
    eventually(lambda: page.evaluate(PLACE) == pixels)


def _publish_many(dashboard: ServedDashboard) -> None:
    for number in range(60):
        dashboard.publish(processor_document(id=f"rule-{number:02}", tags=["cards"]))


def test_a_list_is_gone_back_to_where_it_was_left(
    admin_page: Page, dashboard: ServedDashboard
) -> None:
    _publish_many(dashboard)
    admin_page.goto(RULES)
    rule = admin_page.get_by_role("link", name="rule-30", exact=True)
    rule.scroll_into_view_if_needed()
    left = admin_page.evaluate(PLACE)
    assert left > 0
    rule.click()
    expect(admin_page.get_by_role("heading", name="rule-30", level=1)).to_be_visible()
    assert admin_page.evaluate(PLACE) == 0
    admin_page.evaluate("scrollTo(0, 300)")

    admin_page.go_back()
    expect_place(admin_page, left)
    expect(rule).to_be_in_viewport()
    admin_page.go_forward()
    expect_place(admin_page, 300)
    admin_page.go_back()
    expect_place(admin_page, left)
    admin_page.reload()
    expect_place(admin_page, left)


def test_a_page_of_a_list_is_gone_back_to_where_it_was_left(
    admin_page: Page, dashboard: ServedDashboard
) -> None:
    _publish_many(dashboard)
    admin_page.goto(f"{RULES}?rows=25")
    admin_page.get_by_role("link", name="rule-24", exact=True).wait_for()
    admin_page.evaluate("scrollTo(0, document.body.scrollHeight)")
    left = admin_page.evaluate(PLACE)
    admin_page.locator(".pager").get_by_role("button", name="Next").click()
    admin_page.get_by_role("link", name="rule-49", exact=True).wait_for()
    assert admin_page.evaluate(PLACE) < left
    admin_page.go_back()
    admin_page.get_by_role("link", name="rule-24", exact=True).wait_for()
    expect_place(admin_page, left)
