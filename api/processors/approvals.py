"""What every change of what runs must have, where its stream asks for approvals.

publications.record_change ─► require_approval ─────────► change log
lists.service ──────────────► require_approval_of_list ──► change log

It fails closed: a way to change what runs that is added later needs approvals, too, until it says
otherwise. `docs/decisions/0044` says which changes need none, and why.
"""

from http import HTTPStatus

from api.processors.tables import Processor
from api.streams.repository import lists_need_approvals, required_approvals
from api.transactions import Writing
from api.web.problems import Refusal


def require_approval(writing: Writing, processor: Processor, *, needs_approval: bool) -> str:
    """Let a change pass that needs no approval or has been approved; return who approved it.

    The stream is locked: nobody changes meanwhile how many approvals it asks for.

    Raises:
        Refusal: the stream asks for approvals, and the change has none (403).
    """
    approved = writing.approved
    if approved is not None and approved.processor_id == processor.id:
        return approved.told
    if needs_approval:
        _refuse_unapproved(writing, processor.stream)
    return ""


def require_approval_of_list(writing: Writing, stream: str, name: str) -> str:
    """Let a change of a list pass, likewise, or where the stream leaves lists to publishers.

    Raises:
        Refusal: the stream asks for approvals of lists, and the change has none (403).
    """
    approved = writing.approved
    if approved is not None and approved.list_name == name:
        return approved.told
    if lists_need_approvals(writing.session, stream):
        _refuse_unapproved(writing, stream)
    return ""


def _refuse_unapproved(writing: Writing, stream: str) -> None:
    required = required_approvals(writing.session, stream)
    if not required:
        return
    people = "1 person" if required == 1 else f"{required} people"
    detail = (
        f"Changes of what runs on stream '{stream}' must be approved by {people} "
        "other than their author. Propose it: POST /v1/proposals, `percept apply --propose`, "
        "`percept proposals`, or the dashboard."
    )
    raise Refusal(HTTPStatus.FORBIDDEN, detail)
