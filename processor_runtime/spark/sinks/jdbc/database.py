"""Connects to a database, and removes from JSON what it cannot store."""

import json
from typing import Any, Final

from sqlalchemy import URL, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError

from contract.connections import postgresql_timeouts

_TIMEOUT_SECONDS: Final = 60
_REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"


def database_engine(url: str, user: str | None, password: str | None) -> Engine:
    """Return an engine for a database; no connection is opened yet.

    `url`: `postgresql://host/database` or `sqlite:///file`, also as JDBC writes them. `user`: the
    database user, if it is not in the URL.

    Raises:
        ValueError: the URL is invalid.
    """
    try:
        parsed = _parsed(url)
    except ArgumentError:
        raise ValueError("url: not a database URL; write postgresql://host/database") from None
    if user is not None and parsed.username is None:
        parsed = parsed.set(username=user)
    if password is not None:
        parsed = parsed.set(password=password)
    if parsed.get_backend_name() == "sqlite":
        return create_engine(
            parsed,
            json_serializer=str,
            hide_parameters=True,
            connect_args={"timeout": _TIMEOUT_SECONDS},
        )
    engine = create_engine(
        parsed.set(drivername="postgresql+psycopg"),
        pool_size=1,
        pool_pre_ping=True,
        # JSON is text already; it need not be parsed and serialized again.
        json_serializer=str,
        hide_parameters=True,
        connect_args=postgresql_timeouts(_TIMEOUT_SECONDS, _TIMEOUT_SECONDS, parsed.query),
    )
    event.listen(engine, "begin", _limit_statements)
    return engine


def storable_json(text: str | None) -> str | None:
    r"""Return JSON without what PostgreSQL refuses in it: \u0000, and halves of surrogate pairs."""
    if text is None or ("\\u0000" not in text and "\\ud" not in text.lower()):
        return text
    return json.dumps(_mended(json.loads(text)), ensure_ascii=False)


def _parsed(url: str) -> URL:
    text = url.removeprefix("jdbc:")
    if text.startswith("sqlite:") and not text.startswith("sqlite://"):
        text = f"sqlite:///{text.removeprefix('sqlite:')}"
    return make_url(text)


def _limit_statements(connection: Any) -> None:
    # No statement may hang without end, for example on a lock that is never released.
    connection.exec_driver_sql(f"SET LOCAL statement_timeout = '{_TIMEOUT_SECONDS}s'")


def _mended(value: Any) -> Any:
    match value:
        case str():
            return value.replace("\x00", _REPLACEMENT).encode(errors="replace").decode()
        case list():
            return [_mended(each) for each in value]
        case dict():
            return {_mended(key): _mended(each) for key, each in value.items()}
        case _:
            return value
