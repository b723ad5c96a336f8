"""Keeps how many matches there are of each version, kind and status, as each of them changes.

    matches come, go · are decided · decisions are forgotten ──Tally──► MatchCount

To count a million takes a second; to read a few hundred numbers takes none. All who change matches
hold the lock of their stream's log, so that no two change one number at once.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol, cast

from sqlalchemy import Table
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from api.matches.tables import MatchCount
from contract.service.matches import OPEN

_TABLE: Final = cast("Table", MatchCount.__table__)


class OfRule(Protocol):
    """A match, its triage, or what a query returns of one of them."""

    @property
    def processor_id(self) -> str:
        """Its rule."""

    @property
    def kind(self) -> str:
        """Its kind."""

    @property
    def version(self) -> int:
        """The version that found it."""


class _Key(NamedTuple):
    processor_id: str
    kind: str
    version: int
    status: str


@dataclass(frozen=True, slots=True)
class Tally:
    """By how much the numbers of a stream change."""

    _present: Counter[_Key] = field(default_factory=Counter)
    _total: Counter[_Key] = field(default_factory=Counter)

    def add(self, match: OfRule, status: str) -> None:
        """Count a match of this status that was not there before."""
        self._count(match, status, is_present=True, by=1)
        self._count(match, status, is_present=False, by=-1)

    def remove(self, match: OfRule, status: str) -> None:
        """Count a match of this status no more as one that is there; a decision stays."""
        self._count(match, status, is_present=True, by=-1)
        self._count(match, status, is_present=False, by=1)

    def move(self, match: OfRule, before: str, status: str, *, is_present: bool) -> None:
        """Count a match under another status than before."""
        self._count(match, before, is_present=is_present, by=-1)
        self._count(match, status, is_present=is_present, by=1)

    def forget(self, match: OfRule, status: str) -> None:
        """Count a match no more that was removed before."""
        self._count(match, status, is_present=False, by=-1)

    def save(self, session: Session, stream: str) -> None:
        """Change the numbers of the stream."""
        changes = [
            {
                "stream": stream,
                **key._asdict(),
                "present": self._present[key],
                "total": self._total[key],
            }
            for key in sorted(self._present.keys() | self._total.keys())
            if self._present[key] or self._total[key]
        ]
        if not changes:
            return
        is_postgresql = session.get_bind().dialect.name == "postgresql"
        insert = postgresql.insert(_TABLE) if is_postgresql else sqlite.insert(_TABLE)
        sums = {name: _TABLE.c[name] + insert.excluded[name] for name in ("present", "total")}
        insert = insert.on_conflict_do_update(index_elements=list(_TABLE.primary_key), set_=sums)
        session.connection().execute(insert, changes)
        if any(each["total"] < 0 for each in changes):
            session.connection().execute(
                _TABLE.delete().where(_TABLE.c.stream == stream, _TABLE.c.total == 0)
            )

    def _count(self, match: OfRule, status: str, *, is_present: bool, by: int) -> None:
        key = _Key(match.processor_id, match.kind, match.version, status)
        if is_present:
            self._present[key] += by
        if is_present or status != OPEN:
            self._total[key] += by
