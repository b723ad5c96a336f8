"""Changes are proposed, discussed, approved and published in a browser, by several people."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from playwright.sync_api import Browser, FilePayload, Page, expect

from contract.service.tokens import Role
from tests.api.documents import ANY_STATE, PATTERN, processor_document
from tests.dashboard.accessibility import violations
from tests.dashboard.browsing import guarded_page, have_signed_in
from tests.dashboard.serving import RULE, ServedDashboard

LIST = "/streams/logins/lists/vip"
MARKUP = "<img src=x onerror=\"window.hit='yes'\">"
WIDER = processor_document(pattern=PATTERN | {"within": "1 hour"})
As = Callable[..., Page]


@pytest.fixture
def gated(dashboard: ServedDashboard) -> ServedDashboard:
    """A stream with one rule, whose changes one other person must approve."""
    dashboard.publish(processor_document())
    dashboard.ask_approvals()
    return dashboard


@pytest.fixture
def as_person(browser: Browser, dashboard: ServedDashboard) -> Iterator[As]:
    """Opens pages that a person is signed in to."""
    with ExitStack() as stack:

        def opened(name: str, role: str = "publisher") -> Page:
            page, guard = stack.enter_context(guarded_page(browser, dashboard.url))
            guard.expect(409, 412, 404)
            have_signed_in(page, dashboard.url, token_of(dashboard, name, role))
            return page

        yield opened


def token_of(dashboard: ServedDashboard, name: str, role: str = "publisher") -> str:
    token: str = dashboard.post("/v1/tokens", {"name": name, "role": role, "person": name})["token"]
    return token


def propose(dashboard: ServedDashboard, name: str, **change: Any) -> Any:
    headers = {"Authorization": f"Bearer {token_of(dashboard, name)}"}
    answer = dashboard.client.post("/v1/proposals", json=change, headers=headers)
    assert answer.status_code == 201, answer.text
    return answer.json()


def test_the_editor_proposes_another_approves_and_it_is_published(
    gated: ServedDashboard, as_person: As
) -> None:
    ana, bob = as_person("ana"), as_person("bob")
    ana.goto(f"{RULE}/edit")
    ana.locator(".cm-content").get_by_text("10 minutes").dblclick()
    ana.keyboard.press("End")
    ana.keyboard.type(" 30 seconds")
    ana.get_by_role("button", name="Propose…").click()
    dialog = ana.get_by_role("dialog")
    expect(dialog.get_by_role("heading", name="Propose a new version")).to_be_visible()
    expect(dialog).to_contain_text("must be approved by 1 other person")
    dialog.get_by_label("Reason").fill("slow attacks")
    dialog.get_by_role("button", name="Propose").click()
    expect(ana.get_by_role("heading", name="Proposal 1")).to_be_visible()
    expect(ana.locator(".meanings")).to_contain_text("within")
    expect(ana.get_by_role("button", name="Approve…")).to_have_count(0)
    expect(ana.get_by_role("button", name="Publish…")).to_be_disabled()
    assert gated.client.get("/v1/processors/failed-logins").json()["version"] == 1

    bob.goto(RULE)
    bob.get_by_role("link", name="Proposal 1").click()
    expect(bob.get_by_text("slow attacks")).to_be_visible()
    bob.get_by_role("textbox", name="Comment").fill("Fine with me.")
    bob.get_by_role("button", name="Add comment").click()
    expect(bob.get_by_role("list", name="Comments")).to_contain_text("Fine with me.")
    assert not violations(bob)
    bob.get_by_role("button", name="Approve…").click()
    bob.get_by_role("dialog").get_by_role("button", name="Approve").click()
    expect(bob.get_by_role("list", name="Approved by")).to_contain_text("bob")

    expect(ana.get_by_role("button", name="Publish…")).to_be_enabled()
    ana.get_by_role("button", name="Publish…").click()
    ana.get_by_role("dialog").get_by_role("button", name="Publish").click()
    expect(ana.locator("[data-state=published]")).to_be_visible()
    assert gated.client.get("/v1/processors/failed-logins").json()["version"] == 2
    ana.goto("/activity")
    expect(ana.locator(".changes")).to_contain_text("by ana, approved by bob")


def test_a_proposal_is_edited_made_stale_renewed_and_rejected(
    gated: ServedDashboard, as_person: As
) -> None:
    number = propose(gated, "ana", document=WIDER, comment=MARKUP)["id"]
    ana, bob = as_person("ana"), as_person("bob")
    ana.goto(f"/proposals/{number}")
    ana.get_by_role("link", name="Edit").click()
    ana.locator(".cm-content").get_by_text("1 hour").dblclick()
    ana.keyboard.press("End")
    ana.keyboard.type(" 30 minutes")
    ana.get_by_role("button", name="Save…").click()
    ana.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(ana.locator(".meanings")).to_contain_text("30 minutes")

    gated.post("/v1/processors/failed-logins/pause")
    expect(ana.locator("[data-state=outdated]")).to_have_text("outdated")
    bob.goto(RULE)
    expect(bob.get_by_role("link", name="Proposal 1").locator("..")).to_contain_text("outdated")
    bob.goto(f"/proposals/{number}")
    expect(bob.get_by_role("button", name="Approve…")).to_be_disabled()
    ana.get_by_role("button", name="Renew…").click()
    ana.get_by_role("dialog").get_by_role("button", name="Renew").click()
    expect(ana.locator("[data-state=open]")).to_be_visible()
    expect(bob.get_by_role("button", name="Approve…")).to_be_enabled()
    bob.get_by_role("button", name="Reject…").click()
    bob.get_by_label("Reason").fill(MARKUP)
    bob.get_by_role("dialog").get_by_role("button", name="Reject").click()
    expect(bob.get_by_text("Rejected by bob")).to_be_visible()
    expect(bob.locator(".alarm .proposal-comment")).to_have_text(MARKUP)
    assert bob.evaluate("window.hit") is None


def test_an_outdated_proposal_is_merged_with_what_was_published_meanwhile(
    gated: ServedDashboard, as_person: As
) -> None:
    gated.ask_approvals(0)
    number = propose(gated, "ana", document=WIDER, comment="slow attacks")["id"]
    steps = [PATTERN["steps"][0] | {"times": 5}, PATTERN["steps"][1]]
    gated.publish(processor_document(pattern=PATTERN | {"steps": steps}))
    ana = as_person("ana")
    ana.goto(f"/proposals/{number}")
    outdated = ana.get_by_role("group", name="Changed since")
    expect(outdated.locator("tr.added")).to_contain_text(["times: 5"])
    outdated.get_by_role("button", name="Side by side").click()
    parts = outdated.locator(".three-way > li")
    expect(parts.nth(0).locator("section")).to_contain_text(["times: 3", "times: 5", "times: 3"])
    expect(parts.nth(1)).to_contain_text("Changed by the proposal")
    expect(parts.nth(1).locator("section").last).to_contain_text("within: 1 hour")
    assert not violations(ana)
    outdated.get_by_role("button", name="Merged").click()
    expect(outdated).to_contain_text("Everything could be merged.")
    ana.get_by_role("link", name="Merge in the editor").click()
    conflict = ana.get_by_role("status", name="A newer version")
    expect(conflict).to_contain_text("times: 5")
    assert not violations(ana)
    conflict.get_by_role("button", name="Apply my changes to theirs").click()
    expect(conflict).to_have_count(0)
    ana.get_by_role("button", name="Save…").click()
    ana.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(ana.locator("[data-state=open]")).to_be_visible()
    expect(ana.locator(".meanings > li")).to_have_count(1)
    document = gated.get(f"/v1/proposals/{number}")["document"]
    assert document["pattern"]["within"] == "1 hour"
    assert document["pattern"]["steps"][0]["times"] == 5


def test_every_change_of_what_runs_is_proposed_from_the_page_of_the_rule(
    gated: ServedDashboard, as_person: As
) -> None:
    ana = as_person("ana")
    ana.goto(RULE)
    ana.get_by_role("button", name="More actions").click()
    ana.get_by_role("button", name="Delete…").click()
    ana.get_by_role("dialog").get_by_role("button", name="Propose").click()
    expect(ana.get_by_role("heading", name="Proposal 1")).to_be_visible()
    expect(ana.get_by_text("Delete failed-logins on logins")).to_be_visible()
    ana.goto(RULE)
    ana.get_by_role("button", name="Pause").click()
    ana.get_by_role("dialog").get_by_role("button", name="Pause").click()
    ana.get_by_role("button", name="Resume").click()
    ana.get_by_role("dialog").get_by_role("button", name="Propose").click()
    expect(ana.get_by_role("heading", name="Proposal 2")).to_be_visible()
    kinds = [each["kind"] for each in gated.client.get("/v1/proposals").json()["items"]]
    assert kinds == ["resume", "delete"]


def test_an_author_proposes_where_no_approval_is_asked_for(
    dashboard: ServedDashboard, as_person: As
) -> None:
    dashboard.publish(processor_document())
    author = as_person("otto", Role.AUTHOR.value)
    author.goto(f"{RULE}/edit")
    author.get_by_role("button", name="Save…").click()
    dialog = author.get_by_role("dialog")
    expect(dialog).to_contain_text("A publisher must publish it.")
    expect(dialog.get_by_role("button", name="Propose")).to_be_visible()


def test_proposals_are_listed_and_an_admin_says_how_many_approvals_are_asked_for(
    dashboard: ServedDashboard, admin_page: Page
) -> None:
    dashboard.publish(processor_document())
    propose(dashboard, "ana", document=WIDER, comment=MARKUP)
    propose(dashboard, "bob", kind="delete", processor_id="failed-logins")
    admin_page.goto("/proposals")
    rows = admin_page.locator("table.proposals tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("delete failed-logins")
    expect(rows.last).to_contain_text(MARKUP)
    admin_page.get_by_label("Author").select_option("Mine")
    expect(admin_page.get_by_role("heading", name="No proposals")).to_be_visible()
    admin_page.get_by_role("button", name="Clear").click()
    admin_page.get_by_role("button", name="Change…").click()
    admin_page.get_by_label("Approvals, 0 to 10").fill("2")
    admin_page.get_by_label("Require approvals for changes to lists").uncheck()
    admin_page.get_by_role("dialog").get_by_role("button", name="Change").click()
    told = "must be approved by 2 other people; those of lists need no approval."
    expect(admin_page.get_by_text(told)).to_be_visible()
    expect(rows.first).to_contain_text("0 of 2")
    assert dashboard.client.get("/v1/streams/logins").json()["required_approvals"] == 2
    assert not violations(admin_page)


@pytest.fixture
def with_list(gated: ServedDashboard) -> ServedDashboard:
    """A list with values of which one is markup; changes of it must be approved."""
    lists = "/v1/streams/logins/lists"
    gated.post(lists, {"name": "vip", "description": "Who is called first."})
    change = {"kind": "list_change", "stream": "logins", "list_name": "vip"}
    number = propose(gated, "zoe", **change, add=["ana", "bob", MARKUP])["id"]
    act(gated, "kim", number, "approve")
    act(gated, "kim", number, "publish")
    return gated


def act(dashboard: ServedDashboard, name: str, number: int, verb: str) -> None:
    headers = ANY_STATE | {"Authorization": f"Bearer {token_of(dashboard, name)}"}
    answer = dashboard.client.post(f"/v1/proposals/{number}/{verb}", headers=headers)
    assert answer.status_code == 200, answer.text


def list_values(dashboard: ServedDashboard) -> Any:
    return dashboard.client.get("/v1/streams/logins/lists/vip/values").json()["items"]


def confirm(page: Page, verb: str) -> None:
    page.get_by_role("dialog").get_by_role("button", name=verb, exact=True).click()


def test_values_of_a_list_are_proposed_on_its_page_looked_through_and_approved(
    with_list: ServedDashboard, as_person: As
) -> None:
    ana, bob = as_person("ana"), as_person("bob")
    ana.goto(LIST)
    expect(ana.get_by_text("must be approved by 1 other person")).to_be_visible()
    ana.get_by_role("button", name="Add or remove…").click()
    dialog = ana.get_by_role("dialog")
    dialog.get_by_label("Values, one per line").fill("eve\neve \n\u202elive\n<b>mallory</b>")
    expect(dialog).to_contain_text("nothing changes until it is published")
    dialog.get_by_label("Reason").fill("from sales")
    assert not violations(ana)
    confirm(ana, "Propose")
    expect(ana.get_by_role("heading", name="Proposal 2")).to_be_visible()
    expect(ana.get_by_text("Change values of list vip")).to_be_visible()
    expect(ana.get_by_role("button", name="Approve…")).to_have_count(0)
    assert len(list_values(with_list)) == 3

    bob.goto(LIST)
    bob.get_by_role("link", name="Proposal 2").click()
    expect(bob.get_by_role("list", name="Added").get_by_role("listitem")).to_have_text(
        ["+ <b>mallory</b>", "+ eve", "+ eve⟨U+0020⟩", "+ ⟨U+202E⟩live"]
    )
    assert not violations(bob)
    bob.get_by_role("button", name="Approve…").click()
    confirm(bob, "Approve")
    bob.get_by_role("button", name="Publish…").click()
    confirm(bob, "Publish")
    expect(bob.locator("[data-state=published]")).to_be_visible()
    assert list_values(with_list) == [
        "<b>mallory</b>",
        MARKUP,
        "ana",
        "bob",
        "eve",
        "eve ",
        "\u202elive",
    ]
    bob.goto("/activity")
    changes = bob.locator(".changes")
    expect(changes).to_contain_text("proposal 2 by ana, approved by bob")
    expect(changes.get_by_role("link", name="proposal 2", exact=True).first).to_be_visible()


def test_every_change_of_a_list_is_proposed_and_an_outdated_one_renewed(
    with_list: ServedDashboard, as_person: As
) -> None:
    ana = as_person("ana")
    ana.goto(LIST)
    ana.get_by_role("button", name="Remove ana").click()
    confirm(ana, "Propose")
    removed = ana.get_by_role("list", name="Removed")
    expect(removed).to_contain_text("ana")
    ana.goto(f"{LIST}?tab=versions")
    ana.get_by_role("button", name="Roll back to version 1").click()
    expect(ana.get_by_role("dialog")).to_contain_text("3 values removed")
    confirm(ana, "Propose")
    expect(removed).to_contain_text(MARKUP)
    ana.goto(LIST)
    ana.get_by_role("button", name="More actions").click()
    ana.get_by_role("button", name="Delete…").click()
    confirm(ana, "Propose")
    expect(ana.get_by_text("The list and its 3 values are removed")).to_be_visible()
    assert len(list_values(with_list)) == 3

    act(with_list, "bob", 2, "approve")
    act(with_list, "bob", 2, "publish")
    expect(ana.get_by_text("The list has changed since.")).to_be_visible()
    ana.get_by_role("button", name="Renew…").click()
    confirm(ana, "Renew")
    expect(ana.get_by_text("The list and its 2 values are removed")).to_be_visible()
    ana.goto("/proposals?state=any")
    expect(ana.get_by_role("link", name="change values of list vip")).to_have_count(2)


@pytest.mark.parametrize(
    ("name", "content"),
    [("all.csv", b'name\n"a, b"\neve\n'), ("all.json", b'["a, b", "eve"]')],
)
def test_an_author_proposes_a_file(
    with_list: ServedDashboard, as_person: As, name: str, content: bytes
) -> None:
    ana = as_person("ana", "author")
    ana.goto(LIST)
    ana.get_by_role("button", name="Upload…").click()
    dialog = ana.get_by_role("dialog")
    file = FilePayload(name=name, mimeType="text/plain", buffer=content)
    dialog.get_by_label("File").set_input_files(file)
    if name.endswith("csv"):
        dialog.get_by_label("The first line is a column name").check()
    confirm(ana, "Propose")
    expect(ana.get_by_role("list", name="Added").get_by_role("listitem")).to_have_text(
        ["+ a, b", "+ eve"]
    )
    expect(ana.get_by_text("Replace all values of list vip")).to_be_visible()
    assert len(list_values(with_list)) == 3


def test_many_values_are_shown_in_steps_and_no_page_is_wider_than_a_phone(
    with_list: ServedDashboard, as_person: As
) -> None:
    many = [f"{number:04}{'x' * 300}" for number in range(1_000)]
    change = {"kind": "list_change", "stream": "logins", "list_name": "vip"}
    propose(with_list, "ana", **change, add=many, comment="c" * 500)
    page = as_person("bob")
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto("/proposals/2")
    added = page.get_by_role("list", name="Added").get_by_role("listitem")
    expect(added).to_have_count(200)
    page.get_by_role("button", name="Show all 1,000 values").click()
    expect(added).to_have_count(1_000)
    for path in ("/proposals/2", "/proposals", LIST):
        page.goto(path)
        page.locator("main h1").wait_for()
        expect(page.get_by_text("Loading")).to_have_count(0)
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, path
