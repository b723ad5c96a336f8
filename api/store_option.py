"""The store that a command is given: its option, the settings, the store itself.

--database-url, PERCEPT_* ──► settings_of ──► migrated_store ──► `percept serve`, `percept token`
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from api.settings import Settings
from api.store.database import Database, migrate
from api.store.unavailable import StoreUnavailable
from cep.pattern.problems import type_remedy

DatabaseUrl = Annotated[
    str | None,
    typer.Option(help="sqlite:///file or postgresql://user@host/database [PERCEPT_DATABASE_URL]."),
]


def settings_of(**given: Any) -> Settings:
    """Return the settings of the environment, with those of the command line.

    Raises:
        BadParameter: one of them is wrong.
    """
    try:
        return Settings(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        raise typer.BadParameter(reason_of(error)) from None


@contextmanager
def migrated_store(settings: Settings) -> Iterator[Database]:
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


def reason_of(error: ValueError) -> str:
    """Return what is wrong with values that were given, each by its name."""
    if isinstance(error, ValidationError):
        return " ".join(f"{each['loc'][0]}: {type_remedy(each)}" for each in error.errors())
    return str(error)
