"""What happens to proposals: made, edited, renewed, discussed, withdrawn.

    lock the stream ─► read the proposal ─► compare with what was seen ─► change ─► log

`decisions` says who may approve, reject and publish. Everything that is done to a proposal has its
stream locked, as every change of what runs has, so that none of them passes another.
"""

import json
from http import HTTPStatus

from sqlalchemy.orm import Session

from api.access.authentication import Principal
from api.audit.actions import ProposalAction
from api.audit.log import record
from api.processors import repository as processors
from api.processors.tables import Processor
from api.proposals import list_changes, repository
from api.proposals.checking import CheckedChange, CheckedProposal, unknown_proposal
from api.proposals.fitting import fit
from api.proposals.list_checking import CheckedList
from api.proposals.tables import Proposal, ProposalComment
from api.settings import Settings
from api.streams.service import locked_stream
from api.transactions import Writing
from api.web.preconditions import require_match
from api.web.problems import Refusal, not_found
from contract.canonical import canonical_json
from contract.service.processors import DELETED
from contract.service.proposals import MOST_COMMENTS, MOST_OPEN, OPEN, WITHDRAWN


def propose(writing: Writing, change: CheckedChange, principal: Principal) -> Proposal:
    """Store a change that would be published now if enough people had approved it.

    Raises:
        Refusal: the change would be refused (404, 409, 422), or too many proposals are open (409).
    """
    session = writing.session
    stream = locked_stream(writing, _stream_of(session, change))
    if repository.count_open(session, stream.name) >= MOST_OPEN:
        detail = f"{MOST_OPEN} proposals are open on stream '{stream.name}'. Close some."
        raise Refusal(HTTPStatus.CONFLICT, detail)
    proposal = Proposal(
        stream=stream.name,
        processor_id=change.processor_id,
        list_name=change.change.list_name or "",
        kind=change.change.kind,
        state=OPEN,
        revision=1,
        author=principal.name,
        author_identity=principal.identity,
        created_at_ms=writing.now_ms,
        comment_count=0,
        closed_at_ms=None,
        closed_by="",
        reason="",
        published_version=None,
        published_epoch=None,
    )
    _take_over(proposal, change)
    fit(writing, proposal, change.checked, change.change.version, stream.version)
    session.add(proposal)
    session.flush()
    log(writing, proposal, "proposal.create")
    return proposal


def edit(writing: Writing, proposal: Proposal, change: CheckedChange) -> Proposal:
    """Let a proposal say something else; whoever had approved it has to do so again.

    The caller has locked it. The same content and comment again, of a rule that has not been
    changed since, keeps the approvals.

    Raises:
        Refusal: it is of another kind, rule or list (409), or the change would be refused.
    """
    given = (change.change.kind, change.processor_id, change.change.list_name or "")
    is_of_stream = change.change.stream in {None, proposal.stream}
    if given != (proposal.kind, proposal.processor_id, proposal.list_name) or not is_of_stream:
        of = "list" if proposal.list_name else "rule"
        detail = (
            f"Proposal {proposal.id} is of kind '{proposal.kind}' for {of} "
            f"'{proposal.processor_id or proposal.list_name}', and stays so. Make another one."
        )
        raise Refusal(HTTPStatus.CONFLICT, detail)
    before = _said(proposal), proposal.base_epoch
    _take_over(proposal, change)
    stream = locked_stream(writing, proposal.stream)
    fit(writing, proposal, change.checked, change.change.version, stream.version)
    if before != (_said(proposal), proposal.base_epoch):
        _lose_approvals(writing, proposal, "proposal.edit")
    return proposal


def renew(writing: Writing, proposal: Proposal, checked: CheckedProposal) -> Proposal:
    """Let a proposal be of the rule as it is now; whoever had approved it has to do so again.

    Raises:
        Refusal: nothing has changed since (409), or the change would be refused now.
    """
    require_same(proposal, checked)
    if not is_stale(writing.session, proposal, writing.now_ms):
        of = "list" if proposal.list_name else "rule"
        detail = f"The {of} has not been changed since. Nothing to do."
        raise Refusal(HTTPStatus.CONFLICT, detail)
    versions = json.loads(proposal.versions)
    stream = locked_stream(writing, proposal.stream)
    named = versions[0] if proposal.kind in {"rollback", "cancel"} else None
    fit(writing, proposal, checked.checked, named, stream.version)
    _lose_approvals(writing, proposal, "proposal.renew")
    return proposal


def withdraw(writing: Writing, proposal: Proposal, settings: Settings) -> Proposal:
    """Close a proposal that its author does not want any more."""
    close(writing, proposal, WITHDRAWN, settings)
    log(writing, proposal, "proposal.withdraw")
    return proposal


def add_comment(writing: Writing, proposal: Proposal, text: str) -> ProposalComment:
    """Add a comment to a proposal, in whatever state it is.

    Raises:
        Refusal: it has too many (409).
    """
    if proposal.comment_count >= MOST_COMMENTS:
        detail = f"Proposal {proposal.id} has {MOST_COMMENTS} comments; no more can be added."
        raise Refusal(HTTPStatus.CONFLICT, detail)
    proposal.comment_count += 1
    comment = ProposalComment(
        proposal_id=proposal.id,
        number=proposal.comment_count,
        at_ms=writing.now_ms,
        author=writing.actor,
        author_id=writing.actor_id,
        text=text,
    )
    writing.session.add(comment)
    writing.session.flush()
    return comment


def existing_proposal(session: Session, proposal_id: int) -> Proposal:
    """Return a proposal.

    Raises:
        Refusal: there is none of this id (404).
    """
    proposal = repository.proposal_of(session, proposal_id)
    if proposal is None:
        raise unknown_proposal(proposal_id)
    return proposal


def locked(writing: Writing, proposal_id: int) -> Proposal:
    """Return a proposal that nobody else changes until this transaction ends.

    Raises:
        Refusal: there is none of this id (404).
    """
    proposal = existing_proposal(writing.session, proposal_id)
    locked_stream(writing, proposal.stream)
    writing.session.expire_all()  # another may have changed or removed it while we waited
    return existing_proposal(writing.session, proposal_id)


def require_open(proposal: Proposal, if_match: str | None) -> None:
    """Let a change of an open proposal pass, made by somebody who has seen it as it is.

    Raises:
        Refusal: it is closed (409), or was edited since it was read (412, 428).
    """
    if proposal.state != OPEN:
        by = f" by {proposal.closed_by}" if proposal.closed_by else ""
        detail = f"Proposal {proposal.id} was {proposal.state}{by} and is closed."
        raise Refusal(HTTPStatus.CONFLICT, detail)
    require_match(if_match, etag(proposal))


def require_author(proposal: Proposal, principal: Principal) -> None:
    """Let its author pass.

    Raises:
        Refusal: somebody else asks (403).
    """
    if proposal.author_identity != principal.identity:
        detail = (
            f"Proposal {proposal.id} is by {proposal.author}, who alone may do this. Comment on "
            "it, or make another one."
        )
        raise Refusal(HTTPStatus.FORBIDDEN, detail)


def require_same(proposal: Proposal, checked: CheckedProposal) -> None:
    """Let a check pass that was made of the proposal as it is.

    Raises:
        Refusal: it was edited during the check (409).
    """
    if checked.revision != proposal.revision:
        detail = f"Proposal {proposal.id} was edited during the check. Look at it again."
        raise Refusal(HTTPStatus.CONFLICT, detail)


def is_stale(session: Session, proposal: Proposal, now_ms: int) -> bool:
    """Return whether what runs of the rule, or the list, has been changed since it was proposed."""
    if proposal.list_name:
        return list_changes.is_stale(session, proposal, now_ms)
    epochs = processors.changed_epochs(session, [proposal.processor_id])
    return epochs[proposal.processor_id] != proposal.base_epoch


def close(writing: Writing, proposal: Proposal, state: str, settings: Settings) -> None:
    """Close a proposal, and remove those that were closed long before it."""
    proposal.state = state
    proposal.closed_at_ms = writing.now_ms
    proposal.closed_by = writing.actor
    writing.session.flush()
    kept = settings.proposals_per_stream
    repository.forget_closed_but(writing.session, proposal.stream, kept)


def etag(proposal: Proposal) -> str:
    """Return the tag of what a proposal says and whether it is open; comments leave it as it is."""
    # Its approvals are of its revision, and stay with it when it is closed.
    return str(proposal.revision) + ("" if proposal.state == OPEN else f".{proposal.state}")


def log(writing: Writing, proposal: Proposal, action: ProposalAction, more: str = "") -> None:
    """Add to the change log what was done to a proposal."""
    record(
        writing,
        action,
        stream=proposal.stream,
        processor_id=proposal.processor_id or None,
        subject=" ".join(filter(None, (str(proposal.id), proposal.kind, proposal.list_name)))
        + more,
    )


def _stream_of(session: Session, change: CheckedChange) -> str:
    """Return the stream of a change; an id belongs to one stream for ever."""
    if isinstance(change.checked, CheckedList):
        return change.change.stream or ""
    processor = session.get(Processor, change.processor_id)
    if change.checked is not None:
        return change.checked.document.stream
    if processor is None or (processor.state == DELETED and change.change.kind != "rollback"):
        remedy = "To create it, propose to publish it."
        raise not_found("rule", change.processor_id, remedy)
    return processor.stream


def _take_over(proposal: Proposal, given: CheckedChange) -> None:
    """Let a proposal say what was sent."""
    change = given.change
    proposal.document = "" if change.document is None else canonical_json(change.document)
    if change.list_name is not None:
        sent = change.model_dump(mode="json", exclude_none=True, exclude={"comment"})
        proposal.document = canonical_json(sent)
    proposal.effective_from_ms = change.effective_from
    proposal.share = given.share
    proposal.comment = change.comment


def _said(proposal: Proposal) -> tuple[str, str, tuple[int, ...], int | None, str]:
    """Return what people approve; the comment is in it, as the log keeps it as the reason."""
    versions = tuple(json.loads(proposal.versions))
    return proposal.document, proposal.content, versions, proposal.share, proposal.comment


def _lose_approvals(writing: Writing, proposal: Proposal, action: ProposalAction) -> None:
    proposal.revision += 1
    repository.forget_approvals(writing.session, proposal.id)
    log(writing, proposal, action)
