"""What webhooks tell of: the kinds of events, and what needs attention now.

    jobs, what they hold, open proposals ──concerns──► Concern, by a subject

An event is sent once when a concern comes up. It is found by looking at the store from time to
time, as the dashboard does, so that no way in which it may come up can be forgotten.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from api.jobs.tables import HeldVersion, Job
from api.jobs.views import discovery_view, job_state
from api.proposals.tables import Proposal, ProposalApproval
from api.settings import Settings
from api.streams.tables import Stream
from cep.instants import iso_text
from contract.service.proposals import OPEN
from contract.service.webhooks import EventKind

TEST: Final = "webhook.test"

_ERROR_CHARACTERS: Final = 1_000


@dataclass(frozen=True, slots=True)
class Concern:
    """Something that needs attention: `subject` names it, the same as long as it lasts."""

    kind: EventKind
    subject: str
    stream: str
    data: dict[str, Any]


def concerns(session: Session, now_ms: int, settings: Settings) -> list[Concern]:
    """Return all that needs attention now, of jobs that have not stopped, and open proposals."""
    return [
        *_of_jobs(session, now_ms, settings),
        *_of_versions(session),
        *_of_proposals(session),
    ]


def _of_jobs(session: Session, now_ms: int, settings: Settings) -> Iterator[Concern]:
    for job in session.scalars(select(Job).where(Job.stopped_at_ms.is_(None)).order_by(Job.id)):
        of_job = {"stream": job.stream, "job": job.name}
        state = job_state(job, now_ms, settings)
        if state == "stale":
            heard_ms = job.registered_at_ms if job.heartbeat_at_ms is None else job.heartbeat_at_ms
            data = of_job | {"last_heard": iso_text(heard_ms)}
            yield Concern("job.stale", f"job.stale {job.id}", job.stream, data)
        discovery = discovery_view(job)
        if state == "running" and discovery.status == "failing":
            data = of_job | {"error": discovery.error[:_ERROR_CHARACTERS]}
            yield Concern("discovery.failing", f"discovery.failing {job.id}", job.stream, data)


def _of_versions(session: Session) -> Iterator[Concern]:
    query = (
        select(Job, HeldVersion)
        .join(HeldVersion, HeldVersion.job_id == Job.id)
        .where(
            Job.stopped_at_ms.is_(None),
            (HeldVersion.state == "quarantined") | HeldVersion.throttled_until_ms.is_not(None),
        )
        .order_by(Job.id, HeldVersion.processor_id, HeldVersion.version)
    )
    throttled = set()
    for job, held in session.execute(query):
        data: dict[str, Any] = {"stream": job.stream, "job": job.name, "rule": held.processor_id}
        rule = f"{job.id} {held.processor_id}"
        if held.state == "quarantined":
            data |= {"version": held.version, "error": held.error[:_ERROR_CHARACTERS]}
            subject = f"rule.quarantined {rule} {held.version}"
            yield Concern("rule.quarantined", subject, job.stream, data)
        elif held.throttled_until_ms is not None and rule not in throttled:
            throttled.add(rule)  # the budget is of the rule, not of its versions
            data |= {"until": iso_text(held.throttled_until_ms)}
            yield Concern("rule.throttled", f"rule.throttled {rule}", job.stream, data)


def _of_proposals(session: Session) -> Iterator[Concern]:
    approvals = (
        select(func.count())
        .where(
            ProposalApproval.proposal_id == Proposal.id,
            ProposalApproval.revision == Proposal.revision,
        )
        .scalar_subquery()
    )
    query = (
        select(
            Proposal.id,
            Proposal.revision,
            Proposal.stream,
            Proposal.processor_id,
            Proposal.list_name,
            Proposal.kind,
            Proposal.author,
            approvals.label("approvals"),
            Stream.required_approvals,
        )
        .join(Stream, Stream.name == Proposal.stream)
        .where(Proposal.state == OPEN, Stream.required_approvals > approvals)
        .order_by(Proposal.id)
    )
    for found in session.execute(query):
        data = {
            "stream": found.stream,
            "proposal": found.id,
            **({"list": found.list_name} if found.list_name else {"rule": found.processor_id}),
            "change": found.kind,
            "author": found.author,
            "approvals_missing": found.required_approvals - found.approvals,
        }
        subject = f"approval.asked {found.id} {found.revision}"
        yield Concern("approval.asked", subject, found.stream, data)
