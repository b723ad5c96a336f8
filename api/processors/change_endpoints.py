"""A processor is changed: new versions, labels, pause, resume, rollback, cancelling, deleting."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Response

from api.access.authentication import Author, Publisher
from api.processors import service, views
from api.processors.endpoints import IdInPath, VersionInPath, shown
from api.processors.publishing import (
    Checked,
    checked_replacement,
    may_publish,
    verified_target,
)
from api.processors.schemas import LabelsPatch, ProcessorView, Rollback
from api.processors.tables import Processor
from api.routing import slice_router
from api.transactions import Write
from api.web.preconditions import TAGGED, IfMatch
from api.web.problems import documented

router = slice_router("/v1/processors/{processor_id}", "processors")

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
        view = shown(self.write.session, processor, self.response)
        return view.model_copy(update={"withdrawn": list(withdrawn)})


Change = Annotated[ProcessorChange, Depends()]


@router.put("", responses=ANSWERS | documented(409))
def replace_processor(
    principal: Author, checked: Annotated[Checked, Depends(checked_replacement)], change: Change
) -> ProcessorView:
    """Publish a new version; the same content again makes none. Authors: while it is paused.

    A version that is effective at once takes the place of those that are scheduled; `withdrawn`
    names them.
    """
    published = service.replace(change.write, change.processor(), checked)
    may_publish(principal, paused=published.processor.state == "paused")
    return change.shown(published.processor, published.withdrawn)


@router.patch("", responses=ANSWERS)
def label_processor(_principal: Author, patch: LabelsPatch, change: Change) -> ProcessorView:
    """Change labels: description, owner, tags. Neither a version nor an epoch is made."""
    return change.shown(service.label(change.write, change.processor(), patch))


@router.delete("", status_code=204, responses=_REFUSED)
def delete_processor(_principal: Publisher, change: Change) -> None:
    """Take a processor out of what runs; its versions stay and can be rolled back to."""
    service.delete(change.write, change.processor())


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
