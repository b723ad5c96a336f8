"""What happens to rollouts: begun, given another share of the keys, promoted, ended.

Every change is an epoch, and takes effect at an event time, as all changes of what runs do.
"""

import json
from collections.abc import Sequence
from http import HTTPStatus

from sqlalchemy.orm import Session

from api.processors import repository, service
from api.processors.checks import CheckedDocument
from api.processors.publications import end_trying, publish, try_beside
from api.processors.service import Published
from api.processors.tables import Processor, Publication
from api.rollouts import comparison
from api.rollouts import repository as compared
from api.transactions import Writing
from api.web.problems import Refusal, invalid
from cep.definition.keys import written_key
from cep.pattern import Pattern
from contract.service.problems import Flaw
from contract.service.processors import PAUSED
from contract.service.rollouts import RolloutView


def start(writing: Writing, processor: Processor, checked: CheckedDocument, share: int) -> None:
    """Try a document as a new version, instead of the one that is tried now, if there is one.

    Raises:
        Refusal: the processor is paused, on another stream, or publishes the same already (409), or
            the document cannot be tried like that (422).
    """
    _require_running(processor)
    service.require_no_schedule(checked)
    if checked.document.stream != processor.stream:
        detail = f"A rule cannot leave its stream, '{processor.stream}'. Create a new rule."
        raise Refusal(HTTPStatus.CONFLICT, detail)
    service.lock_stream(writing, processor.stream, checked)
    published = repository.open_publications(writing.session, processor.id)
    for publication in published:
        there = service.existing_version(writing, processor, publication.version)
        if there.content_hash == checked.content_hash:
            detail = f"Version {there.version} is published and says the same."
            raise Refusal(HTTPStatus.CONFLICT, detail)
    version = service.add_version(writing, processor, checked)
    _require_keys_to_share(writing, processor, published, version.version, share)
    compared.forget(writing.session, processor.id)
    try_beside(writing, processor, version, share, "rollout.start")


def set_share(writing: Writing, processor: Processor, share: int) -> None:
    """Let the tried version have another share of the keys; the same again changes nothing.

    Raises:
        Refusal: nothing is tried (404), the processor is paused (409), or its keys cannot be
            shared (422).
    """
    _require_running(processor)
    rollout = existing_rollout(writing.session, processor)
    if rollout.share == share:
        return
    published = repository.open_publications(writing.session, processor.id)
    _require_keys_to_share(writing, processor, published, rollout.version, share)
    version = service.existing_version(writing, processor, rollout.version)
    try_beside(writing, processor, version, share, "rollout.share")


def promote(writing: Writing, processor: Processor) -> Published:
    """Publish the tried version for all keys, at once; it keeps its partial matches.

    Raises:
        Refusal: nothing is tried (404), or the processor is paused (409).
    """
    _require_running(processor)
    rollout = existing_rollout(writing.session, processor)
    version = service.existing_version(writing, processor, rollout.version)
    return Published(processor, publish(writing, processor, version, "rollout.promote"))


def end(writing: Writing, processor: Processor) -> None:
    """Take the tried version back; what is published has missed nothing.

    Raises:
        Refusal: nothing is tried (404), or nothing else is there (409).
    """
    rollout = existing_rollout(writing.session, processor)
    if not repository.open_publications(writing.session, processor.id):
        detail = f"Version {rollout.version} is the only one. Delete the rule instead."
        raise Refusal(HTTPStatus.CONFLICT, detail)
    end_trying(writing, processor, rollout)


def existing_rollout(session: Session, processor: Processor) -> Publication:
    """Return the publication of the version that is tried.

    Raises:
        Refusal: nothing is tried (404).
    """
    rollout = repository.open_rollout(session, processor.id)
    if rollout is None:
        detail = f"No version of rule '{processor.id}' is on trial. Start a trial of one first."
        raise Refusal(HTTPStatus.NOT_FOUND, detail)
    return rollout


def rollout_view(session: Session, processor: Processor) -> RolloutView:
    """Return the rollout of a processor and what it has found in each job.

    Raises:
        Refusal: nothing is tried (404).
    """
    rollout = existing_rollout(session, processor)
    version = repository.version_of(session, processor.id, rollout.version)
    assert version is not None  # noqa: S101 - a publication is of a version
    published = repository.open_publications(session, processor.id)
    held = compared.held_by_jobs(session, processor.stream, processor.id, rollout.version)
    begun_ms = version.created_at_ms
    jobs = [comparison.in_job(session, job, tried, begun_ms) for job, tried in held]
    return RolloutView.model_validate(
        {
            "processor_id": processor.id,
            "stream": processor.stream,
            "version": rollout.version,
            "published_versions": [publication.version for publication in published],
            "share_percent": (rollout.share or 0) / 100,
            "created_at": begun_ms,
            "created_by": version.created_by,
            "jobs": jobs,
        }
    )


def _require_running(processor: Processor) -> None:
    if processor.state == PAUSED:
        raise Refusal(HTTPStatus.CONFLICT, "The rule is paused. Resume it first.")


def _require_keys_to_share(
    writing: Writing,
    processor: Processor,
    published: Sequence[Publication],
    tried: int,
    share: int,
) -> None:
    """Refuse to divide keys that two versions do not have in common."""
    if not share:
        return
    keys = [
        _key_of(service.existing_version(writing, processor, version).definition)
        for version in (tried, *(publication.version for publication in published))
    ]
    problem = ""
    if not published:
        problem = "Nothing is published that could have the other keys."
    elif any(key != keys[0] for key in keys):
        problem = "The published version has another key, so that none can be divided between them."
    elif not keys[0]:
        problem = "The rule has one key for all events, which cannot be divided."
    if problem:
        remedy = "Leave the share at 0, where it runs in shadow, and promote it from there."
        raise invalid("rollout", [Flaw(pointer="/share_percent", detail=problem, remedy=remedy)])


def _key_of(definition: str) -> Sequence[str] | None:
    content = json.loads(definition)
    return written_key(content.get("key_by"), Pattern.from_document(content["pattern"]))
