"""What happens to processors: given new versions, paused, resumed, rolled back, deleted.

Every change locks the stream first and reads afterwards, so that the second of two writers waits
and sees the changes of the first. Publications (`tables`) decide what jobs get.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from http import HTTPStatus

from api.audit.log import record
from api.list_store.repository import list_of
from api.processors import repository
from api.processors.checks import CheckedDocument
from api.processors.publications import (
    end,
    follow_state,
    publish,
    record_change,
    republish,
    touch,
)
from api.processors.tables import ListUse, Processor, ProcessorVersion
from api.processors.versions import version_in
from api.snooze_store import repository as snoozes
from api.streams.service import locked_stream
from api.transactions import Writing
from api.web.preconditions import require_match
from api.web.problems import Refusal, invalid, not_found
from cep.definition.document import ProcessorLabels
from contract.canonical import canonical_json
from contract.service.problems import Flaw
from contract.service.processors import DELETED, PAUSED, PUBLISHED, LabelsPatch


@dataclass(frozen=True, slots=True)
class Published:
    """A processor with its new version, and the scheduled versions whose place that has taken."""

    processor: Processor
    withdrawn: Sequence[int] = ()


def require_no_schedule(checked: CheckedDocument) -> None:
    """Let a document pass that can be tried: it begins at once, and is ended by hand.

    Raises:
        Refusal: it has a schedule (422).
    """
    scheduled = {
        "effective_from": checked.document.effective_from,
        "effective_until": checked.document.effective_until,
    }
    flaws = [
        Flaw(
            pointer=f"/{name}",
            detail="A trial begins immediately and runs until it is promoted or ended.",
            remedy="Leave it out.",
        )
        for name, time_ms in scheduled.items()
        if time_ms is not None
    ]
    if flaws:
        raise invalid("document", flaws)


def lock(
    writing: Writing, processor: Processor, if_match: str | None, *, deleted_too: bool = False
) -> None:
    """Lock the stream of a processor before a change of it, and look at its state afterwards.

    Raises:
        Refusal: it was deleted (404), or the change was made from another state (412, 428).
    """
    locked_stream(writing, processor.stream)
    writing.session.refresh(processor)
    if processor.state == DELETED and not deleted_too:
        raise deleted(processor)
    require_match(if_match, etag(processor))


def replace(writing: Writing, processor: Processor, checked: CheckedDocument) -> Published:
    """Publish a new version; the same content again makes none, other labels are taken over.

    Raises:
        Refusal: another stream, or redefined meanwhile (409).
    """
    document = checked.document
    if document.stream != processor.stream:
        detail = f"A rule cannot leave its stream, '{processor.stream}'. Create a new rule."
        raise Refusal(HTTPStatus.CONFLICT, detail)
    lock_stream(writing, processor.stream, checked)
    if set_labels(writing, processor, document):
        touch(writing, processor)
        record(writing, "processor.label", stream=processor.stream, processor_id=processor.id)
    newest = existing_version(writing, processor, processor.current_version)
    if newest.content_hash == checked.content_hash and _is_published(writing, newest):
        return Published(processor)
    version = _tried_already(writing, processor, checked)
    if version is None:
        version = add_version(writing, processor, checked)
    return Published(processor, publish(writing, processor, version, "processor.publish"))


def _tried_already(
    writing: Writing, processor: Processor, checked: CheckedDocument
) -> ProcessorVersion | None:
    """Return the version that is tried if it has this content: it has partial matches to keep."""
    rollout = repository.open_rollout(writing.session, processor.id)
    if rollout is None:
        return None
    tried = existing_version(writing, processor, rollout.version)
    return tried if tried.content_hash == checked.content_hash else None


def label(writing: Writing, processor: Processor, patch: LabelsPatch) -> Processor:
    """Change labels; neither a version nor an epoch is made."""
    current = ProcessorLabels(
        description=processor.description,
        owner=processor.owner,
        tags=repository.tags_of(writing.session, [processor.id])[processor.id],
    )
    changes = patch.model_dump(exclude_none=True)
    if set_labels(writing, processor, current.model_copy(update=changes)):
        touch(writing, processor)
        record(writing, "processor.label", stream=processor.stream, processor_id=processor.id)
    return processor


def pause(writing: Writing, processor: Processor) -> Processor:
    """Stop a processor but keep it; pausing it twice changes nothing."""
    if processor.state != PAUSED:
        republish(writing, processor, "processor.pause", paused=True)
    return processor


def resume(writing: Writing, processor: Processor) -> Processor:
    """Let a paused processor run again, from now on in event time."""
    if processor.state == PAUSED:
        republish(writing, processor, "processor.resume", paused=False)
    return processor


def delete(writing: Writing, processor: Processor) -> None:
    """Take a processor out of what runs; its versions and changes stay, its snoozes end."""
    epoch = record_change(
        writing, processor, "processor.delete", old_version=processor.current_version
    )
    end(writing, repository.all_open_publications(writing.session, processor.id), epoch)
    snoozes.end_of_processor(writing.session, processor.id, epoch)
    processor.state = DELETED


def roll_back(writing: Writing, processor: Processor, version: int) -> Published:
    """Publish the content of an old version as a new one, at once; a deleted processor comes back.

    Raises:
        Refusal: no such version (404), or a list that it names is not there (409).
    """
    old = existing_version(writing, processor, version)
    uses = repository.uses_of(writing.session, processor.id, version)
    lists = [(use.name, use.data_type) for use in uses]
    _require_lists(writing, processor, lists, "Create it again, or publish another document.")
    if processor.state == DELETED:
        processor.state = PUBLISHED
    restored = ProcessorVersion(
        processor_id=processor.id,
        version=processor.latest_version + 1,
        definition=old.definition,
        examples=old.examples,
        warnings=old.warnings,
        content_hash=old.content_hash,
        rule_hash=old.rule_hash,
        restored_version=version,
        created_at_ms=writing.now_ms,
        created_by=writing.actor,
        comment=writing.comment,
    )
    _store(writing, processor, restored, lists)
    return Published(processor, publish(writing, processor, restored, "processor.rollback"))


def cancel(writing: Writing, processor: Processor, version: int) -> Processor:
    """Take back a scheduled version; what was published before it goes on.

    Raises:
        Refusal: it is not scheduled, or nothing else is published (409).
    """
    scheduled = existing_version(writing, processor, version)
    published = repository.open_publications(writing.session, processor.id)
    publication = next((each for each in published if each.version == version), None)
    if publication is None or scheduled.effective_from_ms is None:
        raise Refusal(HTTPStatus.CONFLICT, f"Version {version} is not scheduled.")
    if len(published) == 1:
        detail = f"Version {version} is the only one published. Delete the rule instead."
        raise Refusal(HTTPStatus.CONFLICT, detail)
    epoch = record_change(
        writing,
        processor,
        "processor.cancel",
        old_version=version,
        needs_approval=processor.state != PAUSED,
    )
    end(writing, [publication], epoch)
    follow_state(writing, processor)
    return processor


def etag(processor: Processor) -> str:
    """Return the tag of a processor's state: its revision."""
    return str(processor.revision)


def lock_stream(writing: Writing, stream: str, checked: CheckedDocument) -> None:
    """Lock a stream that is still as a document was checked against.

    Raises:
        Refusal: it has been redefined meanwhile (409).
    """
    if locked_stream(writing, stream).version != checked.stream_version:
        detail = f"Stream '{stream}' was redefined during the check. Send it again."
        raise Refusal(HTTPStatus.CONFLICT, detail)


def deleted(processor: Processor) -> Refusal:
    """Return the refusal for a processor that has been deleted."""
    remedy = "It was deleted; roll back to one of its versions to restore it."
    return not_found("rule", processor.id, remedy)


def add_version(
    writing: Writing, processor: Processor, checked: CheckedDocument
) -> ProcessorVersion:
    """Store a checked document as the newest version, which nothing runs yet."""
    _require_lists(writing, processor, checked.lists, "Send it again.")
    warnings = [warning.model_dump(exclude_none=True) for warning in checked.warnings]
    version = ProcessorVersion(
        processor_id=processor.id,
        version=processor.latest_version + 1,
        definition=checked.definition,
        examples=checked.examples,
        warnings=canonical_json(warnings),
        content_hash=checked.content_hash,
        rule_hash=checked.rule_hash,
        effective_from_ms=checked.document.effective_from,
        effective_until_ms=checked.document.effective_until,
        created_at_ms=writing.now_ms,
        created_by=writing.actor,
        comment=writing.comment,
    )
    return _store(writing, processor, version, checked.lists)


def _store(
    writing: Writing,
    processor: Processor,
    version: ProcessorVersion,
    lists: Iterable[tuple[str, str]],
) -> ProcessorVersion:
    writing.session.add(version)
    processor.latest_version = version.version
    writing.session.flush()
    writing.session.add_all(
        ListUse(processor_id=processor.id, version=version.version, name=name, data_type=data_type)
        for name, data_type in lists
    )
    writing.session.flush()
    return version


def _require_lists(
    writing: Writing, processor: Processor, lists: Iterable[tuple[str, str]], remedy: str
) -> None:
    """Let a version pass whose lists are there; the stream is locked, so they stay.

    Raises:
        Refusal: one is not there, or is of another type (409).
    """
    for name, data_type in lists:
        stored = list_of(writing.session, processor.stream, name)
        if stored is None or stored.is_deleted:
            detail = f"List '{name}', which it names, is not there. {remedy}"
            raise Refusal(HTTPStatus.CONFLICT, detail)
        if stored.data_type != data_type:
            detail = (
                f"List '{name}', which it names, is of type {stored.data_type} now, no longer "
                f"{data_type}. {remedy}"
            )
            raise Refusal(HTTPStatus.CONFLICT, detail)


def set_labels(writing: Writing, processor: Processor, labels: ProcessorLabels) -> bool:
    """Give a processor its labels; return whether any is another one."""
    tags = sorted(set(labels.tags))
    known = repository.tags_of(writing.session, [processor.id])[processor.id]
    if (processor.description, processor.owner, known) == (labels.description, labels.owner, tags):
        return False
    processor.description = labels.description
    processor.owner = labels.owner
    repository.set_tags(writing.session, processor.id, tags)
    return True


def _is_published(writing: Writing, version: ProcessorVersion) -> bool:
    published = repository.open_publications(writing.session, version.processor_id)
    return any(each.version == version.version for each in published)


def existing_version(writing: Writing, processor: Processor, version: int) -> ProcessorVersion:
    """Return a version of a processor.

    Raises:
        Refusal: there is no such version (404).
    """
    return version_in(writing.session, processor, version)
