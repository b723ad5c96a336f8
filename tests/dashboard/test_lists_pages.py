"""The pages of lists: what there is, searched and changed; uploads tried first; who may do what."""

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.api.documents import processor_document
from tests.dashboard.accessibility import violations
from tests.dashboard.browsing import Guard
from tests.dashboard.serving import MARKUP, ServedDashboard
from tests.dashboard.test_dialogs import choose

LISTS = "/v1/streams/logins/lists"
VIP = f"{LISTS}/vip"
PAGE = "/streams/logins/lists/vip"
NAMING = {"steps": [{"name": "a", "where": "user IN LIST('vip')"}]}


@pytest.fixture
def vip(dashboard: ServedDashboard) -> None:
    dashboard.post(LISTS, {"name": "vip", "description": f"Called first. {MARKUP}"})
    put(dashboard, ["ana", "eve", MARKUP])


def put(dashboard: ServedDashboard, values: list[Any], name: str = "vip", **query: str) -> None:
    dashboard.put(f"{LISTS}/{name}/values", values, **query)


def values(dashboard: ServedDashboard) -> list[str]:
    items: list[str] = dashboard.get(f"{VIP}/values", limit=500)["items"]
    return items


def shown(page: Page) -> Locator:
    return page.locator(".list-values .list-text")


def test_a_list_is_created_filled_and_deleted(admin_page: Page, dashboard: ServedDashboard) -> None:
    admin_page.goto("/streams/logins/rules")
    admin_page.get_by_role("link", name="Lists").click()
    expect(admin_page.get_by_text("No lists on logins yet")).to_be_visible()
    admin_page.get_by_role("button", name="New list").click()
    dialog = admin_page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("days")
    dialog.get_by_label("Type of its values").select_option("DATE")
    dialog.get_by_label("Description").fill("Days without trade")
    assert violations(admin_page) == []
    dialog.get_by_role("button", name="Create list").click()
    expect(admin_page.get_by_role("heading", name="days", exact=True)).to_be_visible()
    expect(admin_page.get_by_text("No values yet")).to_be_visible()

    admin_page.get_by_role("button", name="Add or remove…").click()
    dialog.get_by_label("Values, one per line").fill(" 2026-12-25\n\n2026-12-26\r\n")
    dialog.get_by_label("Reason").fill("Christmas")
    dialog.get_by_role("button", name="Add", exact=True).last.click()
    expect(dialog).to_have_count(0)
    expect(shown(admin_page)).to_have_text(["2026-12-25", "2026-12-26"])
    versions = dashboard.get(f"{LISTS}/days/versions")["items"]
    assert [(each["count"], each["comment"]) for each in versions] == [(2, "Christmas"), (0, "")]

    admin_page.get_by_role("button", name="More actions").click()
    admin_page.get_by_role("button", name="Describe…").click()
    dialog.get_by_label("Description").fill("Days when nobody trades")
    dialog.get_by_role("button", name="Save").click()
    expect(admin_page.get_by_text("Days when nobody trades")).to_be_visible()
    admin_page.get_by_role("button", name="More actions").click()
    admin_page.get_by_role("button", name="Delete…").click()
    dialog.get_by_role("button", name="Delete").click()
    expect(admin_page.get_by_text("No lists on logins yet")).to_be_visible()
    assert dashboard.get(LISTS)["items"] == []
    admin_page.goto("/activity")
    expect(admin_page.locator(".changes")).to_contain_text("deleted the list")
    expect(admin_page.locator(".changes")).to_contain_text("changed the values of the list")


@pytest.mark.usefixtures("vip")
def test_lists_say_what_is_in_effect_and_what_is_to_come(
    admin_page: Page, dashboard: ServedDashboard
) -> None:
    put(dashboard, ["ana"], effective_from="2099-01-01T00:00:00Z")
    dashboard.publish(processor_document(pattern=NAMING))
    admin_page.goto("/streams/logins/lists")
    row = admin_page.get_by_role("row", name="vip")
    expect(row).to_contain_text(MARKUP)
    expect(row.locator("td").nth(2)).to_have_text("3")
    expect(row.locator("td").nth(3)).to_contain_text("3 scheduled")
    expect(row.locator("td").nth(4)).to_have_text("1")
    expect(row).to_contain_text("admin token")
    admin_page.get_by_role("link", name="vip").click()
    expect(shown(admin_page)).to_have_text([MARKUP, "ana", "eve"])
    expect(admin_page.get_by_text("Version 3 is scheduled")).to_be_visible()


def test_a_long_list_is_searched_and_paged_by_the_service(
    admin_page: Page, dashboard: ServedDashboard
) -> None:
    dashboard.post(LISTS, {"name": "vip"})
    put(dashboard, [f"customer {number:06}" for number in range(60_000)])
    read: list[str] = []
    admin_page.on(
        "response", lambda answer: read.append(answer.text() if "/values?" in answer.url else "")
    )
    admin_page.goto(PAGE)
    expect(shown(admin_page)).to_have_count(50)
    expect(admin_page.get_by_text("of 60,000")).to_be_visible()
    admin_page.get_by_role("button", name="Next").click()
    expect(shown(admin_page).first).to_have_text("customer 000050")
    admin_page.get_by_label("Values with this text").fill("er 0599")
    expect(shown(admin_page).first).to_have_text("customer 059900")
    expect(shown(admin_page)).to_have_count(50)
    admin_page.get_by_role("button", name="Next").click()
    expect(shown(admin_page).last).to_have_text("customer 059999")
    expect(admin_page.get_by_role("button", name="Next")).to_be_disabled()
    admin_page.get_by_role("button", name="Starts with").click()
    expect(admin_page.get_by_text("No values match this search")).to_be_visible()
    assert max(map(len, read)) < 10_000

    admin_page.get_by_label("Values with this text").fill("customer 00000")
    expect(shown(admin_page)).to_have_count(10)
    with admin_page.expect_download() as found:
        admin_page.get_by_role("link", name="Download results (CSV)").click()
    assert found.value.path().read_text(encoding="utf-8").split()[::2] == ["customer"] * 10
    with admin_page.expect_download() as whole:
        admin_page.get_by_role("link", name="Download", exact=True).click()
    text = whole.value.path().read_text(encoding="utf-8")
    assert len(list(csv.reader(io.StringIO(text)))) == 60_000


@pytest.mark.usefixtures("vip")
def test_single_values_are_taken_away_and_mistakes_told_by_line(
    admin_page: Page, dashboard: ServedDashboard, guard: Guard
) -> None:
    dashboard.post(LISTS, {"name": "ids", "type": "BIGINT"})
    admin_page.goto(PAGE)
    admin_page.get_by_role("button", name="Remove eve").click()
    dialog = admin_page.get_by_role("dialog")
    dialog.get_by_role("button", name="Remove", exact=True).click()
    expect(shown(admin_page)).to_have_text([MARKUP, "ana"])
    admin_page.get_by_role("button", name="Add or remove…").click()
    dialog.get_by_role("button", name="Remove", exact=True).first.click()
    dialog.get_by_label("Values, one per line").fill(f"{MARKUP}\nnobody")
    dialog.get_by_role("button", name="Remove", exact=True).last.click()
    expect(shown(admin_page)).to_have_text(["ana"])
    expect(admin_page.get_by_text("0 values added, 1 value removed").last).to_be_visible()
    assert values(dashboard) == ["ana"]

    guard.expect(422)
    admin_page.goto("/streams/logins/lists/ids")
    admin_page.get_by_role("button", name="Add or remove…").click()
    dialog.get_by_label("Values, one per line").fill("9007199254740993\n\nseven\n")
    dialog.get_by_role("button", name="Add", exact=True).last.click()
    expect(dialog).to_contain_text("line 3 'seven' is no BIGINT", ignore_case=True)
    dialog.get_by_label("Values, one per line").fill("9007199254740993")
    dialog.get_by_role("button", name="Add", exact=True).last.click()
    expect(shown(admin_page)).to_have_text(["9007199254740993"])


@pytest.mark.usefixtures("vip")
def test_an_upload_is_tried_before_it_is_done(
    admin_page: Page, dashboard: ServedDashboard, guard: Guard
) -> None:
    admin_page.goto(PAGE)
    admin_page.get_by_role("button", name="Upload…").click()
    dialog = admin_page.get_by_role("dialog")
    replace = dialog.get_by_role("button", name="Replace the values")
    expect(replace).to_be_disabled()
    guard.expect(422, 400)
    choose(admin_page, b'ana\nx,y\n\nbob\n"c"d\n')
    expect(dialog).to_contain_text("This file cannot be imported")
    expect(dialog).to_contain_text("line 2 2 columns; a list has one.")
    expect(dialog).to_contain_text("line 5 This line is no CSV")
    expect(replace).to_be_disabled()
    assert violations(admin_page) == []
    choose(admin_page, "ana\nJosé\n".encode("latin-1"))
    expect(dialog).to_contain_text("line 2 It is not UTF-8.")

    choose(admin_page, b'user\nana\nbob\n"Smith, J."\n')
    expect(dialog).to_contain_text("3 values added, 2 values removed")
    dialog.get_by_label("The first line is a column name").check()
    expect(dialog).to_contain_text("2 values added, 2 values removed")
    added, removed = (dialog.get_by_role("list", name=name) for name in ("Added", "Removed"))
    expect(added.locator(".list-text")).to_have_text(["Smith, J.", "bob"])
    expect(removed.locator(".list-text")).to_have_text([MARKUP, "eve"])
    assert violations(admin_page) == []
    assert dashboard.get(VIP)["version"] == 2

    # What was seen no longer holds: it is compared again, and nothing is written meanwhile.
    dashboard.post(f"{VIP}/changes", {"add": ["bob", "new"]})
    expect(dialog).to_contain_text("1 value added, 3 values removed")
    dialog.get_by_label("Reason").fill("from sales")
    replace.click()
    expect(dialog).to_have_count(0)
    expect(shown(admin_page)).to_have_text(["Smith, J.", "ana", "bob"])
    newest = dashboard.get(f"{VIP}/versions")["items"][0]
    assert (newest["version"], newest["comment"]) == (4, "from sales")


@pytest.mark.usefixtures("vip")
def test_an_upload_is_refused_if_the_list_changes_at_the_last_moment(
    admin_page: Page, dashboard: ServedDashboard, guard: Guard
) -> None:
    guard.expect(412)
    admin_page.goto(PAGE)
    admin_page.get_by_role("button", name="Upload…").click()
    choose(admin_page, b"zoe\n")
    dialog = admin_page.get_by_role("dialog")
    expect(dialog).to_contain_text("1 value added, 3 values removed")

    def meanwhile(route: Any) -> None:
        dashboard.post(f"{VIP}/changes", {"add": ["bob"]})
        route.continue_()

    admin_page.route("**/vip/values?comment=*", meanwhile, times=1)
    dialog.get_by_label("Reason").fill("x")
    dialog.get_by_role("button", name="Replace the values").click()
    expect(dialog).to_contain_text("Changed in the meantime")
    expect(dialog).to_contain_text("1 value added, 4 values removed")
    assert values(dashboard) == [MARKUP, "ana", "bob", "eve"]
    dialog.get_by_role("button", name="Replace the values").click()
    expect(dialog).to_have_count(0)
    assert values(dashboard) == ["zoe"]


def test_a_file_that_is_too_large_is_not_sent(
    admin_page: Page, dashboard: ServedDashboard, tmp_path: Path
) -> None:
    large = tmp_path / "large.csv"
    with large.open("wb") as file:
        file.truncate(32_000_001)
    dashboard.post(LISTS, {"name": "vip"})
    admin_page.goto(PAGE)
    admin_page.get_by_role("button", name="Upload…").click()
    admin_page.locator("input[type=file]").set_input_files(large)
    dialog = admin_page.get_by_role("dialog")
    expect(dialog).to_contain_text("at most 32.0 MB")
    expect(dialog.get_by_role("button", name="Replace the values")).to_be_disabled()
    choose(admin_page, b"ana")
    expect(dialog).to_contain_text("1 value added")
    expect(dialog).not_to_contain_text("Divide it")


@pytest.mark.usefixtures("vip")
def test_versions_are_scheduled_cancelled_and_had_again(
    admin_page: Page, dashboard: ServedDashboard
) -> None:
    put(dashboard, ["bob"])
    admin_page.goto(PAGE)
    admin_page.get_by_role("button", name="Add or remove…").click()
    dialog = admin_page.get_by_role("dialog")
    dialog.get_by_label("Values, one per line").fill("zoe")
    dialog.get_by_role("button", name="At a time").click()
    dialog.get_by_label("From event time").fill("2099-01-01T12:00:00")
    dialog.get_by_role("button", name="Add", exact=True).last.click()
    waiting = admin_page.locator(".alarm", has_text="Version 4 is scheduled")
    expect(waiting).to_be_visible()
    expect(shown(admin_page)).to_have_text(["bob"])
    admin_page.get_by_role("button", name="Cancel…").click()
    dialog.get_by_role("button", name="Cancel the version").click()
    expect(waiting).to_have_count(0)
    put(dashboard, ["late"], effective_from="2099-01-01T00:00:00Z")

    admin_page.get_by_role("link", name="Versions").click()
    lines = admin_page.locator(".version-list > li")
    expect(lines).to_have_count(5)
    # What comes above the lines moves them.
    expect(admin_page.locator(".alarm", has_text="Version 5 is scheduled")).to_be_visible()
    expect(lines.nth(0)).to_contain_text("scheduled")
    expect(lines.nth(2)).to_contain_text("in effect")
    assert violations(admin_page) == []
    old = lines.nth(3)
    old.get_by_role("link", name="Values of version 2").click()
    expect(admin_page.get_by_text("These are the values of version 2")).to_be_visible()
    expect(shown(admin_page)).to_have_text([MARKUP, "ana", "eve"])
    expect(admin_page.get_by_role("button", name="Remove ana")).to_have_count(0)
    admin_page.get_by_role("button", name="Show version 3").click()
    expect(shown(admin_page)).to_have_text(["bob"])

    admin_page.get_by_role("link", name="Versions").click()
    old.get_by_role("button", name="Roll back to version").click()
    expect(dialog).to_contain_text("3 values added, 1 value removed")
    expect(dialog).to_contain_text("Scheduled version 5 will not take effect")
    assert violations(admin_page) == []
    dialog.get_by_role("button", name="Roll back").click()
    expect(lines.nth(0)).to_contain_text("as version 2")
    assert values(dashboard) == [MARKUP, "ana", "eve"]
    expect(admin_page.locator(".alarm")).to_have_count(0)


@pytest.mark.usefixtures("vip")
def test_rules_link_to_the_lists_they_name_and_keep_them(
    admin_page: Page, dashboard: ServedDashboard, guard: Guard
) -> None:
    dashboard.publish(processor_document(pattern=NAMING))
    admin_page.goto("/streams/logins/rules/failed-logins")
    admin_page.locator(".facts").get_by_role("link", name="vip").click()
    expect(shown(admin_page)).to_have_count(3)
    admin_page.get_by_role("button", name="More actions").click()
    admin_page.get_by_role("button", name="Delete…").click()
    dialog = admin_page.get_by_role("dialog")
    expect(dialog).to_contain_text("vip cannot be deleted yet")
    expect(dialog.get_by_role("link", name="failed-logins")).to_be_visible()
    dialog.get_by_role("button", name="Close").click()
    admin_page.get_by_role("link", name="Rules", exact=False).last.click()
    expect(admin_page.get_by_role("row", name="failed-logins")).to_contain_text("1")

    # A rule that comes between the question and the answer keeps it, too.
    dashboard.publish(processor_document())
    expect(admin_page.get_by_text("No rule uses vip")).to_be_visible()
    admin_page.get_by_role("button", name="More actions").click()
    admin_page.get_by_role("button", name="Delete…").click()
    guard.expect(409)

    def meanwhile(route: Any) -> None:
        if route.request.method == "DELETE":
            dashboard.publish(processor_document(pattern=NAMING))
        route.continue_()

    admin_page.route("**/v1/streams/logins/lists/vip", meanwhile)
    dialog.get_by_role("button", name="Delete").click()
    expect(dialog.get_by_text("is named by 'failed-logins'")).to_be_visible()
    admin_page.unroute_all(behavior="wait")
    assert dashboard.get(VIP)["count"] == 3


@pytest.mark.usefixtures("vip")
def test_where_approvals_are_asked_for_meanwhile_the_change_is_proposed(
    admin_page: Page, dashboard: ServedDashboard, guard: Guard
) -> None:
    admin_page.goto(PAGE)
    admin_page.get_by_role("button", name="Upload…").click()
    choose(admin_page, b"bob\n")
    dialog = admin_page.get_by_role("dialog")
    expect(dialog).to_contain_text("1 value added")
    dashboard.ask_approvals(lists=True)
    guard.expect(403)
    dialog.get_by_role("button", name="Replace the values").click()
    expect(dialog).to_contain_text("must be approved by 1 person")
    expect(dialog).to_contain_text("This creates a proposal")
    dialog.get_by_role("button", name="Propose").click()
    expect(admin_page.get_by_role("heading", name="Proposal 1")).to_be_visible()
    expect(admin_page.get_by_role("list", name="Added")).to_contain_text("bob")
    expect(admin_page.get_by_role("list", name="Removed")).to_contain_text(MARKUP)
    assert values(dashboard) == [MARKUP, "ana", "eve"]

    note = admin_page.get_by_text("Changes to the values of lists")
    admin_page.goto(PAGE)
    expect(note).to_be_visible()
    dashboard.ask_approvals(lists=False)
    admin_page.reload()
    expect(admin_page.get_by_role("button", name="Upload…")).to_be_visible()
    expect(note).to_have_count(0)
