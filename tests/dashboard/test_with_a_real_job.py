"""The whole of it: a rule is written in a browser, and a real job on Spark runs it.

editor ──publish──► service ──► percept run (Spark) ──matches──► service ──► page of matches
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from cep.instants import instant_ms, iso_text
from contract.service.tokens import Role
from tests.api.documents import RULE_TEXT
from tests.dashboard.browsing import sign_in, write
from tests.dashboard.serving import ServedDashboard, served_copy
from tests.processor_runtime.resilience.job_process import (
    PATIENCE_SECONDS,
    JobProcess,
    has_finished,
    job_document,
    write_events,
)
from tests.processor_runtime.written_rows import written

PATIENCE_MS = PATIENCE_SECONDS * 1_000
RULE = "/streams/logins/rules/guessed"
BEGIN_MS = instant_ms("2026-01-15T08:00:00Z")
EFFECTIVE_MS = BEGIN_MS + 630_000
TEXT = RULE_TEXT.replace("failed-logins", "guessed").replace("times: 3", "times: 2")
TEXT += f"effective_from: {iso_text(EFFECTIVE_MS)}\nselect: {{who: login.user}}\n"
TENTH_MS = 100


class Events:
    """The events that the job reads, in files of `in`; time goes on by itself."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files = 0
        self._now_ms = BEGIN_MS
        (folder / "in").mkdir()

    def jump(self, time_ms: int) -> None:
        self._now_ms = time_ms

    def give(self, *actions: str) -> None:
        """Give actions of eve, one every tenth of a second."""
        events = []
        for action in actions:
            events.append({"user": "eve", "action": action, "ts": iso_text(self._now_ms)})
            self._now_ms += TENTH_MS
        write_events(self._folder, f"{self._files:04}", events)
        self._files += 1

    def pass_time(self) -> None:
        """Give an event a minute later, which concerns no rule: all before it are on time."""
        self.jump(self._now_ms + 60_000)
        self.give("nothing")

    def are_read(self) -> bool:
        return has_finished(self._folder / "checkpoint", self._files)


@pytest.fixture
def dashboard(migrated_file: Path, tmp_path: Path) -> Iterator[ServedDashboard]:
    """A service that wants to be told twice a second how its jobs fare."""
    with served_copy(migrated_file, tmp_path, heartbeat_seconds=0.5) as served:
        yield served


@pytest.fixture
def events(tmp_path: Path) -> Events:
    return Events(tmp_path)


@pytest.fixture
def job(dashboard: ServedDashboard, events: Events, tmp_path: Path) -> Iterator[JobProcess]:
    """`percept run` as a process of its own; skipped where there is no Java, unless CI is set."""
    if shutil.which("java") is None:
        missing = "Spark needs Java 17 or newer, and there is no `java` on the PATH"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(missing)
    events.give("nothing")
    of_service = {"url": dashboard.url, "token_env": "PERCEPT_TOKEN"}
    document = job_document(
        stream="logins",
        discoverer={"type": "http"} | of_service,
        service=of_service,
        outputs=[{"type": "json", "path": "out", "kinds": ["match", "error"]}, {"type": "service"}],
    )
    token = {"PERCEPT_TOKEN": dashboard.token_of[Role.JOB]}
    with JobProcess(tmp_path, document, token) as process:
        yield process


def let_time_pass_until(
    job: JobProcess, events: Events, dashboard: ServedDashboard, state: str
) -> None:
    """Give events until the job does this with the rule; it takes changes between two batches."""

    def is_there() -> bool:
        events.give("nothing")
        job.wait_until(events.are_read)
        lines = dashboard.get("/v1/streams/logins/processors/guessed/running")["jobs"]
        return [line["state"] for line in lines] == [state]

    job.wait_until(is_there)


@pytest.mark.nightly
@pytest.mark.spark
@pytest.mark.long
def test_a_rule_from_the_editor_runs_in_a_real_job_and_what_it_finds_is_shown(
    page: Page, dashboard: ServedDashboard, job: JobProcess, events: Events, tmp_path: Path
) -> None:
    # While Spark starts, the rule is written; it shall run from an event time on.
    sign_in(page, dashboard.token_of[Role.PUBLISHER])
    page.goto("/streams/logins/new-rule")
    write(page, TEXT)
    page.get_by_role("button", name="Publish…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Reason").fill("guesses rise")
    dialog.get_by_role("button", name="Schedule").click()
    page.wait_for_url(f"**{RULE}")
    state = page.locator(".page-header .state").first

    let_time_pass_until(job, events, dashboard, "pending")
    events.give("nothing")  # the first batch knows no watermark yet
    expect(state).to_have_text("pending in 10 min of event time")
    events.jump(EFFECTIVE_MS)
    let_time_pass_until(job, events, dashboard, "active")
    expect(state).to_have_text("active")

    page.goto("/streams/logins/matches")
    expect(page.locator(".tail-status")).to_have_text("live")
    events.give("fail", "fail", "login")
    events.pass_time()
    found = page.locator(".found")
    expect(found).to_have_count(1, timeout=PATIENCE_MS)
    expect(found).to_contain_text("guessed")
    expect(found).to_contain_text("who eve")

    # Half a match is told to whoever asks about its key.
    page.goto(RULE)
    events.give("fail")
    events.pass_time()
    page.get_by_label("Key: user").fill("eve")
    page.get_by_role("button", name="Show", exact=True).click()
    asked = page.get_by_role("table", name="Partial matches of the key")

    def is_told() -> bool:
        events.give("nothing")
        job.wait_until(events.are_read)
        return asked.count() > 0

    job.wait_until(is_told)
    expect(asked.get_by_role("row").nth(1)).to_contain_text("fail")

    page.get_by_role("button", name="Pause").click()
    page.get_by_role("dialog").get_by_role("button", name="Pause").click()
    let_time_pass_until(job, events, dashboard, "paused")
    in_job = page.get_by_role("table", name="This rule in each job")
    expect(in_job.get_by_role("row", name="test")).to_contain_text("paused")

    events.give("fail", "fail", "login")
    events.pass_time()
    events.pass_time()
    job.wait_until(events.are_read)
    assert job.stop() == 0
    assert [row["output"] for row in written(tmp_path)] == [{"who": "eve"}]
