"""Proposals, from Python: the part of `Client` that is about changes which others approve first.

client.propose(document) ──► somebody else: client.approve(7) ──► client.publish_proposal(7)
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypedDict, Unpack

from api.client.connection import Connection
from api.client.errors import Flaw
from api.client.views import Difference, View
from cep.instants import Instant


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


class Approval(View):
    """One person has approved a proposal as it is."""

    person: str
    at: Instant


class ProposalComment(View):
    """A comment on a proposal."""

    number: int
    at: Instant
    author: str
    text: str


class ProposedValues(View):
    """What a proposal does to the values of a list, see docs/approvals.md."""

    list_type: str
    description: str
    count: int
    added: int
    removed: int
    added_values: list[str]
    removed_values: list[str]
    withdrawn: list[int]


class ProposalLine(View):
    """One line of a list of proposals."""

    id: int
    stream: str
    processor_id: str
    list_name: str
    kind: str
    state: str
    revision: int
    is_stale: bool
    author: str
    comment: str
    approval_count: int
    required_approvals: int
    comment_count: int
    effective_from: Instant | None
    created_at: Instant
    edited_at: Instant
    closed_at: Instant | None
    closed_by: str

    @property
    def name(self) -> str:
        """The rule or list that it is about."""
        return self.list_name or self.processor_id

    @property
    def etag(self) -> str:
        """The state this was read in, for `if_match`."""
        return str(self.revision)


class Proposal(ProposalLine):
    """A proposal, whole; see docs/approvals.md."""

    version: int | None
    versions: list[int]
    share_percent: float | None
    document: dict[str, Any] | None
    content: dict[str, Any] | None
    content_hash: str | None
    base_version: int | None
    base_content: dict[str, Any] | None
    values: ProposedValues | None
    differences: list[Difference]
    warnings: list[Flaw]
    example_count: int
    is_mine: bool
    approvals: list[Approval]
    reason: str
    published_version: int | None
    published_epoch: int | None

    @property
    def approvals_in_words(self) -> str:
        """How many people have approved it, and who."""
        who = ", ".join(each.person for each in self.approvals)
        if not self.required_approvals and not who:
            return "needs no approval"
        count = f"{self.approval_count} of {self.required_approvals} approvals"
        return f"{count} ({who})" if who else count


class ProposalCalls:
    """What a client does with proposals; see `Client`."""

    _connection: Connection

    def propose(
        self,
        document: Mapping[str, Any] | None = None,
        *,
        comment: str = "",
        **change: Unpack[ProposedChange],
    ) -> Proposal:
        """Propose a change: a document to be published, or what another kind takes.

        Raises:
            Invalid: the document or the change is wrong.
            Conflict: the state of the rule does not allow it.
        """
        body = _body(document, comment, change)
        return self._connection.read(Proposal, "POST", "/v1/proposals", body=body)

    def edit_proposal(
        self,
        proposal_id: int,
        document: Mapping[str, Any] | None = None,
        *,
        if_match: str = "*",
        comment: str = "",
        **change: Unpack[ProposedChange],
    ) -> Proposal:
        """Let one's own proposal say something else; it loses its approvals."""
        body = _body(document, comment, change)
        path = f"/v1/proposals/{proposal_id}"
        return self._connection.read(Proposal, "PUT", path, body=body, if_match=if_match)

    def proposals(self, **wanted: Unpack[ProposalFilter]) -> Iterator[ProposalLine]:
        """Yield proposals that meet a filter, newest first."""
        query = {
            name: str(value).lower() if isinstance(value, bool) else str(value)
            for name, value in wanted.items()
        }
        return self._connection.pages(ProposalLine, "/v1/proposals", query)

    def proposal(self, proposal_id: int) -> Proposal:
        """Return a proposal."""
        return self._connection.read(Proposal, "GET", f"/v1/proposals/{proposal_id}")

    def approve(self, proposal_id: int, *, if_match: str = "*") -> Proposal:
        """Approve somebody else's proposal; twice is as once.

        Raises:
            NotAllowed: it is one's own, or the token names no person.
        """
        return self._act(proposal_id, "approve", if_match)

    def reject(self, proposal_id: int, reason: str, *, if_match: str = "*") -> Proposal:
        """Close somebody else's proposal, and say why."""
        return self._act(proposal_id, "reject", if_match, body={"reason": reason})

    def withdraw(self, proposal_id: int, *, if_match: str = "*") -> Proposal:
        """Close one's own proposal."""
        return self._act(proposal_id, "withdraw", if_match)

    def renew(self, proposal_id: int, *, if_match: str = "*") -> Proposal:
        """Let one's own stale proposal be of the rule as it is now; it loses its approvals."""
        return self._act(proposal_id, "renew", if_match)

    def publish_proposal(
        self, proposal_id: int, *, if_match: str = "*", comment: str = ""
    ) -> Proposal:
        """Make the change of a proposal.

        Raises:
            Conflict: too few people have approved it, or it is stale or closed.
        """
        return self._act(proposal_id, "publish", if_match, query={"comment": comment})

    def comment_on_proposal(self, proposal_id: int, text: str) -> ProposalComment:
        """Add a comment."""
        path = f"/v1/proposals/{proposal_id}/comments"
        return self._connection.read(ProposalComment, "POST", path, body={"text": text})

    def proposal_comments(self, proposal_id: int) -> Iterator[ProposalComment]:
        """Yield the comments on a proposal, oldest first."""
        return self._connection.pages(ProposalComment, f"/v1/proposals/{proposal_id}/comments")

    def _act(self, proposal_id: int, verb: str, if_match: str, **request: Any) -> Proposal:
        path = f"/v1/proposals/{proposal_id}/{verb}"
        return self._connection.read(Proposal, "POST", path, if_match=if_match, **request)


def _body(
    document: Mapping[str, Any] | None, comment: str, change: ProposedChange
) -> dict[str, Any]:
    given = {} if document is None else {"document": dict(document)}
    return {**given, **change, "comment": comment}
