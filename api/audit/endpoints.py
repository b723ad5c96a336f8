"""The change log is read: by stream, processor, action, actor."""

from typing import Annotated

from fastapi import Depends

from api.access.authentication import Viewer
from api.audit.actions import QUARANTINE
from api.audit.repository import ChangeFilter, changes_below, failed_events
from api.audit.tables import Change
from api.routing import slice_router
from api.store.views import view_of
from api.transactions import Read
from api.web.paging import NEWEST, Cursor, Limit, cursor_behind, place_in
from contract.service.audit import ChangeView, FailurePlace
from contract.service.pages import Page

router = slice_router("/v1", "audit", for_confined=True)


@router.get("/changes")
def list_changes(
    _principal: Viewer,
    session: Read,
    wanted: Annotated[ChangeFilter, Depends()],
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Page[ChangeView]:
    """Return what was changed, newest first."""
    below_id = place_in(cursor, NEWEST)
    found = changes_below(session, wanted, below_id, limit + 1)
    next_cursor = cursor_behind(found, limit, lambda last: (last.id,))
    shown = found[:limit]
    quarantines = [change.id for change in shown if change.action == QUARANTINE]
    places = failed_events(session, quarantines) if quarantines else {}
    items = [_view(change, places.get(change.id)) for change in shown]
    return Page(items=items, next_cursor=next_cursor)


def _view(change: Change, failed_at: str | None) -> ChangeView:
    place = None if failed_at is None else FailurePlace.model_validate_json(failed_at)
    return view_of(ChangeView, change, failed_at=place)
