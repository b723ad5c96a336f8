"""One word for one state, on every page that shows it; what a silent job said last was so once."""

from collections.abc import Callable
from typing import Any, get_args

import pytest
from playwright.sync_api import Locator, Page, expect

from cep.definition.document import Severity
from cep.trials.reports import TriedPartialMatch
from contract.reports import MatchKind, RunningState
from contract.service.backtests import BacktestState
from contract.service.diagnosis import LinkState
from contract.service.drafts import DraftProblem
from contract.service.jobs import JobState
from contract.service.matches import TriageStatus
from contract.service.overview import Urgency
from contract.service.processors import State as ProcessorState
from contract.service.proposals import State as ProposalState
from contract.service.rules import Standing
from contract.service.webhooks import DeliveryState
from tests.api.documents import PATTERN, processor_document
from tests.dashboard.reporting_job import ReportingJob
from tests.dashboard.serving import ServedDashboard

RULES = "/streams/logins/rules"
MINUTE_MS = 60_000


def badge(page: Page, processor_id: str) -> Locator:
    link = page.get_by_role("link", name=processor_id, exact=True)
    return page.get_by_role("row").filter(has=link).locator(".state-cell [data-state]")


def test_a_state_has_the_same_word_in_the_table_in_the_head_and_in_the_job(
    admin_page: Page, dashboard: ServedDashboard, reporting_job: ReportingJob
) -> None:
    rules = ("active", "throttled", "snoozed", "paused")
    for rule in rules:
        dashboard.publish(processor_document(id=rule))
    dashboard.post("/v1/processors/snoozed/snoozes", {"for": "4 hours"})
    dashboard.post("/v1/processors/active/snoozes", {"for": "4 hours", "key": "eve"})
    dashboard.post("/v1/processors/paused/pause")
    tried = processor_document(id="active", pattern=PATTERN | {"within": "1 hour"})
    dashboard.post("/v1/processors/active/rollout", tried, share_percent=5)
    reporting_job.run_batch()
    until_ms = dashboard.clock() + 30 * MINUTE_MS
    reporting_job.change(
        "throttled", 1, throttled_until_ms=until_ms, interpreted_reason="a condition in Python"
    )
    reporting_job.beat()

    admin_page.goto(RULES)
    for rule in rules:
        expect(badge(admin_page, rule).first).to_have_text(rule)
    canary = admin_page.locator("[data-state=canary]")
    expect(canary).to_have_text("v2 canary")
    admin_page.goto(f"{RULES}/active")
    for place in ("header", "tbody"):
        tried_there = admin_page.locator(f"main {place}").locator(canary).first
        expect(tried_there).to_have_text("v2 canary")
    for rule in rules:
        admin_page.goto(f"{RULES}/{rule}")
        expect(admin_page.locator("header [data-state]").first).to_have_text(rule)
        in_the_job = admin_page.get_by_role("table", name="This rule in each job")
        expect(in_the_job.locator("tbody [data-state]").first).to_have_text(rule)
        reason = in_the_job.get_by_text("runs in Python: a condition in Python")
        expect(reason).to_have_count(int(rule == "throttled"))


def test_nothing_of_a_silent_job_is_shown_as_if_it_were_so_now(
    admin_page: Page, dashboard: ServedDashboard, reporting_job: ReportingJob
) -> None:
    dashboard.publish(processor_document())
    reporting_job.run_batch(partial_matches=41)
    reporting_job.find("failed-logins", 1)
    reporting_job.beat(partial_matches=41)
    admin_page.goto("/streams/logins/jobs/main")
    partial = admin_page.get_by_role("figure", name="Partial matches. ").locator("strong")
    state = admin_page.get_by_role("row").filter(has_text="failed-logins").locator("[data-state]")
    expect(partial).to_have_text("41")
    expect(state).to_have_text("active")

    dashboard.clock.shift_ms += 20 * MINUTE_MS
    admin_page.reload()
    held = admin_page.get_by_role("row").filter(has_text="failed-logins")
    expect(held).to_contain_text("was active")
    expect(state).to_have_count(0)
    expect(partial).to_have_text("\N{EN DASH}")
    admin_page.goto("/")
    behind = admin_page.get_by_role("figure", name="Watermark behind newest event")
    expect(behind.locator("strong")).to_have_text("\N{EN DASH}")
    admin_page.goto(f"{RULES}/failed-logins?tab=versions")
    expect(admin_page.locator(".activations")).to_contain_text("was active")
    expect(admin_page.locator(".activations [data-state]")).to_have_count(0)
    admin_page.goto(f"{RULES}/failed-logins")
    found = admin_page.get_by_role("figure", name="Matches per five minutes")
    expect(found.locator("strong")).to_have_text("\N{EN DASH}")
    admin_page.goto("/streams/logins/matches")
    tail = admin_page.locator(".tail-status")
    expect(tail).to_have_text("job silent")
    reporting_job.stop("deployed")
    expect(tail).to_have_text("no job running")


def test_the_figure_of_quarantined_versions_counts_all_of_them(
    admin_page: Page, dashboard: ServedDashboard, start_job: Callable[..., ReportingJob]
) -> None:
    for number in range(11):
        dashboard.publish(processor_document(id=f"rule-{number}"))
    for number in range(10):
        job = start_job(f"job-{number}")
        job.run_batch()
        for processor_id, version in job.running:
            job.quarantine(processor_id, version, "division by zero")
        job.beat()
    admin_page.goto("/")
    figure = admin_page.locator(".figure").filter(has_text="Quarantined")
    expect(figure).to_contain_text("110")


def states_of(*types: Any) -> set[str]:
    return {name for each in types for name in get_args(each)}


# What pages know that no answer of the service calls a state, by kind.
_SHOWN_ONLY = {
    "running": {"throttled", "snoozed"},
    "rule": {"canary"},
    "proposal": {"outdated"},
    "list": {"scheduled", "current"},
    "webhook": {"enabled", "disabled"},
    "draft": {"valid"},
    "tail": {"live", "reading", "lost", "silent", "jobless", "held", "ended"},
}
_OF_THE_SERVICE = {
    "running": states_of(RunningState, Standing),
    "rule": states_of(ProcessorState),
    "severity": states_of(Severity),
    "job": states_of(JobState),
    "match": states_of(MatchKind),
    "triage": states_of(TriageStatus),
    "near_miss": states_of(TriedPartialMatch.model_fields["outcome"].annotation),
    "proposal": states_of(ProposalState),
    "backtest": states_of(BacktestState),
    "list": set[str](),
    "webhook": set[str](),
    "message": states_of(DeliveryState),
    "link": states_of(LinkState),
    "draft": states_of(DraftProblem.model_fields["severity"].annotation),
    "urgency": states_of(Urgency),
    "tail": set[str](),
}


_COLOURS = {"good", "info", "warn", "bad", "wane", "quiet"}
_SHAPES = {"disc", "ring", "half", "bars", "cross", "dash", "triangle", "square"}


@pytest.fixture
def table(admin_page: Page) -> dict[str, dict[str, list[str]]]:
    """The table of states as pages have it: [colour, shape, word] by kind and name."""
    admin_page.goto("/")
    found: dict[str, dict[str, list[str]]] = admin_page.evaluate(
        "async () => (await import('/assets/any/js/ui/states.js')).STATES"
    )
    return found


def test_each_state_of_the_service_has_one_word_and_one_colour(
    table: dict[str, dict[str, list[str]]],
) -> None:
    known = {kind: names | _SHOWN_ONLY.get(kind, set()) for kind, names in _OF_THE_SERVICE.items()}
    assert {kind: set(states) for kind, states in table.items()} == known
    for kind, states in table.items():
        for colour, shape, _word in states.values():
            assert colour in _COLOURS
            assert shape in _SHAPES
        words = [word for _colour, _shape, word in states.values()]
        assert len(words) == len(set(words)), f"two states of {kind} have one word"
        looks = [tuple(each) for each in states.values()]
        assert len(looks) == len(set(looks))


def test_a_word_has_one_colour_and_one_shape_wherever_it_stands(
    table: dict[str, dict[str, list[str]]],
) -> None:
    looks: dict[str, set[tuple[str, str]]] = {}
    for states in table.values():
        for colour, shape, word in states.values():
            looks.setdefault(word, set()).add((colour, shape))
    assert {word: found for word, found in looks.items() if len(found) > 1} == {}
