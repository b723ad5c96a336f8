"""From a proposed change of a list to the version it would make, before a transaction for writing.

    ProposedChange ──► values, read as the type of the list says ──► CheckedList
    stored proposal ─► the same again, when it is renewed or published

A list may have a million values, so they are compared in a thread for long bodies.
"""

from dataclasses import dataclass
from functools import partial
from typing import cast

from api.list_store.contents import DecodedContents
from api.lists import service
from api.lists.changes import (
    ListChange,
    PreparedVersion,
    Replacement,
    Restoration,
    base_of,
    prepared,
)
from api.lists.uploads import checked_values, given_edit, placed_values, read_values
from api.runtime import Runtime
from api.streams.service import existing_stream
from cep.list_content import ListType, ListValue
from contract.service.proposals import ProposedChange


@dataclass(frozen=True, slots=True)
class CheckedList:
    """A change of a list whose values have been read.

    `values` is what becomes of its values, `None` if the change is of none, and `ready` the version
    that makes of those that were there when they were read.
    """

    change: ProposedChange
    contents: DecodedContents
    values: ListChange | None = None
    ready: PreparedVersion | None = None


async def checked_list(
    change: ProposedChange, contents: DecodedContents, runtime: Runtime
) -> CheckedList:
    """Return a change of a list with the version it would make now.

    Raises:
        Refusal: there is no such stream, list or version (404), its values are kept no longer
            (409), or values are wrong (422).
        Overloaded: too many long bodies are being read.
    """
    return await runtime.parsers.run(partial(_checked, change, contents, runtime))


def _checked(change: ProposedChange, contents: DecodedContents, runtime: Runtime) -> CheckedList:
    stream, name = change.stream or "", change.list_name or ""
    with runtime.database.reading() as session:
        existing_stream(session, stream)
        if change.kind == "list_create":
            return CheckedList(change, contents, _of_new_list(change))
        stored = service.existing_list(session, stream, name)
        values = _values(change, cast(ListType, stored.data_type))
        if values is None:
            return CheckedList(change, contents)
        base = base_of(session, stored, change.effective_from, runtime.now_ms())
        return CheckedList(
            change, contents, values, prepared(session, contents, stored, values, base)
        )


def _of_new_list(change: ProposedChange) -> Replacement | None:
    if change.values is None and change.csv is None:
        return None
    return Replacement(_given(change, change.list_type or "STRING"))


def _values(change: ProposedChange, data_type: ListType) -> ListChange | None:
    match change.kind:
        case "list_put":
            return Replacement(_given(change, data_type))
        case "list_change":
            return given_edit(data_type, change.add or (), change.remove or ())
        case "list_rollback":
            return Restoration(change.version or 0)
        case _:
            return None


def _given(change: ProposedChange, data_type: ListType) -> frozenset[ListValue]:
    if change.csv is not None:
        return frozenset(read_values(data_type, change.csv.encode(), "text/csv", has_header=False))
    placed = placed_values("/values", change.values or ())
    return frozenset(checked_values(data_type, placed, "list"))
