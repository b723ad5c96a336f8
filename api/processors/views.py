"""Views of processors and versions; reads only."""

import json
from collections.abc import Sequence
from typing import Any, cast

from sqlalchemy.orm import Session

from api.processors import repository
from api.processors.checks import normalised
from api.processors.comparison import differences
from api.processors.service import deleted
from api.processors.tables import Processor, ProcessorVersion, Publication
from api.processors.versions import version_in
from api.store.views import view_of
from api.web.problems import not_found
from cep.instants import iso_text
from contract.service.problems import Flaw
from contract.service.processors import (
    DELETED,
    PUBLISHED,
    SCHEDULED,
    Comparison,
    ProcessorSummary,
    ProcessorView,
    PublishedVersion,
    State,
    TriedVersion,
    VersionSummary,
    VersionView,
)


def existing_processor(
    session: Session, processor_id: str, *, deleted_too: bool = False
) -> Processor:
    """Return a processor.

    Raises:
        Refusal: it does not exist, or was deleted (404).
    """
    processor = repository.processor_of(session, processor_id)
    if processor is None:
        raise not_found("rule", processor_id)
    if processor.state == DELETED and not deleted_too:
        raise deleted(processor)
    return processor


def state_at(processor: Processor, now_ms: int) -> State:
    """Return the state of a processor at a time of the service's clock."""
    is_scheduled = processor.state == PUBLISHED and (processor.begins_ms or 0) > now_ms
    return SCHEDULED if is_scheduled else cast("State", processor.state)


def summaries(
    session: Session, processors: Sequence[Processor], now_ms: int
) -> list[ProcessorSummary]:
    """Return the lines of a list."""
    tags = repository.tags_of(session, [processor.id for processor in processors])
    return [
        view_of(
            ProcessorSummary, processor, **_summary_fields(processor, tags[processor.id], now_ms)
        )
        for processor in processors
    ]


def processor_view(session: Session, processor: Processor, now_ms: int) -> ProcessorView:
    """Return a processor with its newest version."""
    newest = version_in(session, processor, processor.current_version)
    tags = repository.tags_of(session, [processor.id])[processor.id]
    published = []
    for publication in repository.open_publications(session, processor.id):
        version = version_in(session, processor, publication.version)
        published.append(view_of(PublishedVersion, version))
    labels = {"description": processor.description, "owner": processor.owner, "tags": tags}
    identity = {"id": processor.id, "stream": processor.stream}
    return view_of(
        ProcessorView,
        processor,
        **_summary_fields(processor, tags, now_ms),
        published=published,
        rollout=tried_version(repository.open_rollout(session, processor.id)),
        warnings=_warnings(newest),
        document=identity
        | {name: label for name, label in labels.items() if label}
        | version_document(newest),
        lists=_list_names(session, newest),
        withdrawn=[],
    )


def tried_version(rollout: Publication | None) -> TriedVersion | None:
    """Return the version that is tried, if one is."""
    if rollout is None or rollout.share is None:
        return None
    return TriedVersion(version=rollout.version, share_percent=rollout.share / 100)


def version_view(session: Session, processor: Processor, version: int) -> VersionView:
    """Return one version, whole.

    Raises:
        Refusal: there is no such version (404).
    """
    found = version_in(session, processor, version)
    (summary,) = version_summaries(session, processor, [found])
    return VersionView(
        **summary.model_dump(),
        warnings=_warnings(found),
        document=version_document(found),
        lists=_list_names(session, found),
    )


def version_summaries(
    session: Session, processor: Processor, versions: Sequence[ProcessorVersion]
) -> list[VersionSummary]:
    """Return the lines of a history."""
    published = {each.version for each in repository.open_publications(session, processor.id)}
    tried = repository.only_tried(session, processor.id)
    return [
        view_of(
            VersionSummary,
            version,
            is_published=version.version in published,
            was_only_tried=version.version in tried,
        )
        for version in versions
    ]


def comparison(session: Session, processor: Processor, old: int, new: int) -> Comparison:
    """Return how two versions differ in meaning.

    Raises:
        Refusal: there is no such version (404).
    """
    before, after = (_normal(version_in(session, processor, version)) for version in (old, new))
    return Comparison(
        old_version=old, new_version=new, differences=list(differences(before, after))
    )


def version_document(version: ProcessorVersion) -> dict[str, Any]:
    """Return the content and schedule of a version in the form of a document."""
    schedule = version.effective_from_ms, version.effective_until_ms
    return content_document(version.definition, version.examples, *schedule)


def content_document(
    definition: str, examples: str, effective_from_ms: int | None, effective_until_ms: int | None
) -> dict[str, Any]:
    """Return content and schedule as they are stored in the form of a document."""
    document: dict[str, Any] = json.loads(definition)
    for key, time_ms in (
        ("effective_from", effective_from_ms),
        ("effective_until", effective_until_ms),
    ):
        if time_ms is not None:
            document[key] = iso_text(time_ms)
    if written := json.loads(examples):
        document["examples"] = written
    return document


def _normal(version: ProcessorVersion) -> dict[str, Any]:
    return normalised(version_document(version))


def _list_names(session: Session, version: ProcessorVersion) -> list[str]:
    return [use.name for use in repository.uses_of(session, version.processor_id, version.version)]


def _warnings(version: ProcessorVersion) -> list[Flaw]:
    return [Flaw.model_validate(warning) for warning in json.loads(version.warnings)]


def _summary_fields(processor: Processor, tags: list[str], now_ms: int) -> dict[str, Any]:
    return {
        "state": state_at(processor, now_ms),
        "version": processor.current_version,
        "tags": tags,
        "severity": processor.severity or None,
    }
