"""A proposal is made to be of its rule or list as it is now: compared with it, and tried on it.

what was sent ─► what would run, or how values would differ ─► rehearsal ─► Proposal
"""

from api.list_store import repository as lists
from api.processors import repository as processors
from api.proposals import list_changes, repository
from api.proposals.changes import make, rehearsal, would_run
from api.proposals.checking import Checked
from api.proposals.list_checking import CheckedList
from api.proposals.tables import Proposal
from api.transactions import Writing
from contract.canonical import canonical_json


def fit(
    writing: Writing,
    proposal: Proposal,
    checked: Checked,
    version: int | None,
    stream_version: int,
) -> None:
    """Let a proposal be of the rule or list as it is now; what would be refused now is refused.

    Args:
        writing: the transaction; the stream is locked.
        proposal: what was sent is in it.
        checked: its document or list, if it has one.
        version: the version that was named, if its kind has one.
        stream_version: of the stream's definition.
    """
    proposal.stream_version = stream_version
    proposal.edited_at_ms = writing.now_ms
    if isinstance(checked, CheckedList):
        _fit_list(writing, proposal, checked)
        return
    session, processor_id = writing.session, proposal.processor_id
    warnings = () if checked is None else checked.warnings
    with session.no_autoflush:
        found = would_run(session, proposal, checked, version)
        epochs = processors.changed_epochs(session, [processor_id])
        proposal.base_version = repository.version_to_compare(session, processor_id)
    proposal.content = found.content
    proposal.versions = canonical_json(list(found.versions))
    proposal.base_epoch = epochs[processor_id]
    proposal.example_count = 0 if checked is None else len(checked.document.examples)
    proposal.warnings = canonical_json([each.model_dump(exclude_none=True) for each in warnings])
    with rehearsal(writing, proposal) as alone:
        make(alone, proposal, checked)


def _fit_list(writing: Writing, proposal: Proposal, checked: CheckedList) -> None:
    session, change = writing.session, checked.change
    with session.no_autoflush:
        base = list_changes.base_of(session, checked, writing.now_ms)
        proposal.base_version = None if base is None else base.version
        proposal.base_epoch = lists.changed_epoch(session, proposal.stream, proposal.list_name)
    proposal.versions = canonical_json([] if change.version is None else [change.version])
    proposal.warnings, proposal.example_count = "[]", 0
    with rehearsal(writing, proposal) as alone:
        told = list_changes.compared(alone, checked, base)
    proposal.content = canonical_json(told.model_dump(mode="json"))
