"""`percept serve` and `percept token`: the composition roots on the command line."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from pydantic import ValidationError
from rich.console import Console
from rich.table import Table

from api.access import repository
from api.access.authentication import Role, streams_of
from api.app import create_app
from api.observability.logs import configure_logs
from api.runtime import Runtime, system_clock_ms
from api.server.listening import (
    Server,
    let_threads_take_short_turns,
    use_all_descriptors,
)
from api.settings import Settings
from api.store.database import Database, migrate
from api.store.unavailable import StoreUnavailable
from api.tokens import service
from api.tokens.schemas import TokenDocument
from api.transactions import Writing
from api.web.problems import Refusal
from cep.instants import instant_ms, iso_text
from contract.telemetry.asked import AskedTelemetry, TelemetryRefused, asked_telemetry
from contract.telemetry.opening import opened

token_app = typer.Typer(
    name="token", help="Make, list and revoke access tokens.", no_args_is_help=True
)

DatabaseUrl = Annotated[
    str | None,
    typer.Option(help="sqlite:///file or postgresql://user@host/database [PERCEPT_DATABASE_URL]."),
]


def serve(
    *,
    host: Annotated[str | None, typer.Option(help="Address to listen on [PERCEPT_HOST].")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on [PERCEPT_PORT].")] = None,
    database_url: DatabaseUrl = None,
) -> None:
    """Run the rule service: migrate its store, then listen."""
    asked = _asked_telemetry()
    settings = _settings(host=host, port=port, database_url=database_url)
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


@token_app.command("create")
def create_token(  # noqa: PLR0913 - the options of the command
    name: Annotated[str, typer.Argument(help="Who or what will use it.")],
    *,
    role: Annotated[Role, typer.Option(help="What it may do.")],
    person: Annotated[
        str | None,
        typer.Option(help="Whose it is; needed to approve proposals, the same in all of theirs."),
    ] = None,
    expires_at: Annotated[
        str | None, typer.Option(help="Such as 2027-01-01T00:00:00Z; never if left out.")
    ] = None,
    stream: Annotated[
        list[str] | None,
        typer.Option(
            help="Confine it to this stream, by its exact name; may be repeated. Left out = all."
        ),
    ] = None,
    database_url: DatabaseUrl = None,
) -> None:
    """Make a token and print it, once."""
    settings = _settings(database_url=database_url)
    try:
        expires_at_ms = instant_ms(expires_at) if expires_at else None
        document = TokenDocument(
            name=name, role=role, person=person, expires_at=expires_at_ms, streams=stream or None
        )
    except ValueError as error:
        raise typer.BadParameter(_reason(error)) from None
    with _store(settings) as store, store.writing() as session:
        try:
            created = service.create(Writing(session, "command line", system_clock_ms()), document)
        except Refusal as refusal:
            raise typer.BadParameter(refusal.flaws[0].detail) from None
    typer.echo(created.token)


@token_app.command("list")
def list_tokens(database_url: DatabaseUrl = None) -> None:
    """List all tokens, without their texts."""
    table = Table("id", "name", "role", "person", "streams", "created", "expires", "revoked")
    with _store(_settings(database_url=database_url)) as store, store.reading() as session:
        for token in repository.all_tokens(session):
            times = (token.created_at_ms, token.expires_at_ms, token.revoked_at_ms)
            shown = ("" if time_ms is None else iso_text(time_ms) for time_ms in times)
            streams = streams_of(token)
            named = "all" if streams is None else ", ".join(sorted(streams))
            table.add_row(token.id, token.name, token.role, token.person, named, *shown)
    Console().print(table)


@token_app.command("revoke")
def revoke_token(
    token_id: Annotated[str, typer.Argument(help="The id that `percept token list` shows.")],
    database_url: DatabaseUrl = None,
) -> None:
    """Make a token invalid at once."""
    with _store(_settings(database_url=database_url)) as store, store.writing() as session:
        try:
            service.revoke(Writing(session, "command line", system_clock_ms()), token_id)
        except Refusal as refusal:
            raise typer.BadParameter(str(refusal.detail)) from None
    typer.echo(f"Token {token_id} is revoked.")


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


def _settings(**given: Any) -> Settings:
    try:
        return Settings(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        raise typer.BadParameter(_reason(error)) from None


@contextmanager
def _store(settings: Settings) -> Iterator[Database]:
    """Yield the store, migrated; where it cannot be used, the command ends and says why."""
    database = Database(settings.database_url)
    try:
        migrate(database.engine)
        yield database
    except StoreUnavailable as error:
        typer.echo(f"The store cannot be used: {error}", err=True)
        raise typer.Exit(1) from None
    finally:
        database.close()


def _prepare_store(settings: Settings) -> None:
    with _store(settings) as store, store.writing() as session:
        created = service.create_first(Writing(session, "first start", system_clock_ms()))
    if created is not None:
        typer.echo(
            f"This is the first start. The admin token, shown this once:\n\n  {created.token}\n",
            err=True,
        )


def _reason(error: ValueError) -> str:
    if isinstance(error, ValidationError):
        return "; ".join(f"{each['loc'][0]}: {each['msg']}" for each in error.errors())
    return str(error)
