"""A version is tried beside what is published: begun, compared, given a share, promoted, ended."""

from typing import Annotated

from fastapi import Depends, Query

from api.access.authentication import Publisher, Viewer
from api.processors.change_endpoints import ANSWERS, Change
from api.processors.endpoints import IdInPath
from api.processors.publishing import Checked, checked_replacement
from api.processors.views import existing_processor
from api.rollouts import service
from api.routing import slice_router
from api.transactions import Read
from api.web.problems import documented
from contract.service.processors import ProcessorView
from contract.service.rollouts import RolloutView, ShareChange, SharePercent

router = slice_router("/v1/processors/{processor_id}/rollout", "rollouts", for_confined=True)


@router.get("", responses=documented(404))
def read_rollout(processor_id: IdInPath, _principal: Viewer, session: Read) -> RolloutView:
    """Return the version that is tried, and how its finds compare with the published ones."""
    return service.rollout_view(session, existing_processor(session, processor_id))


@router.post("", responses=ANSWERS | documented(409))
def start_rollout(
    _principal: Publisher,
    checked: Annotated[Checked, Depends(checked_replacement)],
    change: Change,
    share_percent: Annotated[SharePercent, Query()] = 0,
) -> ProcessorView:
    """Try a new version beside what is published: in shadow, or for a share of the keys.

    It takes the place of the one that is tried now. Its partial matches are its own, and what it
    finds outside its share is of kind `shadow`.
    """
    processor = change.processor()
    service.start(change.write, processor, checked, _parts(share_percent))
    return change.shown(processor)


@router.patch("", responses=ANSWERS | documented(409))
def share_rollout(_principal: Publisher, wanted: ShareChange, change: Change) -> ProcessorView:
    """Give the tried version another share of the keys, from the next events on."""
    processor = change.processor()
    service.set_share(change.write, processor, _parts(wanted.share_percent))
    return change.shown(processor)


@router.post("/promote", responses=ANSWERS | documented(409))
def promote_rollout(_principal: Publisher, change: Change) -> ProcessorView:
    """Publish the tried version for all keys, at once; it goes on with its partial matches.

    It takes the place of versions that are scheduled; `withdrawn` names them.
    """
    published = service.promote(change.write, change.processor())
    return change.shown(published.processor, published.withdrawn)


@router.delete("", responses=ANSWERS | documented(409))
def end_rollout(_principal: Publisher, change: Change) -> ProcessorView:
    """Take the tried version back; what is published has all keys, and has missed nothing."""
    processor = change.processor()
    service.end(change.write, processor)
    return change.shown(processor)


def _parts(share_percent: float) -> int:
    return round(share_percent * 100)
