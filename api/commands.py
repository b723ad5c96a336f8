"""`percept serve`: the composition root of the service on the command line."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from api.app import create_app
from api.observability.logs import configure_logs
from api.runtime import Runtime, system_clock_ms
from api.server.listening import (
    Server,
    let_threads_take_short_turns,
    use_all_descriptors,
)
from api.settings import Settings
from api.store_option import DatabaseUrl, migrated_store, settings_of
from api.tokens import service
from api.transactions import Writing
from contract.telemetry.asked import AskedTelemetry, TelemetryRefused, asked_telemetry
from contract.telemetry.opening import opened


def serve(
    *,
    host: Annotated[str | None, typer.Option(help="Address to listen on [PERCEPT_HOST].")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on [PERCEPT_PORT].")] = None,
    database_url: DatabaseUrl = None,
) -> None:
    """Run the rule service: migrate its store, then listen."""
    asked = _asked_telemetry()
    settings = settings_of(host=host, port=port, database_url=database_url)
    configure_logs(settings.log_level)
    _prepare_store(settings)
    with _telling_refusal():
        sending = opened(asked, os.environ)
    app = create_app(settings, sending=sending)
    typer.echo(f"Percept listens on http://{settings.host}:{settings.port}", err=True)
    use_all_descriptors()
    let_threads_take_short_turns()
    runtime: Runtime = app.state.runtime
    Server(app, settings, runtime.bell.close).run()


def _asked_telemetry() -> AskedTelemetry | None:
    with _telling_refusal():
        return asked_telemetry(os.environ, "percept-service")


@contextmanager
def _telling_refusal() -> Iterator[None]:
    try:
        yield
    except TelemetryRefused as error:
        typer.echo(f"percept serve: {error}", err=True)
        raise typer.Exit(2) from None


def _prepare_store(settings: Settings) -> None:
    with migrated_store(settings) as store, store.writing() as session:
        created = service.create_first(Writing(session, "first start", system_clock_ms()))
    if created is not None:
        typer.echo(
            f"This is the first start. The admin token, shown this once:\n\n  {created.token}\n",
            err=True,
        )
