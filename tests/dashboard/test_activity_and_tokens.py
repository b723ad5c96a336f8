"""The change log is read and filtered; admins make and revoke tokens."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

from api.access.authentication import Role
from tests.api.documents import processor_document
from tests.dashboard.browsing import Guard
from tests.dashboard.serving import ServedDashboard


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


def test_an_admin_makes_a_token_sees_it_once_and_revokes_it(
    admin_page: Page, dashboard: ServedDashboard
) -> None:
    admin_page.goto("/tokens")
    admin_page.get_by_role("button", name="New token").click()
    admin_page.get_by_label("Name").fill("night shift")
    admin_page.get_by_label("Role").select_option("publisher")
    admin_page.get_by_role("button", name="Create token").click()
    text = admin_page.get_by_label("The token", exact=True).text_content()
    assert text
    assert text.startswith("percept_")
    bearer = {"Authorization": f"Bearer {text}"}
    assert dashboard.client.get("/v1/streams", headers=bearer).status_code == 200

    admin_page.get_by_role("button", name="I have copied it").click()
    expect(admin_page.get_by_text(text)).to_have_count(0)
    row = admin_page.get_by_role("row", name="night shift")
    expect(row).to_contain_text("publisher")
    row.get_by_role("button", name="Revoke").click()
    admin_page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(row).to_contain_text("revoked")
    assert dashboard.client.get("/v1/streams", headers=bearer).status_code == 401


def test_a_mistake_is_told_in_the_dialog(admin_page: Page, guard: Guard) -> None:
    guard.expect(422)
    admin_page.goto("/tokens")
    admin_page.get_by_role("button", name="New token").click()
    admin_page.get_by_label("Name").fill("no/slashes")
    admin_page.get_by_role("button", name="Create token").click()
    expect(admin_page.get_by_role("alert")).to_contain_text("/name")


def test_others_are_told_that_tokens_are_for_admins(page_of: Callable[[Role], Page]) -> None:
    page = page_of(Role.PUBLISHER)
    expect(page.get_by_role("link", name="Tokens")).to_have_count(0)
    page.goto("/tokens")
    expect(page.get_by_text("For admins only")).to_be_visible()
