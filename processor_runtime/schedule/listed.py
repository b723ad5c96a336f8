"""Which content each list of the stream has from which event time on; decided as for rules.

    snapshot + newest event time read ──resolve_lists──► ListInterval, … ──► values of IN LIST('x')

A new version counts for event times after the newest one read, or later if it is scheduled. Each
event is thus tested against the same content in every task, every batch and every replay.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby

from cep.expression.lists import ListContent, Member, ValueList
from cep.expression.types import DataType, Kind
from contract.snapshot import Snapshot, SnapshotList
from processor_runtime.schedule.interval import BEGINNING_MS, END_MS

Contents = Callable[[str, DataType], ListContent]
"""Gives the content of a digest and a type of values."""


def unread(digest: str, data_type: DataType) -> ListContent:
    """Return a content without values, to check whether rules can run."""

    def read() -> Iterable[Member]:
        raise LookupError(f"the content {digest} of a list has not been given")

    return ListContent(digest, data_type, read)


@dataclass(frozen=True, slots=True)
class ListInterval:
    """One version of a list and the event times for which it is in effect: `[from_ms, until_ms)`.

    `digest` names its content, `data_type` is that of its values.
    """

    name: str
    data_type: str
    version: int
    digest: str
    from_ms: int
    until_ms: int = END_MS

    def is_same_content(self, other: "ListInterval") -> bool:
        """Whether it is the same version with the same values."""
        mine = (self.version, self.digest, self.data_type)
        return mine == (other.version, other.digest, other.data_type)


def resolve_lists(
    previous: Iterable[ListInterval],
    snapshot: Snapshot,
    next_ms: int,
    processed_ms: int,
    oldest_rule_ms: int,
) -> tuple[ListInterval, ...]:
    """Return the intervals that follow from a snapshot and those before, by name and time.

    `next_ms`: the first event time the snapshot applies to. `processed_ms`: up to here all events
    have been processed. `oldest_rule_ms`: when the oldest version of a rule began; what it names it
    may still ask.
    """
    published = {each.name: each for each in snapshot.lists}
    known = {name: list(group) for name, group in groupby(previous, key=lambda each: each.name)}
    found: list[ListInterval] = []
    for name in sorted(published.keys() | known.keys()):
        begun = [each for each in known.get(name, ()) if each.from_ms < next_ms]
        wanted = _wanted(published[name], next_ms) if name in published else ()
        joined = _joined(begun, wanted, next_ms)
        for each in joined:
            is_asked = each is joined[-1] and each.until_ms > oldest_rule_ms
            if is_asked or each.until_ms - 1 > processed_ms:
                found.append(each)
    return tuple(found)


def value_lists(
    intervals: Iterable[ListInterval], contents: Contents, time_column: str
) -> tuple[ValueList, ...]:
    """Return the lists as expressions know them, by name.

    What a list held under another type is no part of it.
    """
    found = []
    for name, group in groupby(intervals, key=lambda each: each.name):
        versions = list(group)
        data_type = DataType(Kind(versions[-1].data_type))
        alike = [each for each in versions if each.data_type == versions[-1].data_type]
        values = tuple((each.from_ms, contents(each.digest, data_type)) for each in alike)
        found.append(ValueList(name, data_type, values, time_column))
    return tuple(found)


def _wanted(listed: SnapshotList, next_ms: int) -> Iterator[ListInterval]:
    """Yield what is in effect from an event time on: always the highest version that has begun."""
    versions = {each.version: each for each in listed.versions}
    begins = {
        number: BEGINNING_MS if each.effective_from_ms is None else each.effective_from_ms
        for number, each in versions.items()
    }
    for from_ms in sorted({next_ms, *(begin for begin in begins.values() if begin > next_ms)}):
        # Before its first version begins that one is in effect: a list always has a content.
        begun = (number for number, begin in begins.items() if begin <= from_ms)
        number = max(begun, default=min(begins))
        digest = versions[number].digest
        yield ListInterval(listed.name, listed.data_type, number, digest, from_ms)


def _joined(
    begun: Iterable[ListInterval], wanted: Iterable[ListInterval], next_ms: int
) -> list[ListInterval]:
    """Return started intervals up to now and wanted ones from now on; equal ones become one."""
    joined: list[ListInterval] = []
    for each in (*(replace(item, until_ms=min(item.until_ms, next_ms)) for item in begun), *wanted):
        before = joined[-1] if joined else None
        if before is not None and before.is_same_content(each):
            joined[-1] = replace(before, until_ms=each.until_ms)
            continue
        if before is not None:
            joined[-1] = replace(before, until_ms=each.from_ms)
        joined.append(each)
    return joined
