"""A processor is changed: new versions, labels, pause, resume, rollback, cancelling, deleting."""

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated

from fastapi import Depends, Query, Response

from api.access.authentication import Author, Principal, Publisher
from api.audit.log import record
from api.processors import creation, repository, service, views
from api.processors.endpoints import IdInPath, VersionInPath, shown
from api.processors.publishing import Checked, checked_replacement, may_publish, verified_target
from api.processors.tables import Processor
from api.routing import slice_router
from api.transactions import Write
from api.web.preconditions import (
    CREATED,
    TAGGED,
    IfMatch,
    IfNew,
    exists_already,
    is_creation,
)
from api.web.problems import documented, invalid
from contract.service.problems import Flaw
from contract.service.processors import DELETED, LabelsPatch, ProcessorView, Rollback

router = slice_router("/v1/processors/{processor_id}", "processors", for_confined=True)

_REFUSED = documented(404, 412, 428)
ANSWERS = {200: TAGGED, **_REFUSED}


@dataclass(frozen=True, slots=True)
class ProcessorChange:
    """What each change of a processor has: which one, made from which state, and its answer."""

    processor_id: IdInPath
    write: Write
    response: Response
    if_match: IfMatch = None

    def processor(self, *, deleted_too: bool = False) -> Processor:
        """Return the processor, locked, in the state the change was made from.

        Raises:
            Refusal: there is none (404), or the change was made from another state (412, 428).
        """
        processor = views.existing_processor(
            self.write.session, self.processor_id, deleted_too=deleted_too
        )
        service.lock(self.write, processor, self.if_match, deleted_too=deleted_too)
        return processor

    def shown(self, processor: Processor, withdrawn: Sequence[int] = ()) -> ProcessorView:
        """Return what the processor has become, its ETag set in the answer."""
        view = shown(self.write.session, processor, self.response, self.write.now_ms)
        return view.model_copy(update={"withdrawn": list(withdrawn)})


Change = Annotated[ProcessorChange, Depends()]


@dataclass(frozen=True, slots=True)
class HowPut:
    """Whether a PUT creates a processor, and with it how that begins."""

    if_new: IfNew = None
    paused: Annotated[
        bool, Query(description="Do not run what is created until it is resumed.")
    ] = False


@router.put("", responses=ANSWERS | {201: {**CREATED, "model": ProcessorView}} | documented(409))
def replace_processor(
    principal: Author,
    checked: Annotated[Checked, Depends(checked_replacement)],
    change: Change,
    how: Annotated[HowPut, Depends()],
) -> ProcessorView:
    """Publish a new version; the same content again makes none. Authors: while it is paused.

    A version that is effective at once takes the place of those that are scheduled; `withdrawn`
    names them. With `If-None-Match: *` the processor is created (201), and nothing is changed if
    there is one (412).
    """
    if is_creation(change.if_match, how.if_new):
        return _created(principal, checked, change, paused=how.paused)
    if how.paused:
        remedy = "Leave it out; POST …/pause pauses what is there."
        flaw = Flaw(pointer="query/paused", detail="Nothing is created.", remedy=remedy)
        raise invalid("request", [flaw])
    published = service.replace(change.write, change.processor(), checked)
    may_publish(principal, paused=published.processor.state == "paused")
    return change.shown(published.processor, published.withdrawn)


def _created(
    principal: Principal, checked: Checked, change: ProcessorChange, *, paused: bool
) -> ProcessorView:
    may_publish(principal, paused=paused)
    service.lock_stream(change.write, checked.document.stream, checked)
    there = repository.processor_of(change.write.session, change.processor_id)
    if there is not None and there.state != DELETED:
        raise exists_already(f"Rule '{there.id}'", service.etag(there))
    processor = creation.create(change.write, checked, paused=paused)
    change.response.status_code = HTTPStatus.CREATED
    change.response.headers["Location"] = f"/v1/processors/{processor.id}"
    return change.shown(processor)


@router.patch("", responses=ANSWERS)
def label_processor(_principal: Author, patch: LabelsPatch, change: Change) -> ProcessorView:
    """Change labels: description, owner, tags. Neither a version nor an epoch is made."""
    return change.shown(service.label(change.write, change.processor(), patch))


@router.delete("", status_code=204, responses=_REFUSED)
def delete_processor(_principal: Publisher, change: Change) -> None:
    """Take a processor out of what runs; its versions stay and can be rolled back to."""
    service.delete(change.write, change.processor())


@router.post("/acknowledge", status_code=204, responses=documented(404))
def acknowledge_processor(processor_id: IdInPath, _principal: Author, write: Write) -> None:
    """Say that somebody looks into the errors of a processor: an entry of the log, nothing else."""
    processor = views.existing_processor(write.session, processor_id)
    stream, version = processor.stream, processor.current_version
    record(
        write,
        "processor.acknowledge",
        stream=stream,
        processor_id=processor_id,
        new_version=version,
    )


@router.post("/pause", responses=ANSWERS)
def pause_processor(_principal: Publisher, change: Change) -> ProcessorView:
    """Stop a processor but keep it; doing so twice changes nothing."""
    return change.shown(service.pause(change.write, change.processor()))


@router.post("/resume", responses=ANSWERS)
def resume_processor(_principal: Publisher, change: Change) -> ProcessorView:
    """Let a paused processor run again; doing so twice changes nothing."""
    return change.shown(service.resume(change.write, change.processor()))


@router.post("/rollback", responses=ANSWERS)
def roll_back_processor(
    _principal: Publisher, target: Annotated[Rollback, Depends(verified_target)], change: Change
) -> ProcessorView:
    """Publish the content of an old version as a new one, at once; a deleted processor comes back.

    It takes the place of versions that are scheduled; `withdrawn` names them.
    """
    processor = change.processor(deleted_too=True)
    published = service.roll_back(change.write, processor, target.version)
    return change.shown(published.processor, published.withdrawn)


@router.post("/versions/{version}/cancel", responses=ANSWERS | documented(409))
def cancel_version(version: VersionInPath, _principal: Publisher, change: Change) -> ProcessorView:
    """Take back a scheduled version; what was published before it goes on."""
    return change.shown(service.cancel(change.write, change.processor(), version))
