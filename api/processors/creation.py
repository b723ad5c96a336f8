"""Processors are created: running, paused, or in shadow; an id that was deleted begins again.

checked document ──create · create_in_shadow──► processor with its first version
"""

from http import HTTPStatus

from api.processors import repository, service
from api.processors.checks import CheckedDocument
from api.processors.publications import publish, try_beside
from api.processors.tables import Processor
from api.transactions import Writing
from api.web.problems import Refusal
from contract.service.processors import DELETED, PAUSED, PUBLISHED


def create(writing: Writing, checked: CheckedDocument, *, paused: bool) -> Processor:
    """Add a processor with its first version; version numbers of a deleted one continue.

    Raises:
        Refusal: the id is taken (409), or the stream has been redefined meanwhile (409).
    """
    processor = _begun(writing, checked)
    processor.state = PAUSED if paused else PUBLISHED
    publish(
        writing, processor, service.add_version(writing, processor, checked), "processor.create"
    )
    return processor


def create_in_shadow(writing: Writing, checked: CheckedDocument) -> Processor:
    """Add a processor of which nothing is published yet: its first version is only tried.

    Raises:
        Refusal: the id is taken, or the stream has been redefined meanwhile (409), or the document
            has a schedule (422).
    """
    service.require_no_schedule(checked)
    processor = _begun(writing, checked)
    version = service.add_version(writing, processor, checked)
    try_beside(writing, processor, version, 0, "rollout.start")
    return processor


def _begun(writing: Writing, checked: CheckedDocument) -> Processor:
    """Add a processor, with labels and without a version.

    Raises:
        Refusal: the id is taken (409), or the stream has been redefined meanwhile (409).
    """
    document = checked.document
    service.lock_stream(writing, document.stream, checked)
    processor = repository.processor_of(writing.session, document.id)
    if processor is None:
        if repository.is_id_taken(writing.session, document.id):
            detail = f"The id '{document.id}' is taken. Choose a different one."
            raise Refusal(HTTPStatus.CONFLICT, detail)
        processor = _new_processor(writing, checked)
    elif processor.state != DELETED:
        detail = f"A rule named '{document.id}' already exists. Publish a new version of it."
        raise Refusal(HTTPStatus.CONFLICT, detail)
    elif processor.stream != document.stream:
        detail = (
            f"'{document.id}' was a rule of stream '{processor.stream}'; an id cannot be reused "
            "on another stream. Choose a different id."
        )
        raise Refusal(HTTPStatus.CONFLICT, detail)
    processor.state = PUBLISHED
    service.set_labels(writing, processor, document)
    return processor


def _new_processor(writing: Writing, checked: CheckedDocument) -> Processor:
    processor = Processor(
        id=checked.document.id,
        stream=checked.document.stream,
        revision=0,
        latest_version=0,
        current_version=0,
        description="",
        owner="",
        severity="",
        state=PUBLISHED,
        created_at_ms=writing.now_ms,
        created_by=writing.actor,
        updated_at_ms=writing.now_ms,
        updated_by=writing.actor,
    )
    writing.session.add(processor)
    writing.session.flush()
    return processor
