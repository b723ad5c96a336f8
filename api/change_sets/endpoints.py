"""Several changes of the rules of a stream are made as one, or only tried."""

from typing import Annotated

from fastapi import Depends, Query

from api.access.authentication import Author
from api.change_sets import making
from api.change_sets.checking import CheckedSet, checked_set
from api.routing import slice_router
from api.transactions import Write
from api.web.problems import documented
from contract.service.change_sets import ChangeSetView

router = slice_router("/v1/streams/{stream}/change-sets", "change sets", for_confined=True)

DryRun = Annotated[bool, Query(description="Only tell what would change; nothing is written.")]


@router.post("", responses=documented(404, 409, 412, 428))
def change_rules(
    _principal: Author,
    given: Annotated[CheckedSet, Depends(checked_set)],
    write: Write,
    dry_run: DryRun = False,  # noqa: FBT002 - a parameter of the query
) -> ChangeSetView:
    """Change several rules of a stream at once: all of it or, if one is refused, nothing.

    Jobs see it as one change: everything that runs by it begins with one epoch. Each change needs
    the role that it needs alone, and approvals where the stream asks for them.
    """
    if dry_run:
        changes, epoch = making.rehearse(write, given), None
    else:
        changes = making.make(write, given)
        epoch = write.new_epochs.get(given.stream)
    return ChangeSetView(stream=given.stream, is_dry_run=dry_run, epoch=epoch, changes=changes)
