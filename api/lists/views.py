"""Views of lists and their versions; reads only."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy.orm import Session

from api.list_store import repository
from api.list_store.tables import ListVersion, StoredList
from api.lists.service import ListChanged
from api.processors import repository as processors
from api.store.views import view_of
from contract.service.lists import (
    ListChangeView,
    ListSummary,
    ListVersionView,
    ListView,
    NamingRule,
)

_RULES_SHOWN = 100


def summaries(session: Session, stream: str, lists: Sequence[StoredList]) -> list[ListSummary]:
    """Return the lines of the lists of a stream."""
    rules = processors.count_rules_naming(session, stream)
    published = repository.open_versions_of(session, stream, [each.name for each in lists])
    return [
        view_of(
            ListSummary,
            each,
            **_summary_fields(session, each, rules.get(each.name, 0), published[each.name]),
        )
        for each in lists
    ]


def list_view(session: Session, stored: StoredList) -> ListView:
    """Return a list with the rules that name it."""
    return view_of(ListView, stored, **_detail_fields(session, stored))


def change_view(session: Session, changed: ListChanged) -> ListChangeView:
    """Return a list and how its values have changed."""
    session.flush()
    made = changed.made
    return view_of(
        ListChangeView,
        changed.stored,
        **_detail_fields(session, changed.stored),
        is_changed=changed.is_changed,
        withdrawn=list(changed.withdrawn),
        base_version=made.base_version,
        new_count=made.content.count,
        added=made.added,
        removed=made.removed,
        first_added=[str(value) for value in made.first_added],
        first_removed=[str(value) for value in made.first_removed],
    )


def version_view(version: ListVersion) -> ListVersionView:
    """Return one entry of the log of a list."""
    return view_of(
        ListVersionView,
        version,
        is_published=version.until_epoch is None,
        has_values=version.has_content,
        epoch=version.from_epoch,
    )


def _detail_fields(session: Session, stored: StoredList) -> dict[str, Any]:
    rules = processors.rules_naming(session, stored.stream, stored.name, _RULES_SHOWN)
    count = len(rules)
    if count >= _RULES_SHOWN:
        count = processors.count_rules_naming(session, stored.stream)[stored.name]
    published = repository.open_versions(session, stored.stream, stored.name)
    return _summary_fields(session, stored, count, published) | {
        "rules": [
            NamingRule(processor_id=processor_id, versions=versions)
            for processor_id, versions in rules.items()
        ],
    }


def _summary_fields(
    session: Session, stored: StoredList, rule_count: int, published: Sequence[ListVersion]
) -> dict[str, Any]:
    newest = repository.version_of(session, stored.stream, stored.name, stored.latest_version)
    return {
        "version": stored.latest_version,
        "count": 0 if newest is None else newest.count,
        "rule_count": rule_count,
        "published": [version_view(version) for version in published],
    }
