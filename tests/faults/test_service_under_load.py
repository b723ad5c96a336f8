"""A service that everything goes wrong for at once still answers, and loses nothing.

Five hundred clients that never finish their request, sixty-four writers, readers, ten trials that
take all the time they may, and a database whose connections are cut, or that is restarted and
crashes. What is asked for: no status but those documented, a `/healthz` that answers, epochs
without gaps, every accepted rule there afterwards.
"""

import asyncio
import resource
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

import httpx2
import pytest
from sqlalchemy import make_url

from tests.api.documents import STREAM, processor_document
from tests.api.forwarding import Forwarder, forwarder_to
from tests.api.serving import Served, served
from tests.api.test_trial_limits import SLOW, SLOW_EVENTS, trial_of
from tests.faults.health_watch import watched_health
from tests.faults.private_postgresql import PrivatePostgresql, private_postgresql
from tests.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.faults

SLOW_CLIENTS = 500
WRITERS = 64
WRITES = 4
TRIALS = 10
CUTS = 3
RESTARTS: Final[tuple[Literal["fast", "immediate"], ...]] = ("fast", "immediate", "fast")
SETTINGS = {"trial_seconds": 2.0, "requests_per_second": 1e6}
SLOW_TRIAL = trial_of(SLOW, SLOW_EVENTS)
HALF_A_REQUEST = b"POST /v1/processors HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\nX-Slow: "


@pytest.fixture(autouse=True)
def _many_descriptors() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8_192), hard))


@asynccontextmanager
async def slow_clients(address: tuple[str, int], count: int) -> AsyncIterator[None]:
    """Open connections that send half a request each, and never the rest."""
    writers = []
    for _ in range(count):
        _, writer = await asyncio.open_connection(*address)
        writer.write(HALF_A_REQUEST)
        writers.append(writer)
    try:
        yield
    finally:
        for writer in writers:
            writer.transport.abort()


@dataclass
class Load:
    """What clients ask of a service at once, and what they were answered."""

    client: httpx2.AsyncClient
    statuses: Counter[int] = field(default_factory=Counter)
    trials: Counter[int] = field(default_factory=Counter)
    accepted: set[str] = field(default_factory=set)
    is_over: bool = False

    async def write(self, writer: int) -> None:
        """Publish rules one after the other, each until it is there."""
        for number in range(WRITES):
            rule = f"w{writer}-{number}"
            while await self._published(rule) == 503:  # noqa: ASYNC110 - nobody tells it when
                await asyncio.sleep(0.2)
            # 409: a try whose connection was cut was committed all the same.
            self.accepted.add(rule)

    async def _published(self, rule: str) -> int:
        answer = await self.client.post("/v1/processors", json=processor_document(id=rule))
        self.statuses[answer.status_code] += 1
        return answer.status_code

    async def read(self) -> None:
        """Read a page of rules again and again."""
        while not self.is_over:
            answer = await self.client.get("/v1/processors?limit=10")
            self.statuses[answer.status_code] += 1
            await asyncio.sleep(0.02)

    async def try_rules(self, token: str) -> None:
        """Try a rule that takes longer than a trial may, again and again."""
        headers = {"Authorization": f"Bearer {token}"}
        while not self.is_over:
            answer = await self.client.post("/v1/drafts/trial", json=SLOW_TRIAL, headers=headers)
            self.trials[answer.status_code] += 1
            await asyncio.sleep(0.1)


async def cut_again_and_again(way: Forwarder) -> None:
    for _ in range(CUTS):
        await asyncio.sleep(0.3)
        await asyncio.to_thread(way.cut)
        await asyncio.sleep(0.3)
        await asyncio.to_thread(way.mend)


async def restart_again_and_again(cluster: PrivatePostgresql) -> None:
    for mode in RESTARTS:
        await asyncio.sleep(1.0)
        await asyncio.to_thread(cluster.restart, mode)


Fault = Callable[[], Coroutine[Any, Any, None]]


async def under_load(service: Served, authors: Sequence[str], fault: Fault | None) -> Load:
    async with (
        slow_clients(service.address, SLOW_CLIENTS),
        httpx2.AsyncClient(
            base_url=service.url,
            headers=service.authorization,
            timeout=PATIENCE_SECONDS,
            limits=httpx2.Limits(max_connections=WRITERS + 20),
        ) as client,
    ):
        load = Load(client)
        others = [asyncio.create_task(load.read()) for _ in range(10)]
        others += [asyncio.create_task(load.try_rules(token)) for token in authors]
        faults = [] if fault is None else [fault()]
        await asyncio.gather(*faults, *map(load.write, range(WRITERS)))
        load.is_over = True
        await asyncio.gather(*others)
    return load


@pytest.fixture
def stormed(
    tmp_path: Path, free_port: int, record_property: Callable[[str, object], None]
) -> Callable[..., None]:
    """Runs a service on a store in a process of its own, with the stream `logins`, in a storm."""

    def run(database_url: str, fault: Fault | None = None) -> None:
        with served(tmp_path, database_url, free_port, settings=SETTINGS) as service:
            check(service, fault, record_property)

    return run


# PostgreSQL is stormed below, too, with worse.
@pytest.mark.parametrize("store", ["sqlite", pytest.param("postgresql", marks=pytest.mark.nightly)])
def test_a_service_under_load_answers_and_loses_nothing(
    store: str, migrated_store: Callable[[str], str], stormed: Callable[..., None]
) -> None:
    stormed(migrated_store(store))


@pytest.mark.nightly
def test_a_service_whose_database_is_cut_off_again_and_again(
    migrated_store: Callable[[str], str], stormed: Callable[..., None]
) -> None:
    target = make_url(migrated_store("postgresql"))
    with forwarder_to(target.host or "", target.port or 5432) as way:
        through = target.set(port=way.port).render_as_string(hide_password=False)
        stormed(through, partial(cut_again_and_again, way))


@pytest.mark.nightly
def test_a_service_whose_database_is_restarted_and_crashes(stormed: Callable[..., None]) -> None:
    with private_postgresql() as cluster:
        stormed(cluster.url, partial(restart_again_and_again, cluster))


def check(
    service: Served, fault: Fault | None, record_property: Callable[[str, object], None]
) -> None:
    with httpx2.Client(
        base_url=service.url, headers=service.authorization, timeout=PATIENCE_SECONDS
    ) as client:
        assert client.post("/v1/streams", json=STREAM).status_code == 201
        # An author has one trial at a time: there are as many authors as trials.
        names = [{"name": f"author {number}", "role": "author"} for number in range(TRIALS)]
        authors = [client.post("/v1/tokens", json=name).json()["token"] for name in names]
        with watched_health(service.address) as health:
            load = asyncio.run(under_load(service, authors, fault))
        record_property("statuses", dict(load.statuses))
        record_property("trials", dict(load.trials))
        record_property("slowest /healthz", f"{health}")
        assert set(load.statuses) <= {200, 201, 503} | ({409} if fault else set()), load.statuses
        assert set(load.trials) <= {422, 503}, load.trials
        assert set(health.statuses) == {"200"}
        assert load.accepted == rules_of(client)
        newest = client.get("/v1/streams/logins").json()["epoch"]
        assert newest == 1 + len(load.accepted)


def rules_of(client: httpx2.Client) -> set[str]:
    there: set[str] = set()
    page: dict[str, Any] = {"next_cursor": ""}
    while page["next_cursor"] is not None:
        cursor = f"&cursor={page['next_cursor']}" if page["next_cursor"] else ""
        page = client.get(f"/v1/processors?limit=500{cursor}").json()
        there |= {item["id"] for item in page["items"]}
    return there
