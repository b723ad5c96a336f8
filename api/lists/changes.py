"""A change of a list is worked out: from the version it is made from to the values of the next.

    base version + ListChange ─► prepared ─► PreparedVersion ─► service.publish, in a transaction

A million values take a second, so this is done before a transaction for writing begins; should the
base be another one by then, it is done again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import nsmallest
from http import HTTPStatus
from typing import assert_never

from sqlalchemy.orm import Session

from api.list_store import repository
from api.list_store.contents import ContentGone, DecodedContents, PackedContent, packed
from api.list_store.tables import ListVersion, StoredList
from api.web.problems import Refusal, invalid, not_found
from cep.list_content import ListValue
from contract.service.problems import Flaw

_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Replacement:
    """All values, instead of those that a list has."""

    values: frozenset[ListValue]


@dataclass(frozen=True, slots=True)
class Edit:
    """Some values more, and some fewer; what is in both is added."""

    add: frozenset[ListValue]
    remove: frozenset[ListValue]


@dataclass(frozen=True, slots=True)
class Restoration:
    """The values of an old version again."""

    version: int


ListChange = Replacement | Edit | Restoration


@dataclass(frozen=True, slots=True)
class PreparedVersion:
    """The values of the next version of a list, beside those of the version it is made from.

    `first_added` and `first_removed` are some of them, in order, for people to look at.
    """

    base_version: int
    content: PackedContent
    added_values: frozenset[ListValue]
    removed_values: frozenset[ListValue]
    first_added: Sequence[ListValue]
    first_removed: Sequence[ListValue]
    restored_version: int | None = None

    @property
    def added(self) -> int:
        """How many values it has more."""
        return len(self.added_values)

    @property
    def removed(self) -> int:
        """How many of those before it has not."""
        return len(self.removed_values)


def base_of(
    session: Session, stored: StoredList, effective_from_ms: int | None, now_ms: int
) -> ListVersion:
    """Return the version a change is made from: the one in effect when the change takes effect.

    A change at once is made from what is in effect by the clock: the service knows no event time.
    """
    time_ms = now_ms if effective_from_ms is None else effective_from_ms
    found = repository.version_in_effect(session, stored.stream, stored.name, time_ms)
    assert found is not None  # noqa: S101 - of a list that is there one is effective at once
    return found


def prepared(
    session: Session,
    contents: DecodedContents,
    stored: StoredList,
    change: ListChange,
    base: ListVersion,
) -> PreparedVersion:
    """Return the next version of a list.

    Raises:
        Refusal: there is no such version to go back to (404), it is of another type or its values
            are kept no longer (409), or the values are too many (422).
    """
    before = frozenset(contents.values(session, base))
    restored = None
    match change:
        case Replacement(values):
            after = values
        case Edit(add, remove):
            after = (before - remove) | add
        case Restoration(version):
            after, restored = _restored(session, contents, stored, version), version
        case _:
            assert_never(change)
    added, removed = after - before, before - after
    try:
        content = packed(after)
    except ValueError as error:
        remedy = "Divide it into several lists."
        flaw = Flaw(pointer="", detail=f"It would have {error}.", remedy=remedy)
        raise invalid("list", [flaw]) from None
    return PreparedVersion(
        base.version,
        content,
        added,
        removed,
        nsmallest(_SHOWN, added),
        nsmallest(_SHOWN, removed),
        restored,
    )


def _restored(
    session: Session, contents: DecodedContents, stored: StoredList, version: int
) -> frozenset[ListValue]:
    old = existing_version(session, stored, version)
    if old.data_type != stored.data_type:
        detail = f"Version {version} was of type {old.data_type}; the list is {stored.data_type}."
        raise Refusal(HTTPStatus.CONFLICT, detail)
    try:
        return frozenset(contents.values(session, old))
    except ContentGone:
        raise gone(version) from None


def existing_version(session: Session, stored: StoredList, version: int) -> ListVersion:
    """Return a version of a list.

    Raises:
        Refusal: there is no such version (404).
    """
    found = repository.version_of(session, stored.stream, stored.name, version)
    if found is None:
        remedy = f"The newest is {stored.latest_version}."
        raise not_found("version", str(version), remedy, of=f"list '{stored.name}'")
    return found


def gone(version: int) -> Refusal:
    """Return the refusal for a version whose values are kept no longer."""
    detail = (
        f"The values of version {version} are kept no longer: they are of what jobs are given, and "
        f"of the last {repository.KEPT_VERSIONS} versions."
    )
    return Refusal(HTTPStatus.CONFLICT, detail)
