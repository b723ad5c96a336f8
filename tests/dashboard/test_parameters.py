"""The parameters of a rule on its page: shown, given other values, refused with the reason."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.api.documents import processor_document
from tests.dashboard.accessibility import violations
from tests.dashboard.browsing import Guard
from tests.dashboard.serving import MARKUP, RULE, ServedDashboard

PARAMETERS: dict[str, Any] = {
    "least": {"type": "DOUBLE", "value": 100, "min": 0, "description": "What is large"},
    "action": {"type": "STRING", "value": "fail", "values": ["fail", "lock"]},
    "strict": {"type": "BOOLEAN", "value": False},
    "users": {"type": "ARRAY<STRING>", "value": ["ana", MARKUP]},
    "user": {"type": "STRING", "value": MARKUP, "description": "\u202eright" + "long" * 60},
}


@pytest.fixture(autouse=True)
def published(dashboard: ServedDashboard) -> None:
    where = "action = :action AND (amount > :least OR :strict) AND user <> :user"
    where += " AND user NOT IN :users"
    pattern = {"parameters": PARAMETERS, "steps": [{"name": "a", "where": where}]}
    dashboard.publish(processor_document(pattern=pattern))


def test_values_are_shown_and_changed(
    admin_page: Page, guard: Guard, dashboard: ServedDashboard
) -> None:
    admin_page.goto(RULE)
    card = admin_page.locator(".card", has=admin_page.get_by_role("heading", name="Parameters"))
    expect(card).to_contain_text(MARKUP)
    expect(card).to_contain_text("0 or more")
    assert not violations(admin_page)

    admin_page.get_by_role("button", name="Change values…").click()
    dialog = admin_page.get_by_role("dialog")
    expect(dialog.get_by_label("user", exact=True)).to_have_value(MARKUP)
    assert not violations(admin_page)
    guard.expect(422)
    dialog.get_by_label("least", exact=True).fill("-1")
    dialog.get_by_role("button", name="Publish").click()
    expect(dialog).to_contain_text("-1 is below the minimum")
    dialog.get_by_label("least", exact=True).fill("120.5")
    dialog.get_by_label("action", exact=True).select_option("lock")
    dialog.get_by_label("users", exact=True).fill(f"{MARKUP}\nit's\n\n")
    dialog.get_by_label("strict", exact=True).select_option("true")
    dialog.get_by_role("button", name="Publish").click()
    expect(dialog).not_to_be_visible()
    expect(card).to_contain_text("120.5")

    after = dashboard.client.get("/v1/processors/failed-logins").json()
    values = {
        name: each["value"] for name, each in after["document"]["pattern"]["parameters"].items()
    }
    assert values.pop("users") == [MARKUP, "it's"]
    assert values == {"least": 120.5, "action": "lock", "strict": True, "user": MARKUP}
    assert after["version"] == 2


def test_other_values_are_proposed_where_changes_are_approved(
    admin_page: Page, dashboard: ServedDashboard
) -> None:
    dashboard.ask_approvals()
    admin_page.goto(RULE)
    admin_page.get_by_role("button", name="Change values").click()
    dialog = admin_page.get_by_role("dialog")
    expect(dialog).to_contain_text("must be approved by 1 other person")
    dialog.get_by_label("least", exact=True).fill("250")
    dialog.get_by_role("button", name="Propose").click()
    expect(admin_page.get_by_role("heading", name="Proposal 1")).to_be_visible()
    assert dashboard.get("/v1/processors/failed-logins")["version"] == 1
    (proposal,) = dashboard.get("/v1/proposals")["items"]
    document = dashboard.get(f"/v1/proposals/{proposal['id']}")["document"]
    assert document["pattern"]["parameters"]["least"]["value"] == 250
