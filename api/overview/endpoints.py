"""The state of everything is read in one request, so that a page of it can be kept fresh."""

from api.access.authentication import Viewer
from api.overview.service import overview
from api.routing import slice_router
from api.runtime import CurrentRuntime
from api.transactions import Read
from contract.service.overview import Overview
from contract.service.tokens import Role

router = slice_router("/v1", "overview", for_confined=True)


@router.get("/overview")
def read_overview(runtime: CurrentRuntime, principal: Viewer, session: Read) -> Overview:
    """Return streams, jobs with their last hour, rules by state, and what needs attention."""
    return overview(
        session, runtime.now_ms(), runtime.settings, tells_webhooks=principal.has(Role.ADMIN)
    )
