"""Webhooks are made, tested and looked after, in a browser."""

from playwright.sync_api import Page, expect

from tests.api.documents import processor_document
from tests.dashboard.accessibility import violations
from tests.dashboard.serving import ServedDashboard


def test_a_webhook_is_made_tested_and_deleted(admin_page: Page, dashboard: ServedDashboard) -> None:
    dashboard.publish(processor_document())
    admin_page.goto("/tokens")
    admin_page.get_by_role("link", name="Webhooks").click()
    expect(admin_page.get_by_text("No webhooks yet")).to_be_visible()
    admin_page.get_by_role("button", name="New webhook").click()
    dialog = admin_page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("on call")
    dialog.get_by_label("a proposal is waiting for approval").uncheck()
    dialog.get_by_label("Address").fill("https://127.0.0.1/hook")
    assert violations(admin_page) == []
    dialog.get_by_role("button", name="Create webhook").click()
    expect(dialog).to_contain_text("whsec_")
    dialog.get_by_role("button", name="I have copied it").click()
    (made,) = dashboard.get("/v1/webhooks")
    assert "approval.asked" not in made["events"]

    admin_page.get_by_role("link", name="on call").click()
    admin_page.get_by_role("button", name="Send a test").click()
    messages = admin_page.get_by_role("table").nth(1)
    expect(messages).to_contain_text("webhook.test")
    expect(messages).to_contain_text("it has an address that is not public", timeout=20_000)
    messages.get_by_role("button", name="Show message").click()
    expect(dialog).to_contain_text('"type":"webhook.test"')
    admin_page.keyboard.press("Escape")
    assert violations(admin_page) == []
    admin_page.get_by_role("button", name="Disable").click()
    expect(admin_page.get_by_role("table").first).to_contain_text("disabled")
    admin_page.get_by_role("button", name="Delete…").click()
    dialog.get_by_role("button", name="Delete").click()
    expect(admin_page.get_by_text("No webhooks yet")).to_be_visible()
