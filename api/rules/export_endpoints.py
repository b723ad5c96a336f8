"""The rules of a stream are read as documents, to be kept in files or imported elsewhere."""

from typing import Annotated

from fastapi import Query

from api.access.authentication import Viewer
from api.routing import slice_router
from api.rules.endpoints import StreamInPath
from api.rules.exporting import exported
from api.streams.service import existing_stream
from api.transactions import Read
from api.web.paging import Cursor, decoded_cursor
from api.web.problems import documented
from contract.service.rules import RuleExport

router = slice_router("/v1/streams/{stream}/export", "rules", for_confined=True)


@router.get("", responses=documented(404))
def export_rules(
    stream: StreamInPath,
    _principal: Viewer,
    session: Read,
    cursor: Cursor = None,
    limit: Annotated[int, Query(ge=1, le=500, description="Rules on a page, at most.")] = 100,
) -> RuleExport:
    """Return the rules of a stream as documents, as `percept export` writes them."""
    after_id = decoded_cursor(cursor, str)[0] if cursor else ""
    return exported(session, existing_stream(session, stream), after_id, limit)
