"""Gathers what is known of a rule and of its jobs, and has the chain from events to matches judged.

processor, jobs, held versions ──► RuleFacts, JobFacts ──chain──► Diagnosis
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from sqlalchemy.orm import Session

from api.diagnosis.chain import JobFacts, lines_of_rule
from api.diagnosis.funnel import funnel_version, patterns_of
from api.diagnosis.publication import RuleFacts
from api.jobs import repository as jobs
from api.jobs.tables import HeldVersion
from api.jobs.views import job_views
from api.overview.service import attention_of_jobs
from api.processors import repository as processors
from api.processors.tables import Processor
from api.running import repository as running
from api.running.comparison import TELLING
from api.settings import Settings
from api.streams import service as streams
from contract.service.diagnosis import Diagnosis

MAXIMUM_JOBS: Final = 20
"""So many jobs are told of, those that have not stopped first."""


def diagnosis(session: Session, processor: Processor, now_ms: int, settings: Settings) -> Diagnosis:
    """Return the chain of a rule, and the first link that needs attention."""
    found = sorted(
        jobs.jobs_of(session, processor.stream), key=lambda job: job.stopped_at_ms is not None
    )
    shown = found[:MAXIMUM_JOBS]
    held = defaultdict(list)
    for version in jobs.held_versions(session, [job.id for job in shown], [processor.id]):
        held[version.job_id].append(version)
    changed_at = processors.changed_epochs(session, [processor.id])[processor.id]
    views = job_views(session, shown, now_ms, settings)
    stream = streams.view(session, streams.existing_stream(session, processor.stream))
    concerns = attention_of_jobs(session, views, {stream.name: stream.allowed_delay_ms}, now_ms)
    telling = {job_id: _telling(of_job) for job_id, of_job in held.items()}
    patterns = patterns_of(session, processor, telling.values())
    facts = []
    for view in views:
        told = telling.get(view.id)
        facts.append(
            JobFacts(
                job=view,
                concerns=concerns[view.id],
                held=told,
                funnel=None if told is None else funnel_version(told, patterns.get(told.version)),
                is_current=(view.epoch or 0) >= changed_at,
            )
        )
    rollout = processors.open_rollout(session, processor.id)
    rule = RuleFacts(
        processor.state,
        running.published_versions(session, [processor.id])[processor.id],
        None if rollout is None else rollout.version,
    )
    lines = lines_of_rule(rule, facts, now_ms)
    first = next((line for line in lines if line.state == "attention"), None)
    return Diagnosis(
        processor_id=processor.id,
        stream=processor.stream,
        at=now_ms,
        matches=sum(version.matches for of_job in held.values() for version in of_job),
        reason="" if first is None else first.title,
        lines=lines,
        jobs_left_out=len(found) - len(shown),
    )


def _telling(held: Sequence[HeldVersion]) -> HeldVersion:
    return min(held, key=lambda version: (TELLING.index(version.state), -version.version))
