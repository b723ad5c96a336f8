"""`percept apply --propose`: a plan → proposals, instead of changes; and what may not be changed.

Plan ──► for each rule its first step that needs approvals ──► proposal, made or brought up to date

Of a list its values are proposed, as many as one proposal has. Of a rule that takes several such
steps only the first is, since the others would be stale once it is published. What needs no
approvals is left to `percept apply`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from api.client import Client, Proposal, ProposalLine, ServiceError
from api.client.proposals import ProposalFilter
from api.gitops.changes import (
    FREE,
    Action,
    Change,
    Deletion,
    ListChange,
    ListDeletion,
    Plan,
    PlannedRequest,
    ProcessorChange,
    StreamChange,
)
from api.gitops.list_parts import Part, parts
from api.gitops.list_planning import values_there
from cep.definition.given_lists import UnreadableList
from cep.list_content import list_values


@dataclass(frozen=True, slots=True)
class ProposalOutcome:
    """What became of one change: a proposal, new or known; or why there is none.

    `left` is how many more steps need approvals once this one is published.
    """

    change: Change
    proposal: Proposal | None = None
    told: str = ""
    left: int = 0
    error: ServiceError | None = None


def changes_to_approve(client: Client, plan: Plan) -> dict[str, int]:
    """Return how many approvals each stream asks for on which a plan changes what needs some.

    Raises:
        ServiceError: the service does not answer.
    """
    names = {change.stream for change in plan.changes if _steps(change)}
    with_lists = {change.stream for change in plan.changes if _changes_values(change)}
    new = {each.stream for each in plan.changes if each.actions == (Action.REGISTER,)}
    streams = {name: client.stream(name) for name in sorted((names | with_lists) - new)}
    return {
        name: stream.required_approvals
        for name, stream in streams.items()
        if stream.required_approvals and (name in names or stream.lists_need_approvals)
    }


def propose(
    client: Client, plan: Plan, comment: str, on_outcome: Callable[[ProposalOutcome], None]
) -> list[ProposalOutcome]:
    """Propose every change of a plan and return the outcomes; a failure does not stop the others.

    A proposal of one's own that is open for the same rule is brought up to date: it keeps its
    approvals if nothing is different.

    Args:
        client: the service.
        plan: what to propose.
        comment: what it is for.
        on_outcome: called with each outcome at once.
    """
    outcomes = []
    for change in plan.changes:
        outcome = _proposed(client, change, comment)
        on_outcome(outcome)
        outcomes.append(outcome)
    return outcomes


def _proposed(client: Client, change: Change, comment: str) -> ProposalOutcome:
    if isinstance(change, StreamChange):
        return ProposalOutcome(change, told="an admin applies streams; it is not proposed")
    if isinstance(change, ListChange | ListDeletion):
        try:
            wanted, left = _wanted_of_list(client, change)
        except UnreadableList as error:
            return ProposalOutcome(change, told=f"{error}")
        except ServiceError as error:
            return ProposalOutcome(change, error=error)
    else:
        steps = _steps(change)
        wanted, left = (_wanted(change, steps[0]) if steps else None), len(steps) - 1
    if wanted is None:
        told = "it needs no approval; apply it without --propose"
        return ProposalOutcome(change, told=told)
    try:
        proposal, told = _made(client, change, wanted, comment)
    except ServiceError as error:
        return ProposalOutcome(change, error=error)
    return ProposalOutcome(change, proposal, told, left)


def _changes_values(change: Change) -> bool:
    """Return whether a change is one of the values of a list."""
    match change:
        case ListChange():
            return Action.VALUES in change.actions
        case ListDeletion():
            return True
        case _:
            return False


def _steps(change: Change) -> list[PlannedRequest]:
    """Return the steps of a change that need approvals."""
    match change:
        case ProcessorChange():
            found = [step for step in change.steps if step.action not in FREE]
            # What is paused runs in no version; a resume lets all of it run.
            was_paused = change.current is not None and change.current.is_paused
            begins_paused = change.actions[0] in {Action.CREATE_PAUSED, Action.PAUSE}
            if was_paused or begins_paused:
                found = [step for step in found if step.action is Action.RESUME]
            return found
        case Deletion():
            return [PlannedRequest(Action.DELETE)]
        case _:
            return []


def _wanted(change: ProcessorChange | Deletion, step: PlannedRequest) -> dict[str, Any]:
    """Return the body of a proposal, beside its comment."""
    if isinstance(change, ProcessorChange) and step.version is not None:
        return {"document": change.wanted.body(step.version)}
    name = {"processor_id": change.name}
    match step.action:
        case Action.CANCEL:
            return {"kind": "cancel", "version": step.number, **name}
        case Action.RESUME:
            return {"kind": "resume", **name}
        case _:
            return {"kind": "delete", **name}


def _wanted_of_list(
    client: Client, change: ListChange | ListDeletion
) -> tuple[dict[str, Any] | None, int]:
    """Return the body of a proposal, beside its comment, and how many more follow.

    The body is `None` if no values change.
    """
    if not _changes_values(change):
        return None, 0
    about = {"stream": change.stream, "list_name": _list_name(change)}
    given = None if isinstance(change, ListDeletion) else change.wanted.given()
    if given is None or isinstance(change, ListDeletion):
        return {"kind": "list_delete", **about}, 0
    values = [str(each) for each in list_values(given.data_type, given.content)]
    if change.current is None:
        new = {"list_type": given.data_type, "description": change.wanted.document.description}
        first, *others = parts(values, ()) or [Part([], [])]
        return {"kind": "list_create", "values": first.add, **new, **about}, len(others)
    before, after = values_there(client, change.current), set(values)
    first, *others = parts(after - before, before - after) or [Part([], [])]
    if not others and len(parts(after, ())) <= 1:
        return {"kind": "list_put", "values": values, **about}, 0
    return {"kind": "list_change", "add": first.add, "remove": first.remove, **about}, len(others)


def _list_name(change: ListChange | ListDeletion) -> str:
    return change.current.name if isinstance(change, ListDeletion) else change.wanted.name


def _made(
    client: Client, change: Change, wanted: Mapping[str, Any], comment: str
) -> tuple[Proposal, str]:
    known = _known(client, change, wanted)
    if known is None:
        return client.propose(**wanted, comment=comment), "proposed"
    comment = comment or known.comment
    proposal = client.edit_proposal(known.id, **wanted, comment=comment, if_match=known.etag)
    return proposal, "proposed already" if proposal.revision == known.revision else "edited"


def _known(client: Client, change: Change, wanted: Mapping[str, Any]) -> ProposalLine | None:
    kind = wanted.get("kind", "publish")
    about = ProposalFilter(stream=change.stream, state="open", mine=True)
    if isinstance(change, ListChange | ListDeletion):
        about["list"] = _list_name(change)
    else:
        about["processor"] = change.name
    own = client.proposals(**about)
    return next((each for each in own if each.kind == kind), None)
