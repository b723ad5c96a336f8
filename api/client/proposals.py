"""Proposals, from Python: the part of `Client` that is about changes which others approve first.

client.propose(document) ──► somebody else: client.approve(7) ──► client.publish_proposal(7)
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypedDict, Unpack

from api.client.connection import Connection
from contract.service.proposals import CommentView, ProposalSummary, ProposalView


class ProposedChange(TypedDict, total=False):
    """What a proposal of another kind than `publish` is about.

    `kind` is publish, canary, share, promote, rollback, cancel, resume or delete; of a list it is
    list_create, list_put, list_change, list_rollback, list_cancel or list_delete, with `stream` and
    `list_name`.
    """

    kind: str
    processor_id: str
    version: int
    share_percent: float
    stream: str
    list_name: str
    list_type: str
    description: str
    values: Sequence[str | int]
    csv: str
    add: Sequence[str | int]
    remove: Sequence[str | int]
    effective_from: int | str


class ProposalFilter(TypedDict, total=False):
    """Which proposals are wanted; what is left out may be any.

    `state` is open, published, rejected or withdrawn; `mine` is about whoever's token it is.
    """

    stream: str
    processor: str
    list: str
    state: str
    author: str
    mine: bool


class ProposalCalls:
    """What a client does with proposals; see `Client`."""

    _connection: Connection

    def propose(
        self,
        document: Mapping[str, Any] | None = None,
        *,
        comment: str = "",
        **change: Unpack[ProposedChange],
    ) -> ProposalView:
        """Propose a change: a document to be published, or what another kind takes.

        Raises:
            Invalid: the document or the change is wrong.
            Conflict: the state of the rule does not allow it.
        """
        body = _body(document, comment, change)
        return self._connection.read(ProposalView, "POST", "/v1/proposals", body=body)

    def edit_proposal(
        self,
        proposal_id: int,
        document: Mapping[str, Any] | None = None,
        *,
        if_match: str = "*",
        comment: str = "",
        **change: Unpack[ProposedChange],
    ) -> ProposalView:
        """Let one's own proposal say something else; it loses its approvals."""
        body = _body(document, comment, change)
        path = f"/v1/proposals/{proposal_id}"
        return self._connection.read(ProposalView, "PUT", path, body=body, if_match=if_match)

    def proposals(self, **wanted: Unpack[ProposalFilter]) -> Iterator[ProposalSummary]:
        """Yield proposals that meet a filter, newest first."""
        query = {
            name: str(value).lower() if isinstance(value, bool) else str(value)
            for name, value in wanted.items()
        }
        return self._connection.pages(ProposalSummary, "/v1/proposals", query)

    def proposal(self, proposal_id: int) -> ProposalView:
        """Return a proposal."""
        return self._connection.read(ProposalView, "GET", f"/v1/proposals/{proposal_id}")

    def approve(self, proposal_id: int, *, if_match: str = "*") -> ProposalView:
        """Approve somebody else's proposal; twice is as once.

        Raises:
            NotAllowed: it is one's own, or the token names no person.
        """
        return self._act(proposal_id, "approve", if_match)

    def reject(self, proposal_id: int, reason: str, *, if_match: str = "*") -> ProposalView:
        """Close somebody else's proposal, and say why."""
        return self._act(proposal_id, "reject", if_match, body={"reason": reason})

    def withdraw(self, proposal_id: int, *, if_match: str = "*") -> ProposalView:
        """Close one's own proposal."""
        return self._act(proposal_id, "withdraw", if_match)

    def renew(self, proposal_id: int, *, if_match: str = "*") -> ProposalView:
        """Let one's own stale proposal be of the rule as it is now; it loses its approvals."""
        return self._act(proposal_id, "renew", if_match)

    def publish_proposal(
        self, proposal_id: int, *, if_match: str = "*", comment: str = ""
    ) -> ProposalView:
        """Make the change of a proposal.

        Raises:
            Conflict: too few people have approved it, or it is stale or closed.
        """
        return self._act(proposal_id, "publish", if_match, query={"comment": comment})

    def comment_on_proposal(self, proposal_id: int, text: str) -> CommentView:
        """Add a comment."""
        path = f"/v1/proposals/{proposal_id}/comments"
        return self._connection.read(CommentView, "POST", path, body={"text": text})

    def proposal_comments(self, proposal_id: int) -> Iterator[CommentView]:
        """Yield the comments on a proposal, oldest first."""
        return self._connection.pages(CommentView, f"/v1/proposals/{proposal_id}/comments")

    def _act(self, proposal_id: int, verb: str, if_match: str, **request: Any) -> ProposalView:
        path = f"/v1/proposals/{proposal_id}/{verb}"
        return self._connection.read(ProposalView, "POST", path, if_match=if_match, **request)


def _body(
    document: Mapping[str, Any] | None, comment: str, change: ProposedChange
) -> dict[str, Any]:
    given = {} if document is None else {"document": dict(document)}
    return {**given, **change, "comment": comment}
