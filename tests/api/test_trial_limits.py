"""What is tried runs in a process with limits of time and memory; the service goes on meanwhile."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from api.trials.processes import BeyondLimit, Stopping, TrialFailed, TrialProcesses
from cep.signing.keys import SigningKey
from contract.service.tokens import Role
from tests.api.documents import STREAM, processor_document
from tests.api.listening import ListeningService, listening_service
from tests.api.serving import served
from tests.kept_workers import own_workers
from tests.patience import FAR_LONGER_SECONDS, PATIENCE_SECONDS, eventually

TRUE_OF_NONE = " OR ".join(
    f"SUM(a.amount) > {least} AND MAX(a.amount) > {least}" for least in range(1_000, 1_020)
)
# Each event is tested against each before it, with aggregates: half a minute for 54 kB.
SLOW = {
    "steps": [{"name": "a"}, {"name": "z", "contiguity": "followed_by", "where": TRUE_OF_NONE}],
}
SLOW_EVENTS = [{"ts": index, "user": "u"} for index in range(1_999)]
# Each event becomes a match with outputs of 3.6 MB: hundreds of megabytes for 200 kB.
LARGE = {"steps": [{"name": "a"}]}
LARGE_OUTPUT = {f"o{number}": f"CONCAT({', '.join(['a.user'] * 100)})" for number in range(60)}
LARGE_EVENTS = [{"ts": index, "user": "x" * 600} for index in range(200)]
QUICK = {"steps": [{"name": "a", "where": "action = 'fail'"}]}


def trial_of(pattern: Any, events: list[Any], **changes: Any) -> dict[str, Any]:
    document = processor_document(pattern=pattern, **changes)
    return {"text": json.dumps(document), "format": "json", "events": events}


def task(pattern: Any, events: list[Any]) -> dict[str, Any]:
    rule = {
        "definition": {"pattern": pattern, "key_by": None},
        "schema": STREAM["schema"],
        "time": {"column": "ts", "order_by": []},
    }
    return {"rule": rule, "events": events, "let_time_pass": False}


def is_running(process_id: int) -> bool:
    try:
        status = Path(f"/proc/{process_id}/stat").read_text(encoding="ascii")
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def children(process_id: int) -> set[int]:
    """Return the processes that another one has started."""
    lists = Path(f"/proc/{process_id}/task").glob("*/children")
    return {int(each) for found in lists for each in found.read_text(encoding="ascii").split()}


@pytest.fixture
def limited(sqlite_store: str) -> Iterator[ListeningService]:
    """A service whose trials may take two seconds."""
    with listening_service(sqlite_store, trial_seconds=2) as running:
        yield running


def flaw_of(listening: ListeningService, body: dict[str, Any]) -> Any:
    """Try a rule, which must be refused, and return why."""
    (flaw,) = listening.service.post("/v1/drafts/trial", Role.ADMIN, body, expect=422)["errors"]
    return flaw


@pytest.fixture(autouse=True)
def _own_workers() -> Iterator[None]:
    with own_workers():
        yield


@pytest.fixture
def processes() -> Iterator[TrialProcesses]:
    """Workers that may take as long as they want."""
    made = TrialProcesses(FAR_LONGER_SECONDS, 500)
    yield made
    made.close()


@contextmanager
def beside(act: Callable[[], object]) -> Iterator[list[object]]:
    """Let something happen in a thread meanwhile; yields what comes of it, once it has."""
    came: list[object] = []

    def run() -> None:
        try:
            came.append(act())
        except (Stopping, TrialFailed) as error:
            came.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    yield came
    thread.join()


@pytest.mark.long
def test_a_trial_that_takes_too_long_is_refused_and_the_next_one_answered(
    limited: ListeningService,
) -> None:
    flaw = flaw_of(limited, trial_of(SLOW, SLOW_EVENTS))
    assert flaw["pointer"] == "/events"
    assert flaw["detail"] == "It takes longer than the limit of 2 seconds."
    assert "fewer" in flaw["remedy"]
    quick = trial_of(QUICK, [{"ts": 1, "action": "fail"}])
    answer = limited.service.post("/v1/drafts/trial", Role.ADMIN, quick)
    assert len(answer["matches"]) == 1


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux only")
def test_a_trial_that_takes_too_much_memory_is_refused(sqlite_store: str) -> None:
    with listening_service(sqlite_store, trial_megabytes=150) as limited:
        flaw = flaw_of(limited, trial_of(LARGE, LARGE_EVENTS, select=LARGE_OUTPUT))
        assert flaw["detail"] == "It takes more memory than the limit of 150 MB."


def test_a_trial_whose_answer_would_be_too_long_is_refused(limited: ListeningService) -> None:
    outputs = dict(list(LARGE_OUTPUT.items())[:2])
    flaw = flaw_of(limited, trial_of(LARGE, LARGE_EVENTS[:100], select=outputs))
    assert flaw["detail"] == "What it finds is too long to be answered."


@pytest.mark.long
def test_examples_that_take_too_long_are_refused_where_they_stand(
    limited: ListeningService,
) -> None:
    examples = [{"events": SLOW_EVENTS[:500], "matches": []}] * 4
    document = processor_document(pattern=SLOW, examples=examples)
    draft = {"text": json.dumps(document), "format": "json"}
    for path, body, told in (
        ("/v1/validate", document, "errors"),
        ("/v1/processors", document, "errors"),
        ("/v1/drafts/check", draft, "problems"),
    ):
        (flaw,) = limited.service.send("POST", path, body).json()[told]
        assert flaw["pointer"] == "/examples"
        assert "longer than the limit" in flaw["detail"]


@pytest.mark.long
def test_many_trials_at_once_are_answered_or_put_off_and_the_service_lives(
    limited: ListeningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = limited.service.app.state.runtime.trials._turns
    monkeypatch.setattr(turns, "_wait_seconds", 3)
    headers = dict(limited.service.client.headers)

    async def attack() -> tuple[list[httpx2.Response], int]:
        async with limited.asynchronous_client() as client:
            body = trial_of(SLOW, SLOW_EVENTS)
            trials = [client.post("/v1/drafts/trial", json=body) for _ in range(20)]
            under_way = asyncio.gather(*trials)
            healthy = 0
            while not under_way.done():
                answer = await client.get("/healthz", timeout=PATIENCE_SECONDS)
                listed = await client.get("/v1/processors", headers=headers)
                assert (answer.status_code, listed.status_code) == (200, 200)
                healthy += 1
                await asyncio.sleep(0.05)
            return await under_way, healthy

    answers, healthy = asyncio.run(attack())
    counts = Counter(answer.status_code for answer in answers)
    assert set(counts) == {422, 503}
    for answer in answers:
        if answer.status_code == 503:
            assert int(answer.headers["Retry-After"]) > 0
            assert "trying a rule" in answer.json()["detail"]
    assert healthy > 1


@pytest.mark.long
def test_a_worker_that_is_killed_is_replaced_and_its_task_done_by_another(
    processes: TrialProcesses,
) -> None:
    work = task(SLOW, SLOW_EVENTS[:300])
    expected = processes.run("trial", work)
    (first,) = processes._idle
    with beside(lambda: processes.run("trial", work)) as found:
        eventually(lambda: not processes._idle)
        os.kill(first._process.pid, signal.SIGKILL)
    assert found == [expected]
    assert first not in processes._workers


@pytest.mark.long
def test_workers_that_die_idle_are_not_taken_for_the_fault_of_a_task(
    processes: TrialProcesses,
) -> None:
    work = task(QUICK, [])
    processes.run("trial", work)
    (idle,) = processes._idle
    os.kill(idle._process.pid, signal.SIGKILL)
    idle._process.wait()
    assert b"matches" in processes.run("trial", work)


@pytest.mark.long
def test_a_task_that_kills_each_worker_is_told_and_not_tried_for_ever(
    processes: TrialProcesses,
) -> None:
    def kill_each() -> None:
        while not done.wait(0.01):
            for worker in list(processes._workers):
                if worker._is_ready:
                    worker._process.kill()

    done = threading.Event()
    killer = threading.Thread(target=kill_each)
    killer.start()
    try:
        with pytest.raises(BeyondLimit, match="twice"):
            processes.run("trial", task(SLOW, SLOW_EVENTS))
    finally:
        done.set()
        killer.join()


def test_a_task_that_fails_says_where(processes: TrialProcesses) -> None:
    with pytest.raises(TrialFailed, match="KeyError"):
        processes.run("no such task", {})
    assert b"matches" in processes.run("trial", task(QUICK, []))


@pytest.mark.long
def test_closing_ends_workers_that_are_busy(processes: TrialProcesses) -> None:
    with beside(lambda: processes.run("trial", task(SLOW, SLOW_EVENTS))) as said:
        eventually(lambda: any(worker._is_ready for worker in processes._workers))
        (worker,) = processes._workers
        processes.close()
    assert list(map(str, said)) == ["The service stops."]
    assert worker._process.poll() is not None
    with pytest.raises(Stopping):
        processes.run("trial", task(QUICK, []))
    processes.open()
    assert b"matches" in processes.run("trial", task(QUICK, []))


def test_closing_ends_workers_that_begin(processes: TrialProcesses) -> None:
    with beside(lambda: processes.run("trial", task(SLOW, SLOW_EVENTS))) as ended:
        eventually(lambda: processes._workers)
        processes.close()
    assert list(map(type, ended)) == [Stopping]


def test_workers_know_no_secrets(
    processes: TrialProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERCEPT_SIGNING_KEYS", SigningKey.new("k").to_text())
    processes.run("trial", task(QUICK, []))
    (worker,) = processes._workers
    environment = Path(f"/proc/{worker._process.pid}/environ").read_text(encoding="utf-8")
    assert "POLARS_MAX_THREADS" in environment
    assert "PERCEPT" not in environment


@pytest.mark.long
@pytest.mark.parametrize(
    "end", [pytest.param(signal.SIGTERM, marks=pytest.mark.nightly), signal.SIGKILL]
)
def test_a_service_that_ends_leaves_no_worker_behind(
    tmp_path: Path, free_port: int, end: signal.Signals
) -> None:
    with served(tmp_path, "sqlite:///percept.db", free_port) as service:
        quick = trial_of(QUICK, [{"ts": 1, "action": "fail"}])
        for path, body in (("/v1/streams", STREAM), ("/v1/drafts/trial", quick)):
            url, headers = f"{service.url}{path}", service.authorization
            answer = httpx2.post(url, json=body, headers=headers, timeout=PATIENCE_SECONDS)
            assert answer.is_success, answer.text
        workers = children(service.process.pid)
        assert workers
        service.process.send_signal(end)
        service.process.wait(PATIENCE_SECONDS)
        eventually(lambda: not any(map(is_running, workers)))


@pytest.mark.long
def test_a_busy_worker_whose_service_was_killed_ends_by_itself() -> None:
    script = (
        "import sys, json, threading; sys.path.insert(0, '.')\n"
        "from api.trials.processes import TrialProcesses\n"
        "work = json.load(sys.stdin); made = TrialProcesses(1, 500)\n"
        "made.run('trial', work | {'events': []}); made._seconds = 1000\n"
        "threading.Thread(target=made.run, args=('trial', work)).start()\n"
        "while made._idle: pass\n"
        "print(*(each._process.pid for each in made._workers), flush=True)\n"
    )
    longer = TRUE_OF_NONE + " OR " + TRUE_OF_NONE.replace("SUM", "AVG")
    last = {"name": "z", "contiguity": "followed_by", "where": longer}
    work = task({"steps": [{"name": "a"}, last]}, SLOW_EVENTS)
    with subprocess.Popen(  # noqa: S603 - our own command
        [sys.executable, "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    ) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        parent.stdin.write(json.dumps(work).encode())
        parent.stdin.close()
        worker = int(parent.stdout.readline())
        parent.kill()
    eventually(lambda: not is_running(worker))
