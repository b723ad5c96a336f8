"""Why there was no match for a key in the past, on the page of a rule: asked, answered, shown."""

import json
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from contract.service.tokens import Role
from processor_runtime.backtest.worker.archives import read_archives
from processor_runtime.backtest.worker.turns import Worker, WorkLimits
from processor_runtime.reporting.rule_service import RuleService
from tests.api.documents import PATTERN, processor_document
from tests.dashboard.accessibility import violations
from tests.dashboard.browsing import Guard
from tests.dashboard.serving import MARKUP, ServedDashboard
from tests.patience import PATIENCE_SECONDS

RULE = "/streams/logins/rules/failed-logins?tab=matches"
START_MS = 1_790_000_000_000
DAY_MS = 86_400_000


@pytest.fixture(autouse=True)
def _rule(dashboard: ServedDashboard) -> None:
    dashboard.publish(processor_document(pattern=PATTERN | {"within": "1 minute"}))


@pytest.fixture
def worker(dashboard: ServedDashboard, tmp_path: Path) -> Iterator[None]:
    """A worker that runs meanwhile, with a key whose attempts all time out."""
    events = [
        {"user": MARKUP, "action": action, "ts": START_MS + place * 100_000}
        for place, action in enumerate(("fail", "fail", "fail", "login"))
    ]
    history = tmp_path / "history.jsonl"
    history.write_text("\n".join(map(json.dumps, events)), encoding="utf-8")
    service = RuleService(dashboard.url, lambda: dashboard.token_of[Role.JOB])
    stop = threading.Event()
    archives = read_archives([f"logins={history}"])
    working = Worker(service, "one", archives, WorkLimits(), None, stop)
    thread = threading.Thread(target=partial(working.run, until_idle=False, pause_seconds=0.1))
    thread.start()
    yield
    stop.set()
    thread.join()
    service.close()


def ask(page: Page) -> None:
    page.goto(RULE)
    page.get_by_label("Key: user").fill(MARKUP)
    for label, at_ms in (("From", START_MS - DAY_MS), ("Until", START_MS + DAY_MS)):
        local = page.evaluate(
            "ms => new Date(ms - new Date(ms).getTimezoneOffset() * 60000)"
            ".toISOString().slice(0, 16)",
            at_ms,
        )
        page.get_by_label(label, exact=True).fill(local)
        page.get_by_label(label, exact=True).dispatch_event("change")
    page.get_by_role("button", name="Explain").click()


@pytest.mark.usefixtures("worker")
def test_what_a_worker_tells_is_shown_in_words(admin_page: Page) -> None:
    seen = "/v1/backtests/workers?stream=logins"
    admin_page.goto(RULE)
    admin_page.wait_for_function(
        "path => fetch(path).then(r => r.json()).then(seen => seen.workers.length > 0)",
        arg=seen,
        timeout=PATIENCE_SECONDS * 1_000,
    )
    ask(admin_page)
    lines = admin_page.locator(".why-lines")
    expect(lines).to_contain_text(
        f"failed-logins, key {MARKUP}: no match", timeout=PATIENCE_SECONDS * 1_000
    )
    expect(lines.locator(".red").first).to_contain_text("until its window closed at")
    expect(lines.locator(".green").first).to_contain_text("fail  event 1")
    assert not violations(admin_page)


def test_without_a_worker_it_says_how_to_give_the_archive(admin_page: Page, guard: Guard) -> None:
    guard.expect(409)
    ask(admin_page)
    expect(admin_page.get_by_text("percept work --archive logins=PATH")).to_be_visible()
