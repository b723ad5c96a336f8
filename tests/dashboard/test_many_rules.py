"""Many rules are snoozed, woken, labelled, acknowledged and deleted from the table of rules."""

from collections.abc import Callable
from typing import Any

from playwright.sync_api import Locator, Page, Route, expect

from contract.service.tokens import Role
from tests.api.documents import ANY_STATE
from tests.dashboard.reporting_job import ReportingJob
from tests.dashboard.serving import ServedDashboard
from tests.dashboard.test_rules_page import RULES, publish


def tick_all(page: Page) -> Locator:
    page.goto(RULES)
    page.get_by_role("checkbox", name="All rules on this page").check()
    return page.get_by_role("region", name="Selected rules")


def ask(bar: Locator, verb: str, *, in_menu: bool = False) -> Locator:
    if in_menu:
        bar.get_by_role("button", name="More actions").click()
    bar.get_by_role("button", name=f"{verb}…").click()
    return bar.page.get_by_role("dialog")


def logged(dashboard: ServedDashboard, action: str) -> dict[str, str]:
    found = dashboard.get("/v1/changes", action=action)["items"]
    return {each["processor_id"]: each["comment"] for each in found}


def ids_of(dashboard: ServedDashboard) -> list[str]:
    return [each["id"] for each in dashboard.get(f"/v1{RULES}")["items"]]


def test_rules_are_snoozed_together_and_woken_before_their_time(
    admin_page: Page, dashboard: ServedDashboard
) -> None:
    publish(dashboard, "a", "b", "c")
    bar = tick_all(admin_page)
    dialog = ask(bar, "Snooze")
    expect(dialog.get_by_role("heading")).to_have_text("Snooze 3 rules?")
    dialog.get_by_label("For").select_option("4 hours")
    dialog.get_by_label("Reason").fill("deployment")
    dialog.get_by_role("button", name="Snooze").click()
    expect(admin_page.get_by_text("3 rules snoozed.")).to_be_visible()
    expect(bar).to_have_count(0)
    assert logged(dashboard, "snooze.begin") == dict.fromkeys("abc", "deployment")

    number = dashboard.get("/v1/processors/b/snoozes")["items"][0]["number"]
    dashboard.client.delete(f"/v1/processors/b/snoozes/{number}", headers=ANY_STATE)
    dialog = ask(tick_all(admin_page), "End snoozes", in_menu=True)
    dialog.get_by_role("button", name="End snoozes").click()
    expect(admin_page.get_by_text("2 rules no longer snoozed; 1 unchanged.")).to_be_visible()
    assert dashboard.get("/v1/streams/logins/snoozes")["items"] == []


def test_tags_are_added_to_and_removed_from_what_each_rule_has(
    page_of: Callable[[Role], Page], dashboard: ServedDashboard
) -> None:
    publish(dashboard, "a", tags=["old", "kept"], owner="ana")
    publish(dashboard, "b", tags=["new"], owner="fraud")
    page = page_of(Role.AUTHOR)
    bar = tick_all(page)
    expect(bar.get_by_role("button", name="Pause…")).to_have_count(0)
    dialog = ask(bar, "Change labels")
    submit = dialog.get_by_role("button", name="Change labels")
    expect(submit).to_be_disabled()
    dialog.get_by_label("Add tags").fill("new, cards")
    dialog.get_by_label("Remove tags").fill("old")
    dialog.get_by_label("Set the owner").check()
    dialog.get_by_label("Owner", exact=True).fill("fraud")
    submit.click()
    expect(page.get_by_text("2 rules labelled.")).to_be_visible()
    rules = {each["id"]: each for each in dashboard.get(f"/v1{RULES}")["items"]}
    assert set(rules["a"]["tags"]) == {"kept", "new", "cards"}
    assert set(rules["b"]["tags"]) == {"new", "cards"}
    assert {each["owner"] for each in rules.values()} == {"fraud"}
    assert {each["version"] for each in rules.values()} == {1}


def test_a_change_of_labels_made_meanwhile_is_kept(
    admin_page: Page, guard: Any, dashboard: ServedDashboard
) -> None:
    guard.expect(412)
    publish(dashboard, "a", tags=["first"])
    pending = {"tags": ["first", "second"]}

    def label_first(route: Route) -> None:
        if route.request.method == "PATCH" and pending:
            answer = dashboard.client.patch(
                "/v1/processors/a", json=dict(pending), headers=ANY_STATE
            )
            assert answer.is_success
            pending.clear()
        route.continue_()

    admin_page.route("**/v1/processors/a**", label_first)
    dialog = ask(tick_all(admin_page), "Change labels")
    dialog.get_by_label("Add tags").fill("third")
    dialog.get_by_role("button", name="Change labels").click()
    expect(admin_page.get_by_text("1 rule labelled.")).to_be_visible()
    assert set(dashboard.get("/v1/processors/a")["tags"]) == {"first", "second", "third"}


def test_only_quarantined_rules_are_acknowledged(
    admin_page: Page, dashboard: ServedDashboard, reporting_job: ReportingJob
) -> None:
    publish(dashboard, "broken", "steady")
    reporting_job.run_batch()
    reporting_job.quarantine("broken", 1, "division by zero")
    reporting_job.beat()
    dialog = ask(tick_all(admin_page), "Acknowledge", in_menu=True)
    dialog.get_by_label("Reason").fill("on it")
    dialog.get_by_role("button", name="Acknowledge").click()
    expect(admin_page.get_by_text("1 rule acknowledged; 1 unchanged.")).to_be_visible()
    assert logged(dashboard, "processor.acknowledge") == {"broken": "on it"}


def test_all_rules_of_the_filter_are_deleted_and_no_other(
    admin_page: Page, dashboard: ServedDashboard
) -> None:
    publish(dashboard, *(f"old-{number:02}" for number in range(30)), tags=["old"])
    publish(dashboard, "kept")
    admin_page.goto(f"{RULES}?tag=old&rows=25")
    admin_page.get_by_role("checkbox", name="All rules on this page").check()
    admin_page.get_by_role("button", name="Select all 30").click()
    bar = admin_page.get_by_role("region", name="Selected rules")
    dialog = ask(bar, "Delete", in_menu=True)
    expect(dialog.get_by_role("heading")).to_have_text("Delete 30 rules?")
    expect(dialog).to_contain_text("and 22 more")
    dialog.get_by_role("button", name="Delete").click()
    expect(admin_page.get_by_text("30 rules deleted.")).to_be_visible()
    assert ids_of(dashboard) == ["kept"]


def test_a_rule_that_fails_is_named_and_stays_ticked_while_the_others_go_on(
    admin_page: Page, guard: Any, dashboard: ServedDashboard
) -> None:
    guard.expect(404)
    publish(dashboard, "a", "b", "c")
    bar = tick_all(admin_page)
    dashboard.client.delete("/v1/processors/b", headers=ANY_STATE)
    dialog = ask(bar, "Delete", in_menu=True)
    dialog.get_by_role("button", name="Delete").click()
    problem = dialog.get_by_role("alert")
    expect(problem).to_contain_text("1 of 3 rules could not be changed")
    expect(problem.get_by_role("listitem")).to_have_count(1)
    expect(problem.get_by_role("listitem").locator("code")).to_have_text("b")
    expect(dialog.get_by_role("heading")).to_have_text("Delete 1 rule?")
    assert ids_of(dashboard) == []
    dialog.get_by_role("button", name="Cancel").click()
    expect(bar).to_contain_text("1 rule selected")


def test_too_many_requests_are_made_again(
    admin_page: Page, guard: Any, dashboard: ServedDashboard
) -> None:
    guard.expect(429)
    publish(dashboard, "a", "b")
    refused: list[str] = []

    def refuse_once(route: Route) -> None:
        if route.request.method == "DELETE" and not refused:
            refused.append(route.request.url)
            route.fulfill(status=429, json={"title": "Too many requests", "status": 429})
        else:
            route.continue_()

    admin_page.route("**/v1/processors/*", refuse_once)
    dialog = ask(tick_all(admin_page), "Delete", in_menu=True)
    dialog.get_by_role("button", name="Delete").click()
    expect(admin_page.get_by_text("2 rules deleted.")).to_be_visible()
    assert len(refused) == 1


def test_closing_the_dialog_stops_before_the_next_rule(
    admin_page: Page, dashboard: ServedDashboard
) -> None:
    publish(dashboard, "a", "b", "c")
    held: list[Route] = []

    def hold_b(route: Route) -> None:
        if route.request.method == "DELETE" and "/b?" in f"{route.request.url}?":
            held.append(route)
        else:
            route.continue_()

    admin_page.route("**/v1/processors/*", hold_b)
    dialog = ask(tick_all(admin_page), "Delete", in_menu=True)
    dialog.get_by_role("button", name="Delete").click()
    expect(dialog.get_by_role("status")).to_have_text("1 of 3 rules…")
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_have_count(0)
    held[0].continue_()
    expect(admin_page.get_by_text("2 rules deleted; stopped before 1 more.")).to_be_visible()
    assert ids_of(dashboard) == ["c"]


def test_where_a_stream_asks_for_approvals_a_pause_goes_on_and_a_deletion_is_proposed(
    page_of: Callable[[Role], Page], dashboard: ServedDashboard
) -> None:
    publish(dashboard, "a", "b")
    dashboard.ask_approvals()
    page = page_of(Role.PUBLISHER)
    bar = tick_all(page)
    ask(bar, "Pause").get_by_role("button", name="Pause").click()
    expect(page.get_by_text("2 rules paused.")).to_be_visible()

    dialog = ask(tick_all(page), "Delete", in_menu=True)
    expect(dialog).to_contain_text("must be approved by 1 other person")
    dialog.get_by_label("Reason").fill("not used")
    dialog.get_by_role("button", name="Propose").click()
    expect(page.get_by_text("2 rules proposed.")).to_be_visible()
    assert ids_of(dashboard) == ["a", "b"]
    proposed = dashboard.get("/v1/proposals")["items"]
    assert {(each["processor_id"], each["kind"], each["comment"]) for each in proposed} == {
        ("a", "delete", "not used"),
        ("b", "delete", "not used"),
    }
