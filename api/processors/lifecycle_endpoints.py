"""Processors are paused, resumed, rolled back; scheduled versions are cancelled."""

from typing import Annotated

from fastapi import Depends, Response

from api.access.authentication import Publisher
from api.processors import service, views
from api.processors.endpoints import IdInPath, VersionInPath, shown
from api.processors.publishing import verified_target
from api.processors.schemas import ProcessorView, Rollback
from api.routing import slice_router
from api.transactions import Write
from api.web.preconditions import IfMatch
from api.web.problems import documented

router = slice_router("/v1/processors/{processor_id}", "processors")


@router.post("/pause", responses=documented(404, 412))
def pause_processor(
    processor_id: IdInPath,
    _principal: Publisher,
    write: Write,
    response: Response,
    if_match: IfMatch = None,
) -> ProcessorView:
    """Stop a processor but keep it; doing so twice changes nothing."""
    processor = views.existing_processor(write.session, processor_id)
    return shown(write.session, service.pause(write, processor, if_match), response)


@router.post("/resume", responses=documented(404, 412))
def resume_processor(
    processor_id: IdInPath,
    _principal: Publisher,
    write: Write,
    response: Response,
    if_match: IfMatch = None,
) -> ProcessorView:
    """Let a paused processor run again; doing so twice changes nothing."""
    processor = views.existing_processor(write.session, processor_id)
    return shown(write.session, service.resume(write, processor, if_match), response)


@router.post("/rollback", responses=documented(404, 412, 428))
def roll_back_processor(
    processor_id: IdInPath,
    _principal: Publisher,
    write: Write,
    target: Annotated[Rollback, Depends(verified_target)],
    response: Response,
    if_match: IfMatch = None,
) -> ProcessorView:
    """Publish the content of an old version as a new one; a deleted processor comes back."""
    processor = views.existing_processor(write.session, processor_id, deleted_too=True)
    rolled_back = service.roll_back(write, processor, target.version, if_match)
    return shown(write.session, rolled_back, response)


@router.post("/versions/{version}/cancel", responses=documented(404, 409, 412))
def cancel_version(
    processor_id: IdInPath,
    version: VersionInPath,
    _principal: Publisher,
    write: Write,
    response: Response,
    if_match: IfMatch = None,
) -> ProcessorView:
    """Take back a scheduled version; what was published before it goes on."""
    processor = views.existing_processor(write.session, processor_id)
    return shown(write.session, service.cancel(write, processor, version, if_match), response)
