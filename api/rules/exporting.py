"""The rules of a stream as documents, a page at a time: what would publish them again elsewhere.

A page ends where its documents would become too long; a rule is on one page, whole.
"""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy.orm import Session

from api.processors import repository as processors
from api.processors import views
from api.processors.filters import ProcessorFilter, Sort
from api.processors.repository import After
from api.processors.tables import Processor, ProcessorVersion
from api.rules import repository
from api.streams.tables import Stream
from api.web.paging import encoded_cursor
from cep.definition.keys import without_implied_key
from cep.definition.text import in_usual_order
from cep.pattern import Pattern
from contract.service.processors import PAUSED
from contract.service.rules import RuleExport

MOST_CHARACTERS: Final = 4_000_000


def exported(session: Session, stream: Stream, after_id: str, limit: int) -> RuleExport:
    """Return the documents of rules of a stream, by id, beginning after one.

    Args:
        session: the transaction.
        stream: whose rules.
        after_id: the last id of the page before, "" for the first page.
        limit: at most so many rules.
    """
    wanted, after = ProcessorFilter(stream=stream.name), After(after_id, after_id)
    found = processors.find_processors(session, wanted, Sort.ID, after, limit + 1)
    shown = _short_enough(session, found[:limit])
    next_cursor = encoded_cursor(shown[-1].id) if len(shown) < len(found) else None
    ids = [rule.id for rule in shown]
    versions = repository.published_versions(session, ids)
    tags = processors.tags_of(session, ids)
    documents = [
        document
        for rule in shown
        for document in _documents(rule, tags[rule.id], versions.get(rule.id, []))
    ]
    return RuleExport(items=documents, next_cursor=next_cursor, epoch=stream.epoch)


def _short_enough(session: Session, found: Sequence[Processor]) -> Sequence[Processor]:
    """Return the first of these rules, one at least, whose documents are not too long."""
    lengths = repository.published_characters(session, [rule.id for rule in found])
    total = 0
    for place, rule in enumerate(found):
        total += lengths.get(rule.id, 0)
        if place and total > MOST_CHARACTERS:
            return found[:place]
    return found


def _documents(
    rule: Processor, tags: list[str], versions: Sequence[ProcessorVersion]
) -> list[dict[str, Any]]:
    """Return one document for each published version; labels and `paused` are in the first."""
    labels = {"description": rule.description, "owner": rule.owner, "tags": tags}
    first: dict[str, Any] = {name: label for name, label in labels.items() if label}
    if rule.state == PAUSED:
        first["paused"] = True
    documents: list[dict[str, Any]] = []
    for version in versions:
        content = views.version_document(version)
        content = without_implied_key(content, Pattern.from_document(content["pattern"]))
        identity = {"id": rule.id, "stream": rule.stream}
        documents.append(in_usual_order(identity | ({} if documents else first) | content))
    return documents
