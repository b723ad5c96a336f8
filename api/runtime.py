"""What one running service shares between its requests; `app.create_app` makes it."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends
from starlette.requests import HTTPConnection

from api.observability.metrics import Metrics
from api.settings import Settings
from api.store.database import Database
from api.store.notifications import EpochBell
from api.store.readiness import Readiness
from api.trials.turns import Trials
from api.web.bodies import BodyBudget
from api.web.connection_limit import ConnectionLimit
from api.web.known_tokens import KnownTokens
from api.web.rate_limits import RateLimits
from api.worker_threads import WorkerThreads

Clock = Callable[[], int]


def system_clock_ms() -> int:
    """Return the wall-clock time in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True)
class Runtime:
    """The parts of one running service.

    `now_ms` is its clock; `writers` are the threads for transactions, `parsers` for long bodies,
    `trials` the processes for rules that are run on given events.
    """

    settings: Settings
    now_ms: Clock
    database: Database
    readiness: Readiness
    writers: WorkerThreads
    bell: EpochBell
    parsers: WorkerThreads
    bodies: BodyBudget
    uploads: BodyBudget
    rate_limits: RateLimits
    known_tokens: KnownTokens
    metrics: Metrics
    match_listeners: ConnectionLimit
    trials: Trials


async def runtime_of(connection: HTTPConnection) -> Runtime:
    """Return the runtime of the app a request came to."""
    runtime: Runtime = connection.app.state.runtime
    return runtime


CurrentRuntime = Annotated[Runtime, Depends(runtime_of)]
