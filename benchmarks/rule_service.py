"""The rule service under load: publish, list, snapshot, 304, and a publish to a waiting reader.

    python benchmarks/rule_service.py [--processors 10000] [--database-url postgresql://…]

A store is filled through the service's own code, then `percept serve` is asked over loopback.
"""

import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated, Any

import httpx2
import typer

from api.processors.checks import StreamFacts, examine_document
from api.processors.creation import create
from api.store.database import Database, migrate
from api.streams.service import check_definition, register
from api.tokens.service import create as create_token
from api.transactions import Writing
from cep.events.order import EventTime
from contract.service.streams import StreamDocument
from contract.service.tokens import Role, TokenDocument

STREAM = {
    "name": "bench",
    "schema": "user STRING, action STRING, amount DOUBLE, ts TIMESTAMP",
    "event_time_column": "ts",
}
SERVE = "from api.commands import serve; import typer; typer.run(serve)"


def document(number: int, minutes: int = 10) -> dict[str, Any]:
    """Return a processor document; numbers give rules of different content."""
    return {
        "id": f"rule-{number:05}",
        "stream": "bench",
        "pattern": {
            "steps": [
                {"name": "fail", "where": f"action = 'fail' AND amount > {number}", "times": 3},
                {"name": "login", "contiguity": "followed_by", "where": "action = 'login'"},
            ],
            "within": f"{minutes} minutes",
        },
        "key_by": ["user"],
        "select": {"user": "login.user", "failures": "COUNT(fail.*)"},
        "tags": [f"team-{number % 50}"],
    }


def fill(database_url: str, processors: int) -> str:
    """Fill a migrated store and return an admin token."""
    database = Database(database_url)
    migrate(database.engine)
    with database.writing() as session:
        writing = Writing(session, "benchmark", time.time_ns() // 1_000_000)
        stream_document = StreamDocument.model_validate(STREAM)
        register(writing, stream_document)
        token = create_token(writing, TokenDocument(name="benchmark", role=Role.ADMIN)).token
    facts = StreamFacts("bench", 1, check_definition(stream_document), EventTime("ts"))
    for start in range(0, processors, 500):
        with database.writing() as session:
            writing = Writing(session, "benchmark", time.time_ns() // 1_000_000)
            for number in range(start, min(start + 500, processors)):
                checked = examine_document(document(number), facts, None).accepted([])
                create(writing, checked, paused=False)
    database.close()
    return token


def timed(name: str, repeats: int, action: Callable[[int], Any]) -> None:
    """Print how long an action takes."""
    seconds = []
    for number in range(repeats):
        began = time.perf_counter()
        action(number)
        seconds.append(time.perf_counter() - began)
    report(name, seconds)


def report(name: str, seconds: list[float]) -> None:
    """Print the median and the 99th percentile, in milliseconds."""
    p50 = statistics.median(seconds) * 1000
    p99 = statistics.quantiles(seconds, n=100, method="inclusive")[98] * 1000
    print(f"{name:34} {len(seconds):5}  p50 {p50:8.2f} ms  p99 {p99:8.2f} ms")


def measure(client: httpx2.Client, processors: int) -> None:
    """Ask the service and print the times."""
    snapshot = "/v1/streams/bench/snapshot"
    first = client.get(snapshot)
    print(f"snapshot: {len(first.content) / 1e6:.1f} MB, {processors} processors")

    def publish(number: int) -> None:
        path = f"/v1/processors/rule-{number:05}"
        answer = client.put(path, json=document(number, minutes=5), headers={"If-Match": "*"})
        answer.raise_for_status()

    timed("publish a new version", 200, publish)
    timed("list, 50 of a tag", 200, lambda n: client.get(f"/v1/processors?tag=team-{n % 50}"))
    timed("list, newest first", 200, lambda _: client.get("/v1/processors?sort=-updated_at"))
    timed(
        "list, text in definition", 50, lambda n: client.get(f"/v1/processors?text=amount > {n}7")
    )
    timed("snapshot, whole", 30, lambda _: client.get(snapshot).content)
    known = {"If-None-Match": client.get(snapshot).headers["ETag"]}
    timed("snapshot, 304", 500, lambda _: client.get(snapshot, headers=known))
    to_reader(client, publish)


def to_reader(client: httpx2.Client, publish: Callable[[int], None]) -> None:
    """Print how long a publish takes to reach a waiting reader, from the answer of the publish."""
    path = "/v1/streams/bench/snapshot"
    seconds = []

    def wait(etag: str) -> float:
        with client.stream("GET", f"{path}?wait=20s", headers={"If-None-Match": etag}) as answer:
            arrived = time.perf_counter()
            answer.read()
        return arrived

    with ThreadPoolExecutor() as pool:
        for number in range(30):
            etag = client.get(path).headers["ETag"]
            reader = pool.submit(wait, etag)
            time.sleep(0.05)
            publish(1_000 + number)
            published = time.perf_counter()
            seconds.append(max(0.0, reader.result() - published))
    report("publish to waiting reader", seconds)


def main(
    processors: Annotated[int, typer.Option(help="How many rules there are.")] = 10_000,
    database_url: Annotated[str, typer.Option(help="An empty store; SQLite if left out.")] = "",
) -> None:
    """Fill a store, start the service on it and measure."""
    with tempfile.TemporaryDirectory() as folder:
        url = database_url or f"sqlite:///{Path(folder) / 'bench.db'}"
        began = time.perf_counter()
        token = fill(url, processors)
        rate = processors / (time.perf_counter() - began)
        print(f"filled through the service's code: {rate:.0f} rules a second")
        headers = {"Authorization": f"Bearer {token}"}
        with (
            served(url) as base_url,
            httpx2.Client(base_url=base_url, headers=headers, timeout=60) as client,
        ):
            measure(client, processors)


@contextmanager
def served(database_url: str, output: IO[bytes] | None = None) -> Iterator[str]:
    """Run `percept serve` on a store; yield its address.

    Args:
        database_url: the store; an empty one is migrated, and its first token printed.
        output: where it prints to; here if left out.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-c", SERVE, "--port", str(port), "--database-url", database_url]
    environment = {"PERCEPT_REQUESTS_PER_SECOND": "1000000", "PERCEPT_LOG_LEVEL": "warning"}
    server = subprocess.Popen(  # noqa: S603 - our own command
        command, stderr=output, env=environment | {"PYTHONPATH": "."}
    )
    try:
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            until_ready(client)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


def until_ready(client: httpx2.Client) -> None:
    """Wait until the service answers."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            client.get("/readyz").raise_for_status()
        except httpx2.TransportError:
            time.sleep(0.2)
        else:
            return
    raise TimeoutError("the service did not start")


if __name__ == "__main__":
    typer.run(main)
