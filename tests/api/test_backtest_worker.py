"""`percept work`: backtests run where the events are; workers that die, are cancelled, run out."""

import json
import signal
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx2
import polars as pl
import pytest
from typer.testing import CliRunner

from api.backtests.turns import TURN_MS
from api.client import Client, NotEnded
from contract.service.tokens import Role
from percept.command_line import app
from processor_runtime.backtest.worker.archives import Archive, BadArchive, read_archives
from processor_runtime.backtest.worker.turns import Worker, WorkLimits
from processor_runtime.reporting.rule_service import RuleService
from tests.api.archives import run, work_process, write_archive
from tests.api.documents import PATTERN, processor_document
from tests.api.listening import ListeningService
from tests.api.triage import bulk, found, post, selected
from tests.patience import PATIENCE_SECONDS, eventually

START_MS = 1_790_000_000_000
SLOW = PATTERN | {
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
AS_MANY = {"partial_matches_per_key": 10_000_000}


@pytest.fixture
def client(client_with_rule: Client) -> Client:
    return client_with_rule


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return write_archive(tmp_path / "archive", START_MS)


# --- what it finds


@pytest.mark.long
def test_it_finds_what_the_command_line_finds(
    listening: ListeningService, client: Client, archive: Path, tmp_path: Path
) -> None:
    wider = processor_document(pattern=PATTERN | {"within": "1 hour"})
    asked = client.backtests.request(
        wider, against="published", since=START_MS, until="2100-01-01T00:00:00Z"
    )
    assert run(listening, archive) == 1
    ended = client.backtests.wait(asked.number)
    assert ended.report is not None
    (rule,) = ended.report.rules
    assert (ended.state, rule.matches, ended.gained, ended.lost) == ("done", 2, 1, 0)
    assert ended.events_total == 8
    assert rule.top_keys == {"eve": 1, "bob": 1}
    files = {
        "stream.yaml": client.stream("logins").document,
        "wide.yaml": wider,
        "old.yaml": client.get("failed-logins").document,
    }
    for name, document in files.items():
        (tmp_path / name).write_text(json.dumps(document), encoding="utf-8")
    words = ["backtest", str(tmp_path / "wide.yaml"), "--against", str(tmp_path / "old.yaml")]
    for path in sorted(archive.glob("[a-z]*.jsonl")):
        words += ["--events", str(path)]
    said = CliRunner().invoke(app, [*words, "--json"])
    assert said.exit_code == 0, said.output
    shown = ended.report.model_dump(mode="json")
    timing = ("seconds", "events_per_second")
    assert without(shown, timing) == without(json.loads(said.stdout), timing)


def without(shown: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in shown.items() if name not in names}


@pytest.mark.long
def test_matches_are_scored_by_what_people_decided(
    listening: ListeningService, client: Client, archive: Path
) -> None:
    times = {"start_ms": START_MS, "end_ms": START_MS + 3_000}
    post(listening.service, found(1, version=7, **times))
    bulk(listening.service, {"status": "resolved", "matches": selected(1)})
    asked = client.backtests.request("failed-logins")
    run(listening, archive)
    report = client.backtests.read(asked.number).report
    assert report is not None
    labels = report.rules[0].labels
    assert labels is not None
    assert (labels.true_positives, labels.precision, labels.recall) == (1, 1.0, 1.0)


@pytest.mark.long
def test_lists_that_a_rule_names_are_brought_to_the_worker(
    listening: ListeningService, client: Client, archive: Path
) -> None:
    service, lists = listening.service, "/v1/streams/logins/lists"
    headers = service.as_role(Role.PUBLISHER)
    for path, body in (
        (lists, {"name": "vip", "type": "STRING"}),
        (f"{lists}/vip/changes", {"add": ["bob", "zoë"]}),
    ):
        assert service.client.post(path, json=body, headers=headers).is_success
    steps = [
        step | {"where": f"{step['where']} AND user IN LIST('vip')"} for step in PATTERN["steps"]
    ]
    rule = processor_document(pattern=PATTERN | {"within": "1 hour", "steps": steps})
    asked = client.backtests.request(rule)
    assert run(listening, archive) == 1
    ended = client.backtests.read(asked.number)
    assert ended.report is not None, ended.error
    assert ended.report.rules[0].top_keys == {"bob": 1}


@pytest.mark.long
def test_parquet_of_the_right_types_and_of_others_are_read_alike(
    listening: ListeningService, client: Client, archive: Path, tmp_path: Path
) -> None:
    frame = pl.concat([pl.read_ndjson(path) for path in sorted(archive.glob("[a-z]*.jsonl"))])
    typed = frame.with_columns(pl.col("ts").str.to_datetime(time_unit="us", time_zone="UTC"))
    reports = []
    for name, content in (("texts", frame), ("times", typed), ("less", typed.drop("amount"))):
        path = tmp_path / f"{name}.parquet"
        content.write_parquet(path)
        asked = client.backtests.request("failed-logins")
        run(listening, path)
        ended = client.backtests.read(asked.number)
        assert ended.report is not None, ended.error
        reports.append((ended.report.events, ended.report.rules[0].matches))
    assert reports == [(8, 1)] * 3


# --- what goes wrong


@pytest.mark.long
def test_an_archive_that_cannot_be_read_is_told(
    listening: ListeningService, client: Client, archive: Path
) -> None:
    def error(**request: Any) -> str:
        asked = client.backtests.request("failed-logins", **request)
        run(listening, archive, most_events=7)
        failed = client.backtests.read(asked.number)
        assert failed.state == "failed"
        return failed.error

    assert "more than 7 events" in error()
    (archive / "0-.jsonl").write_text('{"user": 1}\n{"user": ', encoding="utf-8")
    assert "0-.jsonl: line 2" in error()
    for path in archive.iterdir():
        path.unlink()
    assert "no files of events" in error()


@pytest.mark.long
def test_matches_in_more_hours_than_a_report_holds_are_counted_by_the_day(
    listening: ListeningService, client: Client, tmp_path: Path
) -> None:
    once = {"steps": [{"name": "fail", "where": "action = 'fail'"}]}
    asked = client.backtests.request(processor_document(pattern=once))
    path = tmp_path / "hours.parquet"
    times = pl.int_range(0, 40_000, eager=True) * 3_600_000 + 1_000_000_000_000
    times = times.cast(pl.Datetime("ms", "UTC")).dt.cast_time_unit("us")
    pl.DataFrame({"user": "eve", "action": "fail", "amount": 1.5, "ts": times}).write_parquet(path)
    assert run(listening, path) == 1
    ended = client.backtests.read(asked.number)
    assert ended.report is not None, ended.error
    (rule,) = ended.report.rules
    assert (rule.counted_by, sum(rule.by_hour.values())) == ("day", 40_000)


@pytest.mark.long
def test_a_report_that_the_service_refuses_is_told_and_the_worker_goes_on(
    listening: ListeningService, client: Client, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = [client.backtests.request("failed-logins") for _ in range(2)]
    monkeypatch.setattr("api.backtests.turns.REPORT_BYTES", 10)
    assert run(listening, archive) == 2
    for each in asked:
        failed = client.backtests.read(each.number)
        assert (failed.state, "does not take what it has found" in failed.error) == ("failed", True)


@pytest.mark.long
def test_a_backtest_without_end_is_ended(
    listening: ListeningService, client: Client, tmp_path: Path
) -> None:
    asked = client.backtests.request(processor_document(pattern=SLOW, limits=AS_MANY))
    path = many_events(tmp_path)
    assert run(listening, path, seconds=6) == 1
    failed = client.backtests.read(asked.number)
    assert (failed.state, "longer than 6 seconds" in failed.error) == ("failed", True)


@pytest.mark.long
def test_a_backtest_that_takes_too_much_memory_takes_itself_away_alone(
    listening: ListeningService, client: Client, tmp_path: Path, archive: Path
) -> None:
    asked = client.backtests.request(processor_document(pattern=SLOW, limits=AS_MANY))
    path = many_events(tmp_path)
    assert run(listening, path, memory_mb=500) == 1
    failed = client.backtests.read(asked.number)
    assert (failed.state, "memory" in failed.error) == ("failed", True), failed.error
    client.backtests.request("failed-logins")
    assert run(listening, archive) == 1


def many_events(folder: Path) -> Path:
    path = folder / "many.parquet"
    times = pl.int_range(START_MS, START_MS + 400, eager=True).cast(pl.Datetime("ms", "UTC"))
    times = times.dt.cast_time_unit("us")
    pl.DataFrame({"user": "eve", "action": "fail", "amount": 1.5, "ts": times}).write_parquet(path)
    return path


@pytest.mark.long
def test_a_cancelled_backtest_frees_its_worker(
    listening: ListeningService, client: Client, tmp_path: Path
) -> None:
    asked = client.backtests.request(processor_document(pattern=SLOW, limits=AS_MANY))
    path = many_events(tmp_path)
    at_work = threading.Thread(target=run, args=(listening, path))
    at_work.start()
    eventually(lambda: client.backtests.read(asked.number).events_total > 0)
    client.backtests.cancel(asked.number)
    at_work.join(PATIENCE_SECONDS)
    assert not at_work.is_alive()
    assert client.backtests.read(asked.number).state == "cancelled"


@pytest.mark.long
def test_a_worker_that_is_stopped_gives_its_backtest_back(
    listening: ListeningService, client: Client, tmp_path: Path, archive: Path
) -> None:
    asked = client.backtests.request(processor_document(pattern=SLOW, limits=AS_MANY))
    with work_process(listening, many_events(tmp_path)) as process:
        eventually(lambda: client.backtests.read(asked.number).state == "running")
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_SECONDS) == 0
    assert client.backtests.read(asked.number).state == "queued"
    assert run(listening, archive) == 1  # at once, as the turn has ended
    assert client.backtests.read(asked.number).worker == "one"


@pytest.mark.long
def test_the_turn_is_told_of_before_each_list_is_fetched(
    listening: ListeningService, client: Client, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service, lists = listening.service, "/v1/streams/logins/lists"
    headers = service.as_role(Role.PUBLISHER)
    for name in ("one", "two"):
        body = {"name": name, "type": "STRING"}
        assert service.client.post(lists, json=body, headers=headers).is_success
    steps = [{"name": "a", "where": "user IN LIST('one') OR user IN LIST('two')"}]
    asked = client.backtests.request(processor_document(pattern={"steps": steps}))
    whole, ask = RuleService.ask, []

    def slow(self: RuleService, method: str, path: str, *rest: Any) -> Any:
        ask.append(path.rpartition("/")[2] if "contents" not in path else "list")
        if ask[-1] == "list":
            service.clock.time_ms += TURN_MS * 2 // 3
        return whole(self, method, path, *rest)

    monkeypatch.setattr(RuleService, "ask", slow)
    assert run(listening, archive) == 1
    assert ask[:5] == ["claim", "progress", "list", "progress", "list"]
    assert client.backtests.read(asked.number).state == "done"


@pytest.mark.long
def test_a_backtest_whose_worker_was_killed_is_run_by_another_one(
    listening: ListeningService, client: Client, tmp_path: Path, archive: Path
) -> None:
    asked = client.backtests.request(processor_document(pattern=SLOW, limits=AS_MANY))
    with work_process(listening, many_events(tmp_path)) as process:
        eventually(lambda: client.backtests.read(asked.number).state == "running")
        with pytest.raises(NotEnded, match="is running after 0 s"):
            client.backtests.wait(asked.number, timeout_seconds=0)
        process.send_signal(signal.SIGKILL)
    assert run(listening, archive) == 0  # it still has its turn
    listening.service.clock.time_ms += TURN_MS + 1
    assert run(listening, archive) == 1
    ended = client.backtests.read(asked.number)
    assert (ended.state, ended.worker) == ("done", "one")


# --- the command


@pytest.mark.long
def test_the_command_runs_what_waits_and_ends(
    listening: ListeningService, client: Client, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERCEPT_TOKEN", listening.service.token_of[Role.JOB])
    asked = client.backtests.request("failed-logins")
    words = ["work", "--archive", f"logins={archive}/*.jsonl", "--url", listening.url, "--once"]
    said = CliRunner().invoke(app, words)
    assert said.exit_code == 0, said.output
    assert client.backtests.read(asked.number).matches == 1
    for wrong, told in (
        (["work", "--archive", "logins", "--url", listening.url], "logins=/data"),
        ([*words, "--archive", f"logins={archive}"], "has one"),
        (["work", "--archive", "logins=/nowhere", "--url", listening.url], "no files of events"),
        ([*words, "--token-env", "NO_SUCH_TOKEN"], "NO_SUCH_TOKEN is not set"),
        ([*words, "--name", "not a name"], "--name"),
    ):
        refused = CliRunner().invoke(app, wrong)
        assert (refused.exit_code, told in refused.output) == (2, True), refused.output
    monkeypatch.setenv("PERCEPT_TOKEN", listening.service.token_of[Role.VIEWER])
    refused = CliRunner().invoke(app, words)
    assert (refused.exit_code, "the role job" in refused.output) == (1, True), refused.output


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
