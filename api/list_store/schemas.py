"""The schema of a stream with its lists: against it rules are checked, and with it they are tried.

columns + names and types of lists ──schema_of──► checks
contents of the lists that one rule names ──tried_lists──► a worker
"""

import base64
from collections.abc import Sequence
from typing import Final

from sqlalchemy.orm import Session

from api.list_store import repository
from api.streams.service import ddl_of
from api.streams.tables import Stream
from cep.expression import Schema
from cep.expression.lists import DATA_TYPES, ValueList
from cep.list_content import MOST_VALUES
from cep.trials.lists import WrittenList

MOST_TRIED_VALUES: Final = MOST_VALUES
"""Of all lists together that a rule names, where it is run on given events."""


class TooManyToTry(Exception):
    """The lists that a rule names have more values than a trial takes; the message says so."""


def schema_of(session: Session, stream: Stream) -> Schema:
    """Return the columns of a stream's events, and its lists by name and type."""
    return with_lists(session, stream.name, Schema.from_ddl(ddl_of(session, stream)))


def with_lists(session: Session, stream: str, schema: Schema) -> Schema:
    """Return columns with the lists of a stream by name and type."""
    stored = repository.all_lists(session, stream)
    lists = tuple(ValueList(each.name, DATA_TYPES[each.data_type]) for each in stored)
    return Schema(schema.columns, lists)


def tried_lists(
    session: Session, stream: str, names: Sequence[str], now_ms: int
) -> tuple[WrittenList, ...]:
    """Return lists with the values that are in effect by the clock, for a worker to try a rule.

    Args:
        session: the transaction.
        stream: whose lists they are.
        names: those that the rule names; others than there are left out.
        now_ms: the clock; events of a trial may be of any time.

    Raises:
        TooManyToTry: they have too many values.
    """
    found = [
        version
        for name in names
        if (version := repository.version_in_effect(session, stream, name, now_ms)) is not None
    ]
    count = sum(version.count for version in found)
    if count > MOST_TRIED_VALUES:
        raise TooManyToTry(
            f"The lists that it names have {count:,} values together; a rule is run on given "
            f"events with up to {MOST_TRIED_VALUES:,}."
        )
    written = []
    for version in found:
        content = repository.content_of(session, stream, version.digest)
        assert content is not None  # noqa: S101 - of what is in effect it is kept
        text = base64.b64encode(content.compressed).decode()
        written.append(WrittenList(version.name, version.data_type, version.digest, text))
    return tuple(written)
