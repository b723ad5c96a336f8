"""`percept token`: through the service that is named, or in the store itself.

    --url, PERCEPT_URL ──► Client.tokens ──► service
    --database-url     ──► its store, with the rights of whoever may write it

The store is how the first tokens are made, before a service is there, and how an admin who has lost
theirs makes another. A token in a store that no service reads is worth nothing, so none is made
unless it is named.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final, TypeVar

import typer
from sqlalchemy import make_url

from api.access import repository
from api.connected import PlainHttp, Token, connected
from api.runtime import system_clock_ms
from api.settings import Settings
from api.store.database import Database
from api.store_option import DatabaseUrl, migrated_store, reason_of, settings_of
from api.tokens import service
from api.transactions import Writing
from api.web.problems import Refusal
from cep.instants import instant_ms, iso_text
from cep.terminal_tables import print_table
from contract.service.tokens import Role, TokenDocument

token_app = typer.Typer(
    name="token", help="Make, list and revoke access tokens.", no_args_is_help=True
)
Result = TypeVar("Result")
_STORE_VARIABLE: Final = "PERCEPT_DATABASE_URL"

Url = Annotated[
    str | None,
    typer.Option(
        envvar="PERCEPT_URL",
        help="The rule service to ask; without it, and with --database-url, its store is used.",
        show_envvar=True,
    ),
]


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
    url: Url = None,
    token: Token = "",
    allow_plain_http: PlainHttp = False,
    database_url: DatabaseUrl = None,
) -> None:
    """Make a token and print it, once."""
    try:
        expires_at_ms = instant_ms(expires_at) if expires_at else None
        document = TokenDocument(
            name=name, role=role, person=person, expires_at=expires_at_ms, streams=stream or None
        )
    except ValueError as error:
        raise typer.BadParameter(reason_of(error)) from None
    if url is not None and database_url is None:
        with connected(url, token, allow_plain_http=allow_plain_http) as client:
            text = client.tokens.create(
                name,
                role=role,
                person=person,
                expires_at_ms=document.expires_at,
                streams=document.streams,
            ).token
    else:
        text = _written(database_url, lambda writing: service.create(writing, document).token)
    typer.echo(text)


@token_app.command("list")
def list_tokens(
    *,
    url: Url = None,
    token: Token = "",
    allow_plain_http: PlainHttp = False,
    database_url: DatabaseUrl = None,
) -> None:
    """List all tokens, without their texts."""
    if url is not None and database_url is None:
        with connected(url, token, allow_plain_http=allow_plain_http) as client:
            lines = client.tokens.list()
    else:
        with _chosen_store(database_url) as store, store.reading() as session:
            lines = [service.view(each) for each in repository.all_tokens(session)]
    rows = []
    for line in lines:
        times = (line.created_at, line.expires_at, line.revoked_at)
        shown = ("" if time is None else iso_text(instant_ms(time)) for time in times)
        named = "all" if line.streams is None else ", ".join(sorted(line.streams))
        rows.append((line.id, line.name, line.role, line.person, named, *shown))
    columns = ("ID", "NAME", "ROLE", "PERSON", "STREAMS", "CREATED", "EXPIRES", "REVOKED")
    if not print_table(columns, rows):
        typer.echo("no tokens", err=True)


@token_app.command("revoke")
def revoke_token(
    token_id: Annotated[str, typer.Argument(help="The id that `percept token list` shows.")],
    *,
    url: Url = None,
    token: Token = "",
    allow_plain_http: PlainHttp = False,
    database_url: DatabaseUrl = None,
) -> None:
    """Make a token invalid from now on."""
    if url is not None and database_url is None:
        with connected(url, token, allow_plain_http=allow_plain_http) as client:
            client.tokens.revoke(token_id)
    else:
        _written(database_url, lambda writing: service.revoke(writing, token_id))
    typer.echo(f"Token {token_id} is revoked.")


def _written(database_url: str | None, change: Callable[[Writing], Result]) -> Result:
    with _chosen_store(database_url) as store, store.writing() as session:
        try:
            return change(Writing(session, "command line", system_clock_ms()))
        except Refusal as refusal:
            detail = refusal.flaws[0].detail if refusal.flaws else str(refusal.detail)
            raise typer.BadParameter(detail) from None


@contextmanager
def _chosen_store(database_url: str | None) -> Iterator[Database]:
    """Yield the store that is named, which is made if it is missing, or the one that is here."""
    settings = settings_of(database_url=database_url)
    if database_url is None and _STORE_VARIABLE not in os.environ:
        _check_that_it_is_there(settings)
    with migrated_store(settings) as store:
        yield store


def _check_that_it_is_there(settings: Settings) -> None:
    path = make_url(settings.database_url).database
    if not Path(path or "").exists():
        raise typer.BadParameter(
            f"there is no store {settings.database_url}. Name the service with --url, or its store "
            f"with --database-url or {_STORE_VARIABLE}."
        )
