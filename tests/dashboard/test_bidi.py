"""Texts that run from right to left, or say so, reorder nothing in messages, menus and titles."""

from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.api.documents import processor_document
from tests.dashboard.serving import ServedDashboard

# Each goes on to its right in what follows it, or ends an isolation that is not its own.
OVERRIDE = "user\u202e999"
POPPING = "mal\u2069\u202elory"
HEBREW = "\u05e6\u05d5\u05d5\u05ea"
RULES = "/streams/logins/rules"
RULE = f"{RULES}/failed-logins"
# Where the words of a text are on the page, from left to right, as they are drawn.
_DRAWN = """(element) => {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode()) {
    const { data } = walker.currentNode;
    if (walker.currentNode.parentElement.closest("bdi")) continue;
    for (const { index, 0: word } of data.matchAll(/[A-Za-z0-9.?]+/g)) {
      const range = document.createRange();
      range.setStart(walker.currentNode, index);
      range.setEnd(walker.currentNode, index + word.length);
      const [{ left, top }] = range.getClientRects();
      found.push({ word, left, top });
    }
  }
  const below = (one, other) => (Math.abs(one.top - other.top) > 4 ? one.top - other.top : 0);
  const before = (one, other) => below(one, other) || one.left - other.left;
  return [found.map(({ word }) => word), found.toSorted(before).map(({ word }) => word)];
}"""


def expect_in_order(text: Locator) -> None:
    """Our words are drawn in the order in which they are read."""
    expect(text).to_be_visible()
    read, drawn = text.evaluate(_DRAWN)
    assert len(read) > 1
    assert drawn == read


@pytest.fixture
def rules(admin_page: Page, dashboard: ServedDashboard) -> Page:
    """The table of rules whose owners are hostile."""
    for number, owner in enumerate((OVERRIDE, POPPING, HEBREW, "plain")):
        document = processor_document(id=f"rule-{number}", owner=owner)
        dashboard.publish(document)
    admin_page.goto(RULES)
    return admin_page


def test_owners_leave_the_counts_beside_them_in_their_places(rules: Page) -> None:
    owners = rules.get_by_label("Owner", exact=True)
    offered = rules.locator(f"datalist#{owners.get_attribute('list')} option")
    expect(offered).to_have_count(4)
    counted = offered.evaluate_all("all => all.map(({ value, label }) => [value, label])")
    assert sorted(counted) == sorted(
        [each, "1 rule"] for each in (OVERRIDE, POPPING, HEBREW, "plain")
    )
    owners.fill(OVERRIDE)
    owners.press("Enter")
    expect(rules.get_by_role("row")).to_have_count(2)
    expect(rules.get_by_role("row").nth(1)).to_contain_text("rule-0")


def test_a_filter_by_an_owner_can_be_read_and_taken_off(rules: Page) -> None:
    rules.goto(f"{RULES}?owner=nobody%E2%80%AE")
    chip = rules.locator(".chip").filter(has_text="Owner:").first
    expect(chip).to_have_text("Owner: \u2068nobody\u202e\u2069\N{MULTIPLICATION SIGN}")
    chip.get_by_role("button").click()
    expect(rules).to_have_url(f"{rules.url.partition('?')[0]}")


@pytest.mark.parametrize("key", [OVERRIDE, POPPING, HEBREW])
def test_a_message_about_a_key_is_drawn_in_its_order(
    admin_page: Page, dashboard: ServedDashboard, key: str
) -> None:
    dashboard.publish(processor_document())
    dashboard.post("/v1/processors/failed-logins/snoozes", {"for": "1 hour", "key": key})
    admin_page.goto(RULE)
    card = admin_page.locator(".snoozes li")
    expect_in_order(card.locator(".wrap-anywhere"))
    card.get_by_role("button", name="End…").click()
    dialog = admin_page.get_by_role("dialog", name="End the snooze of failed-logins?")
    expect_in_order(dialog.get_by_role("heading"))
    dialog.get_by_role("button", name="End snooze").click()
    shown = key.replace("\u2069", "⟨U+2069⟩")
    toast = admin_page.locator(".toast > div").first
    expect(toast).to_have_text(f"Key {shown} of failed-logins is no longer snoozed.")
    expect_in_order(toast)


@pytest.mark.usefixtures("running_rule")
def test_messages_and_titles_set_every_name_apart(
    admin_page: Page, dashboard: ServedDashboard
) -> None:
    token: dict[str, Any] = dashboard.post("/v1/tokens", {"name": "of a robot", "role": "viewer"})
    admin_page.goto("/tokens")
    row = admin_page.get_by_role("row").filter(has_text=token["id"])
    row.get_by_role("button", name="Revoke").click()
    dialog = admin_page.get_by_role("dialog", name="Revoke the token of a robot?")
    expect(dialog.get_by_role("heading").locator("bdi")).to_have_text("of a robot")
    dialog.get_by_role("button", name="Revoke").click()
    toast = admin_page.locator(".toast > div").first
    expect(toast).to_have_text("The token of a robot was revoked.")
    expect(toast.locator("bdi")).to_have_text("of a robot")
    admin_page.goto(RULE)
    admin_page.get_by_role("button", name="Pause").click()
    dialog = admin_page.get_by_role("dialog", name="Pause failed-logins?")
    expect(dialog.get_by_role("heading").locator("bdi")).to_have_text("failed-logins")
    dialog.get_by_role("button", name="Pause").click()
    expect(admin_page.locator(".toast bdi")).to_have_text("failed-logins")


def test_a_view_of_a_hostile_name_is_named_in_its_button(rules: Page) -> None:
    rules.get_by_role("button", name="Saved views").click()
    rules.get_by_role("button", name="Save this view…").click()
    rules.get_by_role("dialog").get_by_label("Name").fill(POPPING)
    rules.get_by_role("dialog").get_by_role("button", name="Save").click()
    rules.get_by_role("button", name="Saved views").click()
    named = "Delete the view \u2068mal⟨U+2069⟩\u202elory\u2069"
    expect(rules.locator(".saved-view button")).to_have_attribute("aria-label", named)
