"""From the body of a request to a checked change, before any transaction for writing begins.

body ──► fields of its kind ──► document: checked as a publish would ──► CheckedChange
stored proposal ──────────────► the same again, when it is published ──► CheckedProposal
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any, Final

from fastapi import Path
from starlette.concurrency import run_in_threadpool

from api.access.authentication import Author, Principal, Publisher
from api.processors.checks import CheckedDocument
from api.processors.publishing import checked_document, verify_version
from api.proposals import repository
from api.proposals.schemas import ProposedChange
from api.proposals.tables import Proposal
from api.runtime import CurrentRuntime, Runtime
from api.web.problems import Flaw, Refusal, invalid, not_found

ProposalIdInPath = Annotated[int, Path(ge=1, lt=2**53)]

_TAKEN: Final[Mapping[str, tuple[str, ...]]] = {
    "publish": ("document",),
    "canary": ("document", "share_percent"),
    "share": ("processor_id", "share_percent"),
    "promote": ("processor_id",),
    "rollback": ("processor_id", "version"),
    "cancel": ("processor_id", "version"),
    "resume": ("processor_id",),
    "delete": ("processor_id",),
}
_FIELDS: Final = ("document", "processor_id", "version", "share_percent")


@dataclass(frozen=True, slots=True)
class CheckedChange:
    """A change with the fields of its kind; `checked` is its document, if the kind has one."""

    change: ProposedChange
    processor_id: str
    checked: CheckedDocument | None

    @property
    def share(self) -> int | None:
        """The share of the keys, in parts of 10,000."""
        percent = self.change.share_percent
        return None if percent is None else round(percent * 100)


@dataclass(frozen=True, slots=True)
class CheckedProposal:
    """A stored proposal whose document has been checked again; `revision` is which one it was."""

    id: int
    revision: int
    checked: CheckedDocument | None


async def checked_change(
    change: ProposedChange, principal: Author, runtime: CurrentRuntime
) -> CheckedChange:
    """Return the body, its document checked as a publish would check it.

    Raises:
        Refusal: a field of its kind is missing, or it has one too many (422); no such stream (404),
            a wrong document (422), or code not allowed (403).
        Overloaded: it has examples, and there was no turn to run them.
    """
    _require_fields(change)
    if change.document is None:
        processor_id = change.processor_id or ""
        if change.kind == "rollback" and change.version is not None:
            await run_in_threadpool(verify_version, processor_id, change.version, runtime)
        return CheckedChange(change, processor_id, None)
    checked = await _checked(change.document, principal, runtime)
    return CheckedChange(change, checked.document.id, checked)


async def proposal_to_renew(
    proposal_id: ProposalIdInPath, principal: Author, runtime: CurrentRuntime
) -> CheckedProposal:
    """Return a stored proposal for its author, see `_checked_again`."""
    return await _checked_again(proposal_id, principal, runtime)


async def proposal_to_publish(
    proposal_id: ProposalIdInPath, principal: Publisher, runtime: CurrentRuntime
) -> CheckedProposal:
    """Return a stored proposal for whoever publishes it, see `_checked_again`."""
    return await _checked_again(proposal_id, principal, runtime)


async def _checked_again(
    proposal_id: int, principal: Principal, runtime: Runtime
) -> CheckedProposal:
    """Return a stored proposal, its document checked against its stream as it is now.

    Raises:
        Refusal: there is no such proposal (404), or its document does not pass any more (422).
        Overloaded: it has examples, and there was no turn to run them.
    """
    proposal = await run_in_threadpool(_stored, proposal_id, runtime)
    checked = None
    if proposal.document:
        checked = await _checked(json.loads(proposal.document), principal, runtime)
    elif proposal.kind == "rollback":
        (version,) = json.loads(proposal.versions)
        await run_in_threadpool(verify_version, proposal.processor_id, version, runtime)
    return CheckedProposal(proposal.id, proposal.revision, checked)


def unknown_proposal(proposal_id: int) -> Refusal:
    """Return the refusal for a proposal that is not there."""
    return not_found("proposal", str(proposal_id), "Only the newest closed proposals are kept.")


def _stored(proposal_id: int, runtime: Runtime) -> Proposal:
    with runtime.database.reading() as session:
        proposal = repository.proposal_of(session, proposal_id)
    if proposal is None:
        raise unknown_proposal(proposal_id)
    return proposal


async def _checked(
    document: Mapping[str, Any], principal: Principal, runtime: Runtime
) -> CheckedDocument:
    try:
        return await checked_document(dict(document), principal, runtime)
    except Refusal as refusal:
        inside = [
            flaw.model_copy(update={"pointer": f"/document{flaw.pointer}"})
            for flaw in refusal.flaws
        ]
        raise Refusal(HTTPStatus(refusal.status_code), refusal.detail, inside) from None


def _require_fields(change: ProposedChange) -> None:
    flaws = []
    for name in _FIELDS:
        is_taken, is_given = name in _TAKEN[change.kind], getattr(change, name) is not None
        if is_taken != is_given:
            takes = ", ".join(_TAKEN[change.kind])
            detail = "is missing" if is_taken else "is not used"
            flaws.append(
                Flaw(
                    pointer=f"/{name}",
                    detail=f"It {detail}: the kind '{change.kind}' takes {takes}.",
                    remedy="Add it." if is_taken else "Leave it out, or choose another kind.",
                )
            )
    if flaws:
        raise invalid("proposal", flaws)
