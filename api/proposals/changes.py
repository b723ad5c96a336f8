"""What a proposal does to its rule once it is published, and what it would do before.

carry_out ──► the services of processors and rollouts, as if it had been sent to them
           └► of lists, see list_changes
rehearsal ──► the same, and back: what would be refused then is refused at once
"""

import dataclasses
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import assert_never, cast

from sqlalchemy.orm import Session

from api.processors import creation, views
from api.processors import repository as processors
from api.processors import service as processor_service
from api.processors.checks import CheckedDocument
from api.processors.tables import Processor
from api.proposals import list_changes
from api.proposals.checking import Checked
from api.proposals.list_checking import CheckedList
from api.proposals.tables import Proposal
from api.rollouts import service as rollouts
from api.transactions import ApprovedChange, Writing
from api.web.problems import Refusal
from contract.canonical import canonical_json
from contract.service.processors import DELETED, PAUSED
from contract.service.proposals import RuleKind


@dataclass(frozen=True, slots=True)
class WouldRun:
    """What would run, in the form of a version, "" if nothing would; and the versions concerned."""

    content: str
    versions: tuple[int, ...]


def carry_out(writing: Writing, proposal: Proposal, checked: Checked, told: str) -> int | None:
    """Make the change of a proposal; return the version that runs by it, if it names or makes one.

    The caller has locked the stream, and counted the approvals.

    Args:
        writing: the transaction.
        proposal: what is published.
        checked: its document or list, if it has one.
        told: who approved it, for the log.

    Raises:
        Refusal: as the change itself would be refused.
    """
    with _approved(writing, proposal, told):
        if isinstance(checked, CheckedList):
            stored, _changed = list_changes.carry_out(writing, checked)
            makes_none = checked.change.kind in {"list_cancel", "list_delete"}
            return None if makes_none else stored.latest_version
        processor = make(writing, proposal, checked)
        writing.session.flush()
    if proposal.kind == "canary":
        return processor.latest_version
    is_published = proposal.kind in {"publish", "promote", "rollback"}
    return processor.current_version if is_published else None


@contextmanager
def rehearsal(writing: Writing, proposal: Proposal) -> Iterator[Writing]:
    """Let the change of a proposal be made as if all had approved it, and take it back."""
    # A copy with nothing to tell: no metric counts it, and no reader is woken.
    alone = dataclasses.replace(writing, new_epochs={}, actions=[])
    savepoint = writing.session.begin_nested()
    try:
        with _approved(alone, proposal, ""):
            yield alone
    finally:
        savepoint.rollback()


@contextmanager
def _approved(writing: Writing, proposal: Proposal, told: str) -> Iterator[None]:
    writing.approved = ApprovedChange(proposal.processor_id, proposal.list_name, told)
    try:
        yield
    finally:
        writing.approved = None


def would_run(
    session: Session, proposal: Proposal, checked: CheckedDocument | None, version: int | None
) -> WouldRun:
    """Return what would run if a proposal was published now.

    Args:
        session: the transaction.
        proposal: its kind and rule.
        checked: its document, if it has one.
        version: the version that was named, if its kind has one.

    Raises:
        Refusal: there is no such rule or version (404).
    """
    if checked is not None:
        document = checked.document
        schedule = document.effective_from, document.effective_until
        content = views.content_document(checked.definition, checked.examples, *schedule)
        return WouldRun(canonical_json(content), ())
    processor = _existing(session, proposal)
    versions: tuple[int, ...] = () if version is None else (version,)
    if proposal.kind in {"promote", "share"}:
        versions = (rollouts.existing_rollout(session, processor).version,)
    elif proposal.kind == "resume":
        tried = processors.open_rollout(session, processor.id)
        published = processors.open_publications(session, processor.id)
        also = [] if tried is None else [tried]
        versions = tuple(each.version for each in (*also, *published))
    if not versions or proposal.kind == "cancel":
        return WouldRun("", versions)
    shown = views.version_view(session, processor, versions[-1])
    return WouldRun(canonical_json(shown.document), versions)


def make(writing: Writing, proposal: Proposal, checked: CheckedDocument | None) -> Processor:
    """Make the change of a rule, which the transaction has the approvals of.

    Raises:
        Refusal: as the change itself would be refused.
    """
    kind, share = cast(RuleKind, proposal.kind), proposal.share or 0
    if kind == "publish":
        assert checked is not None  # noqa: S101 - its kind has a document
        return _published(writing, checked)
    processor = _existing(writing.session, proposal)
    processor_service.lock(writing, processor, "*", deleted_too=kind == "rollback")
    match kind:
        case "canary":
            assert checked is not None  # noqa: S101 - its kind has a document
            rollouts.start(writing, processor, checked, share)
        case "share":
            rollouts.set_share(writing, processor, share)
        case "promote":
            rollouts.promote(writing, processor)
        case "rollback":
            (version,) = json.loads(proposal.versions)
            processor_service.roll_back(writing, processor, version)
        case "cancel":
            (version,) = json.loads(proposal.versions)
            processor_service.cancel(writing, processor, version)
        case "resume":
            if processor.state != PAUSED:
                raise Refusal(HTTPStatus.CONFLICT, "The rule is not paused.")
            processor_service.resume(writing, processor)
        case "delete":
            processor_service.delete(writing, processor)
        case _:
            assert_never(kind)
    return processor


def _published(writing: Writing, checked: CheckedDocument) -> Processor:
    processor = processors.processor_of(writing.session, checked.document.id)
    if processor is None or processor.state == DELETED:
        return creation.create(writing, checked, paused=False)
    before = processor.latest_version, processor.current_version
    changed = processor_service.replace(writing, processor, checked).processor
    if (changed.latest_version, changed.current_version) == before:
        detail = (
            f"Version {changed.current_version} is published and says the same. Labels need no "
            "approval: change them with PATCH."
        )
        raise Refusal(HTTPStatus.CONFLICT, detail)
    return changed


def _existing(session: Session, proposal: Proposal) -> Processor:
    deleted_too = proposal.kind == "rollback"
    return views.existing_processor(session, proposal.processor_id, deleted_too=deleted_too)
