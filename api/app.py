"""The composition root of the web app: every part is made and joined here."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

from fastapi import FastAPI

from api.access.confined import add_confinement_handler
from api.audit import endpoints as audit_endpoints
from api.backtests import endpoints as backtest_endpoints
from api.change_sets import endpoints as change_set_endpoints
from api.dashboard import endpoints as dashboard_endpoints
from api.dashboard import session as dashboard_session
from api.dashboard.headers import SecurityHeaders
from api.diagnosis import endpoints as diagnosis_endpoints
from api.drafts import endpoints as draft_endpoints
from api.gauges import StoreGauges
from api.health import endpoints as health_endpoints
from api.jobs import endpoints as job_endpoints
from api.jobs.metrics import JobCollector
from api.list_store.contents import DecodedContents
from api.lists import change_endpoints as list_change_endpoints
from api.lists import endpoints as list_endpoints
from api.lists.uploads import LARGEST_UPLOAD
from api.matches import endpoints as match_endpoints
from api.observability.figures import figures_of
from api.observability.metrics import Metrics
from api.observability.requests import RequestObserver
from api.overview import endpoints as overview_endpoints
from api.processors import change_endpoints, parameter_endpoints
from api.processors import endpoints as processor_endpoints
from api.proposals import endpoints as proposal_endpoints
from api.redefinition import endpoints as redefinition_endpoints
from api.rollouts import endpoints as rollout_endpoints
from api.rules import endpoints as rule_endpoints
from api.rules import export_endpoints as rule_export_endpoints
from api.running import endpoints as running_endpoints
from api.runtime import Clock, Runtime, system_clock_ms
from api.settings import Settings
from api.snapshots import endpoints as snapshot_endpoints
from api.snapshots.cache import SnapshotCache
from api.snoozes import endpoints as snooze_endpoints
from api.store.database import Database
from api.store.notifications import EpochBell, hearing_others
from api.store.readiness import Readiness
from api.streams import endpoints as stream_endpoints
from api.tokens import endpoints as token_endpoints
from api.triage import endpoints as triage_endpoints
from api.trials.turns import Trials
from api.unavailability import add_unavailability_handlers
from api.web.bodies import BodyBudget
from api.web.connection_limit import ConnectionLimit
from api.web.known_tokens import KnownTokens
from api.web.openapi import describe, operation_id
from api.web.problems import add_problem_handlers
from api.web.rate_limits import RateLimits
from api.webhooks import endpoints as webhook_endpoints
from api.webhooks.rounds import WebhookRounds
from api.worker_threads import WorkerThreads
from cep.definition.document import ProcessorDocument

if TYPE_CHECKING:
    from contract.telemetry.sending import Sending

ROUTERS = (
    stream_endpoints.router,
    redefinition_endpoints.router,
    snapshot_endpoints.router,
    processor_endpoints.router,
    change_endpoints.router,
    parameter_endpoints.router,
    rollout_endpoints.router,
    change_set_endpoints.router,
    list_endpoints.router,
    list_change_endpoints.router,
    snooze_endpoints.router,
    proposal_endpoints.router,
    draft_endpoints.router,
    backtest_endpoints.router,
    job_endpoints.router,
    running_endpoints.router,
    diagnosis_endpoints.router,
    rule_endpoints.router,
    rule_export_endpoints.router,
    match_endpoints.router,
    triage_endpoints.router,
    audit_endpoints.router,
    overview_endpoints.router,
    token_endpoints.router,
    webhook_endpoints.router,
    health_endpoints.router,
)
_WAIT_SECONDS: Final = 10
_PARSERS: Final = 2  # each may need many times as much memory as a body is long
_BODIES_AT_ONCE: Final = 32  # of full length
_UPLOADS_AT_ONCE: Final = 2  # whole lists: apart, so that they leave room for everything else
# FastAPI's spans have paths and queries, and its logs the messages of exceptions.
_NOT_ITS_OWN: Final[Any] = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "auto_configure": False,
}
DASHBOARD_ROUTERS = (dashboard_session.router, dashboard_endpoints.router)


def create_app(
    settings: Settings, now_ms: Clock = system_clock_ms, sending: "Sending | None" = None
) -> FastAPI:
    """Return the service on a store that has been migrated.

    Args:
        settings: what the operator has set.
        now_ms: the wall clock, milliseconds since 1970.
        sending: sends spans and metrics; the service closes it when it stops.
    """
    app = FastAPI(
        title="Percept rule service",
        version=version("percept"),
        summary="Versioned rules over live event streams.",
        lifespan=_lifespan,
        generate_unique_id_function=operation_id,
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
        telemetry=_NOT_ITS_OWN,
    )
    app.state.sending = sending
    begin(app, settings, now_ms, Database(settings.database_url))
    for router in (*ROUTERS, *DASHBOARD_ROUTERS):
        app.include_router(router)
    add_problem_handlers(app)
    add_unavailability_handlers(app)
    add_confinement_handler(app)
    app.add_middleware(SecurityHeaders)
    app.add_middleware(RequestObserver)
    if sending is not None:
        _send(app, sending)
    describe(app, [ProcessorDocument])
    return app


def begin(app: FastAPI, settings: Settings, now_ms: Clock, database: Database) -> None:
    """Give an app everything that it holds in memory, all of it empty."""
    runtime = Runtime(
        settings=settings,
        now_ms=now_ms,
        database=database,
        readiness=Readiness(database),
        writers=WorkerThreads("writing", database.writers, _WAIT_SECONDS),
        parsers=WorkerThreads("reading bodies", _PARSERS, _WAIT_SECONDS),
        bodies=BodyBudget(_BODIES_AT_ONCE * settings.max_body_bytes),
        uploads=BodyBudget(_UPLOADS_AT_ONCE * LARGEST_UPLOAD),
        bell=EpochBell(),
        rate_limits=RateLimits(settings.requests_per_second),
        known_tokens=KnownTokens(),
        metrics=Metrics(),
        match_listeners=ConnectionLimit(settings.match_listeners),
        trials=Trials(settings.trial_processes, settings.trial_seconds, settings.trial_megabytes),
    )
    runtime.metrics.registry.register(JobCollector(database, runtime.readiness, now_ms, settings))
    runtime.metrics.registry.register(StoreGauges(database, runtime.readiness))
    app.state.runtime = runtime
    app.state.snapshot_cache = SnapshotCache()
    app.state.list_contents = DecodedContents()


def _send(app: FastAPI, sending: "Sending") -> None:
    """Let spans and metrics go out; the spans are around everything else."""
    runtime: Runtime = app.state.runtime
    if sending.has_traces:
        from api.observability.spans import RequestSpans, StatementSpans  # noqa: PLC0415 - of `otel`

        StatementSpans(runtime.database.engine, sending.tracer)
        app.add_middleware(RequestSpans, tracer=sending.tracer)
    sending.start_figures(lambda: figures_of(runtime.metrics.registry))


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    runtime: Runtime = app.state.runtime
    runtime.bell.start(asyncio.get_running_loop())
    runtime.trials.open()
    webhooks = WebhookRounds(runtime.database, runtime.now_ms, runtime.settings)
    webhooks.start()
    try:
        async with hearing_others(runtime.database, runtime.bell):
            yield
    finally:
        await asyncio.to_thread(webhooks.stop)
        runtime.bell.close()
        runtime.trials.close()
        if app.state.sending is not None:
            await asyncio.to_thread(app.state.sending.close)
        runtime.database.close()
