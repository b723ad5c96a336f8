"""All SQL about proposals, their approvals and comments."""

from collections.abc import Sequence
from typing import Final

from sqlalchemy import ColumnElement, delete, func, select
from sqlalchemy.orm import Session, defer

from api.processors.tables import Publication
from api.proposals.filters import ProposalFilter
from api.proposals.tables import Proposal, ProposalApproval, ProposalComment
from api.streams.tables import Stream
from contract.service.proposals import OPEN

_LONG: Final = (Proposal.document, Proposal.content, Proposal.warnings)


def proposal_of(session: Session, proposal_id: int) -> Proposal | None:
    """Return a proposal."""
    return session.get(Proposal, proposal_id)


def proposals_below(
    session: Session, wanted: ProposalFilter, identity: str, below: int, limit: int
) -> Sequence[Proposal]:
    """Return proposals that meet a filter, newest first, with ids below a given one.

    Their documents and contents, which may be megabytes each, are not read.

    Args:
        session: the transaction.
        wanted: the filter.
        identity: who asks, see `Principal.identity`.
        below: ids are lower.
        limit: at most so many.
    """
    columns = (
        (Proposal.stream, wanted.stream),
        (Proposal.processor_id, wanted.processor),
        (Proposal.list_name, wanted.list_name),
        (Proposal.state, wanted.state),
        (Proposal.author, wanted.author),
    )
    conditions: list[ColumnElement[bool]] = [
        column == value for column, value in columns if value is not None
    ]
    if wanted.mine is not None:
        is_mine = Proposal.author_identity == identity
        conditions.append(is_mine if wanted.mine else ~is_mine)
    query = (
        select(Proposal)
        .where(Proposal.id < below, *conditions)
        .order_by(Proposal.id.desc())
        .limit(limit)
        .options(*(defer(column, raiseload=True) for column in _LONG))
    )
    return session.scalars(query).all()


def count_open(session: Session, stream: str) -> int:
    """Return how many proposals of a stream are open."""
    query = select(func.count()).where(Proposal.stream == stream, Proposal.state == OPEN)
    return session.scalars(query).one()


def counts_of_open(session: Session) -> list[tuple[str, int]]:
    """Return how many proposals each stream has that are open, 0 among them."""
    query = (
        select(Stream.name, func.count(Proposal.id))
        .outerjoin(Proposal, (Proposal.stream == Stream.name) & (Proposal.state == OPEN))
        .group_by(Stream.name)
        .order_by(Stream.name)
    )
    return [(stream, count) for stream, count in session.execute(query)]


def version_to_compare(session: Session, processor_id: str) -> int | None:
    """Return the newest version that runs for its keys or, if none does, that did so last."""
    query = (
        select(Publication.version)
        .where(
            Publication.processor_id == processor_id,
            Publication.share.is_(None),
            Publication.paused.is_(False),
        )
        .order_by(
            Publication.until_epoch.is_not(None),
            Publication.until_epoch.desc(),
            Publication.version.desc(),
        )
        .limit(1)
    )
    return session.scalar(query)


def approvals_of(
    session: Session, proposals: Sequence[Proposal]
) -> dict[int, list[ProposalApproval]]:
    """Return the approvals of proposals as they are now, by id, oldest first; none is its author's.

    An author's own would not count.
    """
    query = (
        select(ProposalApproval)
        .join(Proposal, Proposal.id == ProposalApproval.proposal_id)
        .where(
            Proposal.id.in_([proposal.id for proposal in proposals]),
            ProposalApproval.revision == Proposal.revision,
            ProposalApproval.person != Proposal.author_identity,
        )
        .order_by(ProposalApproval.at_ms, ProposalApproval.person)
    )
    found: dict[int, list[ProposalApproval]] = {proposal.id: [] for proposal in proposals}
    for approval in session.scalars(query):
        found[approval.proposal_id].append(approval)
    return found


def approval_of(session: Session, proposal_id: int, person: str) -> ProposalApproval | None:
    """Return the approval by a person, if there is one."""
    return session.get(ProposalApproval, (proposal_id, person))


def forget_approvals(session: Session, proposal_id: int) -> None:
    """Remove all approvals of a proposal."""
    session.execute(delete(ProposalApproval).where(ProposalApproval.proposal_id == proposal_id))


def comments_above(
    session: Session, proposal_id: int, number: int, limit: int
) -> Sequence[ProposalComment]:
    """Return comments on a proposal, oldest first, above a number."""
    query = (
        select(ProposalComment)
        .where(ProposalComment.proposal_id == proposal_id, ProposalComment.number > number)
        .order_by(ProposalComment.number)
        .limit(limit)
    )
    return session.scalars(query).all()


def forget_closed_but(session: Session, stream: str, kept: int) -> None:
    """Remove closed proposals of a stream except the newest; never the newest of all."""
    query = (
        select(Proposal.id)
        .where(Proposal.stream == stream, Proposal.state != OPEN)
        .order_by(Proposal.id.desc())
        .limit(1)
        .offset(kept)
    )
    newest_forgotten = session.scalar(query)
    if newest_forgotten is None:
        return
    session.execute(
        delete(Proposal).where(
            Proposal.stream == stream, Proposal.state != OPEN, Proposal.id <= newest_forgotten
        ),
        execution_options={"synchronize_session": False},
    )
