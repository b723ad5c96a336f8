"""`percept work`: backtests run where the events are; workers that die, are cancelled, run out."""

import json
import signal
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import polars as pl
import pytest

from api.backtests.turns import TURN_MS
from api.client import Client, NotEnded
from contract.backtests import RuleReport
from contract.service.backtests import BacktestView
from contract.service.tokens import Role
from processor_runtime.backtest.worker.archives import Archive, BadArchive, read_archives
from processor_runtime.backtest.worker.turns import Worker, WorkLimits
from processor_runtime.reporting.rule_service import RuleService
from tests.api.archives import run, work_process, write_archive
from tests.api.commands import Run, ended, write
from tests.api.documents import PATTERN, processor_document
from tests.api.listening import ListeningService
from tests.api.triage import bulk, found, post, selected
from tests.patience import PATIENCE_SECONDS, eventually

START_MS = 1_790_000_000_000
SLOW = {
    "steps": [
        {
            "name": "a",
            "where": "amount < 0 OR TRUE",
            "times": {"from": 1, "to": None},
            "inner": "allow_combinations",
        },
        {"name": "b", "contiguity": "followed_by_any", "where": "amount > 1e9"},
    ],
    "within": "10 days",
}
"""Its partial matches double with each event."""


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return write_archive(tmp_path / "archive", START_MS)


@dataclass(frozen=True)
class Desk:
    """Where backtests of the rule `failed-logins` are asked for and run."""

    listening: ListeningService
    client: Client

    def ask(self, rule: Any = "failed-logins", **options: Any) -> int:
        """Ask for a backtest, and return its number."""
        return self.client.backtests.request(rule, **options).number

    def ask_for_an_endless_one(self) -> int:
        limits = {"partial_matches_per_key": 10_000_000}
        return self.ask(processor_document(pattern=SLOW, limits=limits))

    def run(self, archive: Path, turns: int = 1, **limits: Any) -> None:
        """Let a worker with this archive run what waits."""
        assert run(self.listening, archive, **limits) == turns

    def read(self, number: int) -> BacktestView:
        return self.client.backtests.read(number)

    def rule_of(self, number: int) -> RuleReport:
        """Return what was found of the one rule of a backtest."""
        view = self.read(number)
        assert view.report is not None, view.error
        (rule,) = view.report.rules
        return rule

    def failed(self, number: int, told: str) -> None:
        """Fail if a backtest did not fail with these words."""
        failed = self.read(number)
        assert (failed.state, told in failed.error) == ("failed", True), failed.error


@pytest.fixture
def desk(listening: ListeningService, client_with_rule: Client) -> Desk:
    return Desk(listening, client_with_rule)


@pytest.mark.long
def test_it_finds_what_the_command_line_finds(desk: Desk, archive: Path, tmp_path: Path) -> None:
    wider = processor_document(pattern=PATTERN | {"within": "1 hour"})
    number = desk.ask(wider, against="published", since=START_MS, until="2100-01-01T00:00:00Z")
    desk.run(archive)
    told, rule = desk.client.backtests.wait(number), desk.rule_of(number)
    assert (told.state, rule.matches, told.gained, told.lost) == ("done", 2, 1, 0)
    assert told.events_total == 8
    assert rule.top_keys == {"eve": 1, "bob": 1}
    write(tmp_path / "stream.yaml", desk.client.stream("logins").document)
    wide = write(tmp_path / "wide.yaml", wider)
    old = write(tmp_path / "old.yaml", desk.client.get("failed-logins").document)
    given = [word for path in sorted(archive.glob("[a-z]*.jsonl")) for word in ("--events", path)]
    said = ended(0, "backtest", wide, "--against", old, *given, "--json")
    assert told.report is not None
    shown = told.report.model_dump(mode="json")
    timing = ("seconds", "events_per_second")
    assert without(shown, timing) == without(json.loads(said.stdout), timing)


def without(shown: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in shown.items() if name not in names}


@pytest.mark.long
def test_matches_are_scored_by_what_people_decided(desk: Desk, archive: Path) -> None:
    service = desk.listening.service
    post(service, found(1, version=7, start_ms=START_MS, end_ms=START_MS + 3_000))
    bulk(service, {"status": "resolved", "matches": selected(1)})
    number = desk.ask()
    desk.run(archive)
    labels = desk.rule_of(number).labels
    assert labels is not None
    assert (labels.true_positives, labels.precision, labels.recall) == (1, 1.0, 1.0)


@pytest.mark.long
def test_lists_that_a_rule_names_are_brought_to_the_worker(desk: Desk, archive: Path) -> None:
    lists = desk.client.lists("logins")
    lists.create("vip")
    lists.change("vip", add=["bob", "zoë"])
    steps = [
        step | {"where": f"{step['where']} AND user IN LIST('vip')"} for step in PATTERN["steps"]
    ]
    number = desk.ask(processor_document(pattern=PATTERN | {"within": "1 hour", "steps": steps}))
    desk.run(archive)
    assert desk.rule_of(number).top_keys == {"bob": 1}


@pytest.mark.long
def test_parquet_of_the_right_types_and_of_others_are_read_alike(
    desk: Desk, archive: Path, tmp_path: Path
) -> None:
    frame = pl.concat([pl.read_ndjson(path) for path in sorted(archive.glob("[a-z]*.jsonl"))])
    typed = frame.with_columns(pl.col("ts").str.to_datetime(time_unit="us", time_zone="UTC"))
    for name, content in (("texts", frame), ("times", typed), ("less", typed.drop("amount"))):
        path = tmp_path / f"{name}.parquet"
        content.write_parquet(path)
        number = desk.ask()
        desk.run(path)
        assert desk.rule_of(number).matches == 1
        assert desk.read(number).events_total == 8


@pytest.mark.long
def test_an_archive_that_cannot_be_read_is_told(desk: Desk, archive: Path) -> None:
    def is_told(error: str) -> None:
        number = desk.ask()
        desk.run(archive, most_events=7)
        desk.failed(number, error)

    is_told("more than 7 events")
    (archive / "0-.jsonl").write_text('{"user": 1}\n{"user": ', encoding="utf-8")
    is_told("0-.jsonl: line 2")
    for path in archive.iterdir():
        path.unlink()
    is_told("no files of events")


@pytest.mark.long
def test_matches_in_more_hours_than_a_report_holds_are_counted_by_the_day(
    desk: Desk, tmp_path: Path
) -> None:
    once = {"steps": [{"name": "fail", "where": "action = 'fail'"}]}
    number = desk.ask(processor_document(pattern=once))
    hours = pl.int_range(0, 40_000, eager=True) * 3_600_000 + 1_000_000_000_000
    desk.run(failures_at(hours, tmp_path))
    rule = desk.rule_of(number)
    assert (rule.counted_by, sum(rule.by_hour.values())) == ("day", 40_000)


@pytest.mark.long
def test_a_report_that_the_service_refuses_is_told_and_the_worker_goes_on(
    desk: Desk, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = [desk.ask() for _ in range(2)]
    monkeypatch.setattr("api.backtests.turns.REPORT_BYTES", 10)
    desk.run(archive, turns=2)
    for number in numbers:
        desk.failed(number, "does not take what it has found")


@pytest.mark.long
def test_a_backtest_without_end_is_ended(desk: Desk, tmp_path: Path) -> None:
    number = desk.ask_for_an_endless_one()
    desk.run(many_events(tmp_path), seconds=6)
    desk.failed(number, "longer than 6 seconds")


@pytest.mark.long
def test_a_backtest_that_takes_too_much_memory_takes_itself_away_alone(
    desk: Desk, tmp_path: Path, archive: Path
) -> None:
    number = desk.ask_for_an_endless_one()
    desk.run(many_events(tmp_path), memory_mb=500)
    desk.failed(number, "memory")
    desk.ask()
    desk.run(archive)


def many_events(folder: Path) -> Path:
    return failures_at(pl.int_range(START_MS, START_MS + 400, eager=True), folder)


def failures_at(times: pl.Series, folder: Path) -> Path:
    """Write failures of one user at these times, in milliseconds."""
    path = folder / "many.parquet"
    at = times.cast(pl.Datetime("ms", "UTC")).dt.cast_time_unit("us")
    pl.DataFrame({"user": "eve", "action": "fail", "amount": 1.5, "ts": at}).write_parquet(path)
    return path


@pytest.mark.long
def test_a_cancelled_backtest_frees_its_worker(desk: Desk, tmp_path: Path) -> None:
    number = desk.ask_for_an_endless_one()
    at_work = threading.Thread(target=run, args=(desk.listening, many_events(tmp_path)))
    at_work.start()
    eventually(lambda: desk.read(number).events_total > 0)
    desk.client.backtests.cancel(number)
    at_work.join(PATIENCE_SECONDS)
    assert not at_work.is_alive()
    assert desk.read(number).state == "cancelled"


@pytest.mark.long
def test_a_worker_that_is_stopped_gives_its_backtest_back(
    desk: Desk, tmp_path: Path, archive: Path
) -> None:
    number = desk.ask_for_an_endless_one()
    with work_process(desk.listening, many_events(tmp_path)) as process:
        eventually(lambda: desk.read(number).state == "running")
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_SECONDS) == 0
    assert desk.read(number).state == "queued"
    desk.run(archive)  # at once, as the turn has ended
    assert desk.read(number).worker == "one"


@pytest.mark.long
def test_the_turn_is_told_of_before_each_list_is_fetched(
    desk: Desk, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two"):
        desk.client.lists("logins").create(name)
    steps = [{"name": "a", "where": "user IN LIST('one') OR user IN LIST('two')"}]
    number = desk.ask(processor_document(pattern={"steps": steps}))
    whole, ask = RuleService.ask, []

    def slow(self: RuleService, method: str, path: str, *rest: Any) -> Any:
        ask.append(path.rpartition("/")[2] if "contents" not in path else "list")
        if ask[-1] == "list":
            desk.listening.service.clock.time_ms += TURN_MS * 2 // 3
        return whole(self, method, path, *rest)

    monkeypatch.setattr(RuleService, "ask", slow)
    desk.run(archive)
    assert ask[:5] == ["claim", "progress", "list", "progress", "list"]
    assert desk.read(number).state == "done"


@pytest.mark.long
def test_a_backtest_whose_worker_was_killed_is_run_by_another_one(
    desk: Desk, tmp_path: Path, archive: Path
) -> None:
    number = desk.ask_for_an_endless_one()
    with work_process(desk.listening, many_events(tmp_path)) as process:
        eventually(lambda: desk.read(number).state == "running")
        with pytest.raises(NotEnded, match="is running after 0 s"):
            desk.client.backtests.wait(number, timeout_seconds=0)
        process.send_signal(signal.SIGKILL)
    desk.run(archive, turns=0)  # it still has its turn
    desk.listening.service.clock.time_ms += TURN_MS + 1
    desk.run(archive)
    view = desk.read(number)
    assert (view.state, view.worker) == ("done", "one")


@pytest.mark.long
def test_the_command_runs_what_waits_and_ends(desk: Desk, archive: Path, run: Run) -> None:
    number = desk.ask()
    words = ("work", "--archive", f"logins={archive}/*.jsonl", "--once")
    run(*words, role=Role.JOB, code=0)
    assert desk.read(number).matches == 1
    for wrong, told in (
        (("work", "--archive", "logins"), "logins=/data"),
        ((*words, "--archive", f"logins={archive}"), "has one"),
        (("work", "--archive", "logins=/nowhere"), "no files of events"),
        ((*words, "--token-env", "NO_SUCH_TOKEN"), "NO_SUCH_TOKEN is not set"),
        ((*words, "--name", "not a name"), "--name"),
    ):
        assert told in run(*wrong, role=Role.JOB, code=2).output
    assert "the role job" in run(*words, role=Role.VIEWER, code=1).output


def test_archives_are_files_folders_and_patterns(archive: Path) -> None:
    for place in (f"{archive}", f"{archive}/*.jsonl", f"{archive.parent}/**/[a-z]*.jsonl"):
        names = [path.name for path in Archive("logins", place).files()]
        assert names == ["bob.jsonl", "eve.jsonl"], place
    with pytest.raises(BadArchive, match="no files of events"):
        Archive("logins", f"{archive}/*.csv").files()


def test_a_service_that_is_away_is_asked_again_later_and_later_and_not_before_it_says(
    archive: Path,
) -> None:
    pauses: list[float] = []

    class Stop(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            pauses.append(timeout or 0.0)
            return False

    answers = [httpx2.Response(503)] * 3
    answers += [httpx2.Response(429, headers={"Retry-After": "77"}), httpx2.Response(503)]
    answers.append(httpx2.Response(200, json={"task": None}))
    transport = httpx2.MockTransport(lambda _request: answers.pop(0))
    service = RuleService("http://rules.test", lambda: "token", transport=transport)
    archives = read_archives([f"logins={archive}"])
    assert Worker(service, "one", archives, WorkLimits(), None, Stop()).run(until_idle=True) == 0
    assert not answers
    first, second, third, asked, last = pauses
    assert 0.5 <= first <= 1 <= second <= 2 <= third <= 4
    assert (asked, 8 <= last <= 16) == (77.0, True)
