"""Backtests in a browser: of a draft and of a published rule, run by a worker, cancelled, read."""

import json
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from contract.service.tokens import Role
from processor_runtime.backtest.worker.archives import read_archives
from processor_runtime.backtest.worker.turns import Worker, WorkLimits
from processor_runtime.reporting.rule_service import RuleService
from tests.api.documents import PATTERN, processor_document
from tests.dashboard.accessibility import violations
from tests.dashboard.browsing import write
from tests.dashboard.reporting_job import ReportingJob
from tests.dashboard.serving import MARKUP, RULE, ServedDashboard

DAY_S = 86_400
START_S = 1_790_000_000


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """Ten days with a match a day within a minute, and one that takes half an hour."""
    lines = []
    for day in range(10):
        begin = START_S + day * DAY_S
        for user, step_s in ((f"user-{day % 3}", 10), (MARKUP, 600 if day == 5 else 100_000)):
            for place, action in enumerate(("fail", "fail", "fail", "login")):
                ts = begin + place * step_s
                lines.append(json.dumps({"user": user, "action": action, "ts": ts * 1_000}))
    path = tmp_path / "history.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.fixture
def work(dashboard: ServedDashboard, archive: Path) -> Callable[[], int]:
    """Runs the backtests that wait, and returns how many there were."""

    def worked() -> int:
        service = RuleService(dashboard.url, lambda: dashboard.token_of[Role.JOB])
        archives = read_archives([f"logins={archive}"])
        stop = threading.Event()
        try:
            worker = Worker(service, "worker-1", archives, WorkLimits(), None, stop)
            return worker.run(until_idle=True)
        finally:
            service.close()

    return worked


@pytest.fixture(autouse=True)
def _rule(dashboard: ServedDashboard) -> None:
    dashboard.publish(processor_document(pattern=PATTERN | {"within": "1 minute"}))


def figures(page: Page, group: int) -> dict[str, str]:
    shown = page.locator(".backtest-figures").nth(group)
    names = shown.locator(".name").all_text_contents()
    return dict(zip(names, shown.locator(".value").all_text_contents(), strict=True))


def test_a_draft_is_compared_with_what_is_published(
    admin_page: Page, work: Callable[[], int], reporting_job: ReportingJob
) -> None:
    reporting_job.run_batch()
    admin_page.goto(f"{RULE}/edit")
    editor = admin_page.get_by_role("textbox", name="The rule")
    expect(editor).to_contain_text("1 minute")
    expect(admin_page.get_by_text("No worker has the past events")).to_be_visible()
    write(admin_page, json.dumps(processor_document(pattern=PATTERN | {"within": "1 hour"})))
    run = admin_page.get_by_role("button", name="Run backtest")
    expect(run).to_be_enabled()
    run.click()
    expect(admin_page.get_by_text("Waiting for a worker")).to_be_visible()
    assert work() == 1
    expect(admin_page.get_by_text("Compared with version 1")).to_be_visible()
    assert figures(admin_page, 0)["Matches"] == "11"
    assert figures(admin_page, 1) == {"Both": "10", "Gained": "1", "Lost": "0"}
    expect(admin_page.locator(".rollout-samples")).to_contain_text(MARKUP)


def test_a_published_rule_is_run_and_its_result_kept(
    admin_page: Page, work: Callable[[], int]
) -> None:
    admin_page.goto(f"{RULE}?tab=backtests")
    expect(admin_page.get_by_text("No backtests yet")).to_be_visible()
    admin_page.get_by_role("button", name="Run backtest").click()
    expect(admin_page.get_by_role("heading", name="Backtest #1")).to_be_visible()
    work()
    expect(admin_page.get_by_role("heading", name="First matches")).to_be_visible()
    assert figures(admin_page, 0)["Matches"] == "10"
    expect(admin_page.locator(".backtest-keys dt").first).to_have_text("user-0")
    admin_page.locator(".backtest-sample summary").first.click()
    expect(admin_page.locator(".backtest-sample .match-chart").first).to_be_visible()
    assert not violations(admin_page)
    admin_page.goto(f"{RULE}?tab=backtests")
    row = admin_page.get_by_role("row").nth(1)
    expect(row).to_contain_text("done")
    expect(admin_page.get_by_text("No worker has the past events")).not_to_be_visible()
    assert not violations(admin_page)


def test_a_proposal_shows_the_backtest_of_what_it_proposes(
    admin_page: Page, dashboard: ServedDashboard, work: Callable[[], int]
) -> None:
    wider = processor_document(pattern=PATTERN | {"within": "1 hour"})
    dashboard.post("/v1/backtests", {"document": wider, "against": "published"})
    dashboard.post("/v1/proposals", {"document": wider})
    work()
    admin_page.goto("/proposals/1")
    expect(admin_page.get_by_role("link", name="Backtest #1")).to_be_visible()
    assert figures(admin_page, 1) == {"Both": "10", "Gained": "1", "Lost": "0"}
    admin_page.get_by_role("button", name="Run backtest").click()
    expect(admin_page.get_by_role("link", name="Backtest #2")).to_be_visible()
    work()
    expect(admin_page.get_by_role("heading", name="First matches")).to_be_visible()
    assert not violations(admin_page)


def test_a_backtest_is_cancelled(admin_page: Page, dashboard: ServedDashboard) -> None:
    dashboard.post("/v1/backtests", {"processor_id": "failed-logins"})
    admin_page.goto("/streams/logins/backtests/1")
    admin_page.get_by_role("button", name="Cancel").click()
    expect(admin_page.get_by_text("This backtest was cancelled.")).to_be_visible()


def test_a_failure_is_told(
    admin_page: Page, dashboard: ServedDashboard, work: Callable[[], int], archive: Path
) -> None:
    archive.write_text("{", encoding="utf-8")
    dashboard.post("/v1/backtests", {"processor_id": "failed-logins"})
    work()
    admin_page.goto("/streams/logins/backtests/1")
    expect(admin_page.get_by_role("alert")).to_contain_text("history.jsonl: line 1")
