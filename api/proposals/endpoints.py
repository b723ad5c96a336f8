"""Changes are proposed, listed, read, edited, renewed, discussed and withdrawn."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Response

from api.access.authentication import Author, Principal, Publisher, Viewer, authenticated
from api.proposals import decisions, repository, service, views
from api.proposals.checking import (
    CheckedChange,
    CheckedProposal,
    ProposalIdInPath,
    checked_change,
    proposal_to_publish,
    proposal_to_renew,
)
from api.proposals.filters import ProposalFilter
from api.proposals.tables import Proposal
from api.routing import slice_router
from api.runtime import CurrentRuntime
from api.transactions import Read, Write, Writing
from api.web.paging import NEWEST, Cursor, Limit, cursor_behind, place_in
from api.web.preconditions import CREATED, TAGGED, IfMatch, tagged
from api.web.problems import documented
from contract.service.pages import Page
from contract.service.proposals import (
    CommentDocument,
    CommentView,
    ProposalSummary,
    ProposalView,
    Rejection,
)

router = slice_router("/v1/proposals", "proposals", for_confined=True)

_ANSWERS = {200: TAGGED, **documented(404, 409, 412, 428)}


@dataclass(frozen=True, slots=True)
class ProposalChange:
    """What each change of an open proposal has: which one, by whom, seen in which state."""

    proposal_id: ProposalIdInPath
    principal: Annotated[Principal, Depends(authenticated)]
    write: Write
    response: Response
    if_match: IfMatch = None

    def proposal(self) -> Proposal:
        """Return the proposal, locked, open, and in the state it was seen in.

        Raises:
            Refusal: there is none (404), it is closed (409), or was edited since (412, 428).
        """
        proposal = service.locked(self.write, self.proposal_id)
        service.require_open(proposal, self.if_match)
        return proposal

    def own_proposal(self) -> Proposal:
        """Return likewise a proposal whose author asks.

        Raises:
            Refusal: as for `proposal`, or somebody else asks (403).
        """
        proposal = self.proposal()
        service.require_author(proposal, self.principal)
        return proposal

    def shown(self, proposal: Proposal) -> ProposalView:
        """Return what the proposal has become, its ETag set in the answer."""
        return _shown_after(self.write, proposal, self.principal, self.response)


Change = Annotated[ProposalChange, Depends()]


@router.post("", status_code=201, responses={201: CREATED, **documented(404, 409)})
def propose_change(
    change: Annotated[CheckedChange, Depends(checked_change)],
    principal: Author,
    write: Write,
    response: Response,
) -> ProposalView:
    """Propose a change. It is checked, and tried against the rule as it is; nothing runs by it."""
    proposal = service.propose(write, change, principal)
    response.headers["Location"] = f"/v1/proposals/{proposal.id}"
    return _shown_after(write, proposal, principal, response)


@router.get("")
def list_proposals(  # noqa: PLR0913, PLR0917 - what a list is asked by
    principal: Viewer,
    session: Read,
    runtime: CurrentRuntime,
    wanted: Annotated[ProposalFilter, Depends()],
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Page[ProposalSummary]:
    """Return proposals that meet a filter, newest first."""
    below = place_in(cursor, NEWEST)
    found = repository.proposals_below(session, wanted, principal.identity, below, limit + 1)
    next_cursor = cursor_behind(found, limit, lambda last: (last.id,))
    items = views.summaries(session, found[:limit], runtime.now_ms())
    return Page(items=items, next_cursor=next_cursor)


@router.get("/{proposal_id}", responses={200: TAGGED, **documented(404)})
def read_proposal(
    proposal_id: ProposalIdInPath,
    principal: Viewer,
    session: Read,
    runtime: CurrentRuntime,
    response: Response,
) -> ProposalView:
    """Return a proposal: what would change, what the check said, who approved it."""
    proposal = service.existing_proposal(session, proposal_id)
    tagged(response, service.etag(proposal))
    return views.proposal_view(session, proposal, principal.identity, runtime.now_ms())


@router.put("/{proposal_id}", responses=_ANSWERS)
def edit_proposal(
    _principal: Author,
    given: Annotated[CheckedChange, Depends(checked_change)],
    change: Change,
) -> ProposalView:
    """Let a proposal say something else. Its author may; all approvals are lost by it."""
    return change.shown(service.edit(change.write, change.own_proposal(), given))


@router.post("/{proposal_id}/renew", responses=_ANSWERS)
def renew_proposal(
    _principal: Author,
    checked: Annotated[CheckedProposal, Depends(proposal_to_renew)],
    change: Change,
) -> ProposalView:
    """Let a stale proposal be of the rule as it is now. Its author may; approvals are lost."""
    return change.shown(service.renew(change.write, change.own_proposal(), checked))


@router.post("/{proposal_id}/withdraw", responses=_ANSWERS)
def withdraw_proposal(_principal: Author, runtime: CurrentRuntime, change: Change) -> ProposalView:
    """Close a proposal of one's own."""
    proposal = change.own_proposal()
    service.withdraw(change.write, proposal, runtime.settings)
    return change.shown(proposal)


@router.post("/{proposal_id}/approve", responses=_ANSWERS)
def approve_proposal(principal: Publisher, change: Change) -> ProposalView:
    """Approve a proposal of somebody else, as it is now."""
    proposal = change.proposal()
    decisions.approve(change.write, proposal, principal)
    return change.shown(proposal)


@router.post("/{proposal_id}/reject", responses=_ANSWERS)
def reject_proposal(
    rejection: Rejection, principal: Publisher, runtime: CurrentRuntime, change: Change
) -> ProposalView:
    """Close a proposal of somebody else, and say why."""
    proposal = change.proposal()
    decisions.reject(change.write, proposal, principal, rejection.reason, runtime.settings)
    return change.shown(proposal)


@router.post("/{proposal_id}/publish", responses=_ANSWERS)
def publish_proposal(
    _principal: Publisher,
    checked: Annotated[CheckedProposal, Depends(proposal_to_publish)],
    runtime: CurrentRuntime,
    change: Change,
) -> ProposalView:
    """Make the change of a proposal that enough people have approved, and close it."""
    proposal = change.proposal()
    decisions.publish(change.write, proposal, checked, runtime.settings)
    return change.shown(proposal)


@router.get("/{proposal_id}/comments", responses=documented(404))
def list_comments(
    proposal_id: ProposalIdInPath,
    _principal: Viewer,
    session: Read,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Page[CommentView]:
    """Return the comments on a proposal, oldest first."""
    service.existing_proposal(session, proposal_id)
    above = place_in(cursor, 0)
    found = repository.comments_above(session, proposal_id, above, limit + 1)
    next_cursor = cursor_behind(found, limit, lambda last: (last.number,))
    return Page(items=[views.comment_view(each) for each in found[:limit]], next_cursor=next_cursor)


@router.post("/{proposal_id}/comments", status_code=201, responses=documented(404, 409))
def add_comment(
    proposal_id: ProposalIdInPath, comment: CommentDocument, _principal: Author, write: Write
) -> CommentView:
    """Add a comment to a proposal, in whatever state it is."""
    proposal = service.locked(write, proposal_id)
    return views.comment_view(service.add_comment(write, proposal, comment.text))


def _shown_after(
    writing: Writing, proposal: Proposal, principal: Principal, response: Response
) -> ProposalView:
    """Return the view of a proposal after a change, its ETag set in the answer."""
    writing.session.flush()
    tagged(response, service.etag(proposal))
    return views.proposal_view(writing.session, proposal, principal.identity, writing.now_ms)
