"""What a proposal does to a list once it is published, and how its values would differ.

    carry_out ─► api.lists.service, as if it had been sent there
    compared ──► the same, to be taken back ─► ProposedValues, for people to look through

People approve the values that they see: a change of values is small enough to be seen whole, and
stands beside the version that it was compared with.
"""

from collections.abc import Iterable
from heapq import nsmallest
from http import HTTPStatus
from typing import Final, cast

from sqlalchemy.orm import Session

from api.list_store import repository as lists
from api.list_store.tables import ListVersion, StoredList
from api.lists import service
from api.lists.changes import existing_version
from api.lists.service import ListChanged
from api.proposals.list_checking import CheckedList
from api.proposals.tables import Proposal
from api.transactions import Writing
from api.web.problems import Refusal, invalid
from cep.list_content import ListType, ListValue
from contract.service.lists import ListDocument
from contract.service.problems import Flaw
from contract.service.proposals import MOST_SHOWN, MOST_SHOWN_CHARACTERS, ProposedValues

_DIVIDE: Final = (
    "Divide it: `percept apply --propose` proposes values in a file part by part, or propose a "
    "list_change of some of them, and the next once that is published."
)


def carry_out(writing: Writing, checked: CheckedList) -> tuple[StoredList, ListChanged | None]:
    """Make a change of a list; return it as it is then, and how its values have changed.

    Raises:
        Refusal: as the change itself would be refused, or it would change nothing (409).
    """
    change = checked.change
    stream, name = change.stream or "", change.list_name or ""
    if change.kind == "list_create":
        document = ListDocument(
            name=name, type=change.list_type or "STRING", description=change.description or ""
        )
        stored = service.create(writing, stream, document)
    else:
        stored = service.locked_list(writing, stream, name, "*")
    if change.kind == "list_cancel":
        service.cancel(writing, stored, change.version or 0)
    if change.kind == "list_delete":
        service.delete(writing, stored)
    if checked.values is None:
        return stored, None
    changed = service.change_values(
        writing, checked.contents, stored, checked.values, change.effective_from, checked.ready
    )
    if not changed.is_changed and change.kind != "list_create":
        detail = f"List '{name}' has just these values already. There is nothing to propose."
        raise Refusal(HTTPStatus.CONFLICT, detail)
    return stored, changed


def compared(writing: Writing, checked: CheckedList, base: ListVersion | None) -> ProposedValues:
    """Make a change that is to be taken back, and return what it does to the values.

    Args:
        writing: the transaction, as if all had approved the change.
        checked: the change.
        base: the version that it is compared with, `None` for a new list.

    Raises:
        Refusal: as `carry_out`, or it changes more values than people look through (422).
    """
    change = checked.change
    before = 0 if base is None else base.count
    stored, changed = carry_out(writing, checked)
    told = ProposedValues(
        list_type=cast(ListType, stored.data_type),
        description=change.description or "",
        count=before,
        added=0,
        removed=0,
        added_values=[],
        removed_values=[],
        withdrawn=[],
    )
    if change.kind == "list_delete":
        return told.model_copy(update={"count": 0, "removed": before})
    if changed is None:
        return told
    made = changed.made
    added, removed = _shown(made.added_values), _shown(made.removed_values)
    is_whole = (len(added), len(removed)) == (made.added, made.removed)
    if not is_whole and change.kind != "list_rollback":
        raise _too_much(made.added, made.removed)
    return told.model_copy(
        update={
            "count": made.content.count,
            "added": made.added,
            "removed": made.removed,
            "added_values": added,
            "removed_values": removed,
            "withdrawn": list(changed.withdrawn),
        }
    )


def base_of(session: Session, checked: CheckedList, now_ms: int) -> ListVersion | None:
    """Return the version that a change of a list is compared with, `None` for a new list.

    Of a version that is to be cancelled it is that one itself.

    Raises:
        Refusal: there is no such list or version (404).
    """
    change = checked.change
    if change.kind == "list_create":
        return None
    stored = service.existing_list(session, change.stream or "", change.list_name or "")
    if change.kind == "list_cancel":
        return existing_version(session, stored, change.version or 0)
    time_ms = now_ms if change.effective_from is None else change.effective_from
    return lists.version_in_effect(session, stored.stream, stored.name, time_ms)


def is_stale(session: Session, proposal: Proposal, now_ms: int) -> bool:
    """Return whether the values of a list have been changed since a change was proposed.

    A scheduled version that has taken effect since is such a change.
    """
    stream, name = proposal.stream, proposal.list_name
    if lists.changed_epoch(session, stream, name) != proposal.base_epoch:
        return True
    is_by_the_clock = proposal.effective_from_ms is None and proposal.base_version is not None
    if proposal.kind == "list_cancel" or not is_by_the_clock:
        return False
    found = lists.version_in_effect(session, stream, name, now_ms)
    return found is None or found.version != proposal.base_version


def _shown(values: Iterable[ListValue]) -> list[str]:
    """Return values as texts, in order, as many as people look through."""
    shown, left = [], MOST_SHOWN_CHARACTERS
    for text in map(str, nsmallest(MOST_SHOWN, values)):
        left -= len(text)
        if left < 0:
            break
        shown.append(text)
    return shown


def _too_much(added: int, removed: int) -> Refusal:
    detail = (
        f"It would add {added:,} values and remove {removed:,}. Of each a proposal has at most "
        f"{MOST_SHOWN:,}, of {MOST_SHOWN_CHARACTERS:,} characters, so that people can look through "
        "them."
    )
    return invalid("proposal", [Flaw(pointer="", detail=detail, remedy=_DIVIDE)])
