"""What other people than the author do with a proposal: approve, reject, publish.

    approvals of this revision, by people who are not its author ──► enough? ──► carry_out ──► log

People are told apart by `Principal.person`: two tokens of one person are one approval, and a token
of nobody's is none. The caller has locked the proposal.
"""

from http import HTTPStatus

from api.access.authentication import Principal
from api.proposals import repository
from api.proposals.changes import carry_out
from api.proposals.checking import CheckedProposal
from api.proposals.service import close, is_stale, log, require_same
from api.proposals.tables import Proposal, ProposalApproval
from api.settings import Settings
from api.streams.repository import required_approvals
from api.transactions import Writing
from api.web.problems import Refusal
from contract.service.proposals import PUBLISHED, REJECTED

_LONGEST_COMMENT = 1_000


def approve(writing: Writing, proposal: Proposal, principal: Principal) -> None:
    """Add the approval of whoever asks; a second one of the same person changes nothing.

    Raises:
        Refusal: it is their own, or their token names no person (403); the rule or list has been
            changed since it was proposed (409).
    """
    if not principal.person:
        detail = (
            f"The token '{principal.name}' does not say whose it is, so its approval cannot be "
            "told from others. An admin creates one that does: `percept token create … --person`."
        )
        raise Refusal(HTTPStatus.FORBIDDEN, detail)
    _require_another(proposal, principal, "approve")
    _require_current(writing, proposal)
    session, person = writing.session, principal.identity
    known = repository.approval_of(session, proposal.id, person)
    if known is not None and known.revision == proposal.revision:
        return
    if known is not None:
        session.delete(known)
        session.flush()
    session.add(
        ProposalApproval(
            proposal_id=proposal.id,
            person=person,
            revision=proposal.revision,
            name=principal.name,
            token_id=principal.token_id,
            at_ms=writing.now_ms,
        )
    )
    session.flush()
    log(writing, proposal, "proposal.approve", f" as {person}")


def reject(
    writing: Writing, proposal: Proposal, principal: Principal, reason: str, settings: Settings
) -> None:
    """Close a proposal that is not to be published.

    Raises:
        Refusal: it is their own (403), which they can withdraw.
    """
    _require_another(proposal, principal, "reject")
    proposal.reason = reason
    close(writing, proposal, REJECTED, settings)
    log(writing, proposal, "proposal.reject", f": {reason}")


def publish(
    writing: Writing, proposal: Proposal, checked: CheckedProposal, settings: Settings
) -> None:
    """Make the change of a proposal and close it.

    Raises:
        Refusal: too few people have approved it, the rule or list has been changed since,
            it was edited during the check (409), or the change itself is refused.
    """
    require_same(proposal, checked)
    _require_current(writing, proposal)
    approvals = repository.approvals_of(writing.session, [proposal])[proposal.id]
    people = [approval.person for approval in approvals]
    required = required_approvals(writing.session, proposal.stream)
    if len(people) < required:
        detail = (
            f"Proposal {proposal.id} has {len(people)} of the {required} approvals that stream "
            f"'{proposal.stream}' asks for."
        )
        raise Refusal(HTTPStatus.CONFLICT, detail)
    writing.comment = writing.comment or proposal.comment[:_LONGEST_COMMENT]
    approved = f", approved by {', '.join(people)}" if people else ""
    message = f"proposal {proposal.id} by {proposal.author}{approved}"
    version = carry_out(writing, proposal, checked.checked, message)
    writing.session.flush()
    proposal.published_version = version
    proposal.published_epoch = writing.new_epochs.get(proposal.stream)
    log(writing, proposal, "proposal.publish", approved)
    close(writing, proposal, PUBLISHED, settings)


def _require_another(proposal: Proposal, principal: Principal, verb: str) -> None:
    if principal.identity == proposal.author_identity:
        remedy = "Withdraw it, or edit it." if verb == "reject" else "Ask someone else to."
        detail = f"You cannot {verb} your own proposal. {remedy}"
        raise Refusal(HTTPStatus.FORBIDDEN, detail)


def _require_current(writing: Writing, proposal: Proposal) -> None:
    if is_stale(writing.session, proposal, writing.now_ms):
        about = f"What runs of rule '{proposal.processor_id}' has"
        if proposal.list_name:
            about = f"The values of list '{proposal.list_name}' have"
        detail = (
            f"{about} been changed since proposal {proposal.id} was made. Its author can renew it; "
            "it needs new approvals then."
        )
        raise Refusal(HTTPStatus.CONFLICT, detail)
