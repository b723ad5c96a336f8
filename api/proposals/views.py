"""Views of proposals; reads only."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy.orm import Session

from api.processors import repository as processors
from api.processors.checks import hash_of_content, normalised
from api.processors.comparison import differences
from api.processors.views import version_document
from api.proposals import list_changes, repository
from api.proposals.tables import Proposal, ProposalApproval, ProposalComment
from api.store.views import view_of
from api.streams.repository import required_approvals
from contract.service.problems import Flaw
from contract.service.proposals import (
    OPEN,
    ApprovalView,
    CommentView,
    ProposalSummary,
    ProposalView,
    ProposedValues,
)


def summaries(
    session: Session, proposals: Sequence[Proposal], now_ms: int
) -> list[ProposalSummary]:
    """Return the lines of a list."""
    return _summaries(session, proposals, repository.approvals_of(session, proposals), now_ms)


def _summaries(
    session: Session,
    proposals: Sequence[Proposal],
    approvals: Mapping[int, Sequence[ProposalApproval]],
    now_ms: int,
) -> list[ProposalSummary]:
    stale = _stale_ones(session, [each for each in proposals if each.state == OPEN], now_ms)
    required = {
        stream: required_approvals(session, stream)
        for stream in {each.stream for each in proposals}
    }
    return [
        view_of(
            ProposalSummary,
            each,
            is_stale=each.id in stale,
            approval_count=len(approvals[each.id]),
            required_approvals=required[each.stream],
        )
        for each in proposals
    ]


def _stale_ones(session: Session, proposals: Sequence[Proposal], now_ms: int) -> set[int]:
    epochs = processors.changed_epochs(session, {each.processor_id for each in proposals})
    return {
        each.id
        for each in proposals
        if (
            list_changes.is_stale(session, each, now_ms)
            if each.list_name
            else epochs[each.processor_id] != each.base_epoch
        )
    }


def proposal_view(session: Session, proposal: Proposal, identity: str, now_ms: int) -> ProposalView:
    """Return a proposal, whole.

    Args:
        session: the transaction.
        proposal: which one.
        identity: who asks, see `Principal.identity`.
        now_ms: the clock; a scheduled version of a list may have taken effect since.
    """
    approvals = repository.approvals_of(session, [proposal])
    (summary,) = _summaries(session, [proposal], approvals, now_ms)
    versions = json.loads(proposal.versions)
    is_of_list = bool(proposal.list_name)
    content = json.loads(proposal.content) if proposal.content and not is_of_list else None
    base = _base_content(session, proposal)
    return view_of(
        ProposalView,
        proposal,
        **summary.model_dump(),
        version=versions[-1] if versions else None,
        versions=versions,
        share_percent=None if proposal.share is None else proposal.share / 100,
        document=json.loads(proposal.document) if proposal.document and not is_of_list else None,
        content=content,
        content_hash=None if content is None else hash_of_content(content),
        base_content=base,
        values=ProposedValues.model_validate_json(proposal.content) if is_of_list else None,
        differences=list(differences(_normal(base), _normal(content))) if base and content else [],
        warnings=[Flaw.model_validate(warning) for warning in json.loads(proposal.warnings)],
        is_mine=proposal.author_identity == identity,
        approvals=[view_of(ApprovalView, each) for each in approvals[proposal.id]],
    )


def comment_view(comment: ProposalComment) -> CommentView:
    """Return a comment as it is shown."""
    return view_of(CommentView, comment)


def _base_content(session: Session, proposal: Proposal) -> dict[str, Any] | None:
    if proposal.base_version is None or proposal.list_name:
        return None
    version = processors.version_of(session, proposal.processor_id, proposal.base_version)
    return None if version is None else version_document(version)


def _normal(content: dict[str, Any]) -> dict[str, Any]:
    return normalised(content)
