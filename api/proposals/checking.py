"""From the body of a request to a checked change, before any transaction for writing begins.

body ──► fields of its kind ──► document: checked as a publish would ──► CheckedChange
                              └► values of a list, see list_checking ──┘
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
from api.list_store.contents import DecodedContents
from api.lists.endpoints import Decoded
from api.processors.checks import CheckedDocument
from api.processors.publishing import checked_document, verify_version
from api.proposals import repository
from api.proposals.list_checking import CheckedList, checked_list
from api.proposals.tables import Proposal
from api.runtime import CurrentRuntime, Runtime
from api.web.problems import Refusal, invalid, not_found
from contract.service.problems import Flaw
from contract.service.proposals import ProposedChange

ProposalIdInPath = Annotated[int, Path(ge=1, lt=2**53)]

_OF_LIST: Final = ("stream", "list_name")
_TAKEN: Final[Mapping[str, tuple[str, ...]]] = {
    "publish": ("document",),
    "canary": ("document", "share_percent"),
    "share": ("processor_id", "share_percent"),
    "promote": ("processor_id",),
    "rollback": ("processor_id", "version"),
    "cancel": ("processor_id", "version"),
    "resume": ("processor_id",),
    "delete": ("processor_id",),
    "list_create": _OF_LIST,
    "list_put": _OF_LIST,
    "list_change": _OF_LIST,
    "list_rollback": (*_OF_LIST, "version"),
    "list_cancel": (*_OF_LIST, "version"),
    "list_delete": _OF_LIST,
}
_MAY_TAKE: Final[Mapping[str, tuple[str, ...]]] = {
    "list_create": ("list_type", "description", "values", "csv"),
    "list_put": ("values", "csv", "effective_from"),
    "list_change": ("add", "remove", "effective_from"),
    "list_rollback": ("effective_from",),
}
_FIELDS: Final = tuple(
    name for name in ProposedChange.model_fields if name not in {"kind", "comment"}
)

Checked = CheckedDocument | CheckedList | None


@dataclass(frozen=True, slots=True)
class CheckedChange:
    """A change with the fields of its kind; `checked` is its document or list, if it has one."""

    change: ProposedChange
    processor_id: str
    checked: Checked

    @property
    def share(self) -> int | None:
        """The share of the keys, in parts of 10,000."""
        percent = self.change.share_percent
        return None if percent is None else round(percent * 100)


@dataclass(frozen=True, slots=True)
class CheckedProposal:
    """A stored proposal that has been checked again; `revision` is which one it was."""

    id: int
    revision: int
    checked: Checked


async def checked_change(
    change: ProposedChange, principal: Author, runtime: CurrentRuntime, contents: Decoded
) -> CheckedChange:
    """Return the body, its document or values checked as a publish would check them.

    Raises:
        Refusal: a field of its kind is missing, or it has one too many (422); no such stream or
            list (404), a wrong document or value (422), or code not allowed (403).
        Overloaded: it has examples or values, and there was no turn for them.
    """
    _require_fields(change)
    if change.list_name is not None:
        return CheckedChange(change, "", await checked_list(change, contents, runtime))
    if change.document is None:
        processor_id = change.processor_id or ""
        if change.kind == "rollback" and change.version is not None:
            await run_in_threadpool(verify_version, processor_id, change.version, runtime)
        return CheckedChange(change, processor_id, None)
    checked = await _checked(change.document, principal, runtime)
    return CheckedChange(change, checked.document.id, checked)


async def proposal_to_renew(
    proposal_id: ProposalIdInPath, principal: Author, runtime: CurrentRuntime, contents: Decoded
) -> CheckedProposal:
    """Return a stored proposal for its author, see `_checked_again`."""
    return await _checked_again(proposal_id, principal, runtime, contents)


async def proposal_to_publish(
    proposal_id: ProposalIdInPath, principal: Publisher, runtime: CurrentRuntime, contents: Decoded
) -> CheckedProposal:
    """Return a stored proposal for whoever publishes it, see `_checked_again`."""
    return await _checked_again(proposal_id, principal, runtime, contents)


async def _checked_again(
    proposal_id: int, principal: Principal, runtime: Runtime, contents: DecodedContents
) -> CheckedProposal:
    """Return a stored proposal, checked against its stream and list as they are now.

    Raises:
        Refusal: there is no such proposal (404), or it does not pass any more (404, 409, 422).
        Overloaded: it has examples or values, and there was no turn for them.
    """
    proposal = await run_in_threadpool(_stored, proposal_id, runtime)
    checked: Checked = None
    if proposal.list_name:
        change = ProposedChange.model_validate_json(proposal.document)
        checked = await checked_list(change, contents, runtime)
    elif proposal.document:
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
    taken, allowed = _TAKEN[change.kind], _MAY_TAKE.get(change.kind, ())
    for name in _FIELDS:
        is_taken, is_given = name in taken, getattr(change, name) is not None
        if is_taken != is_given and name not in allowed:
            takes = ", ".join((*taken, *allowed))
            detail = "is missing" if is_taken else "is not used"
            flaws.append(
                Flaw(
                    pointer=f"/{name}",
                    detail=f"It {detail}: the kind '{change.kind}' takes {takes}.",
                    remedy="Add it." if is_taken else "Leave it out, or choose another kind.",
                )
            )
    has_values = sum(given is not None for given in (change.values, change.csv))
    if change.kind == "list_put" and not has_values:
        remedy = "Add an array of values, or csv."
        flaws.append(Flaw(pointer="/values", detail="It is missing.", remedy=remedy))
    if has_values > 1:
        flaws.append(
            Flaw(pointer="/csv", detail="There are values already.", remedy="Leave it out.")
        )
    if flaws:
        raise invalid("proposal", flaws)
