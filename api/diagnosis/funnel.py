"""Joins what jobs have counted at the steps of a rule with its patterns as they are written.

held versions (counts by step) ──┐
├──► funnel by job and version, steps in order
definitions of the versions    ──┘
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, cast

from pydantic import TypeAdapter
from sqlalchemy.orm import Session

from api.diagnosis.written_steps import WrittenStep, is_clause, written_steps
from api.jobs import repository as jobs
from api.jobs.tables import HeldVersion
from api.jobs.views import counters, job_summary
from api.processors import repository as processors
from api.processors.tables import Processor
from api.settings import Settings
from contract.reports import RunningState, StepReport
from contract.service.diagnosis import Funnel, FunnelInJob, FunnelStep, FunnelVersion

_REPORTED = TypeAdapter(list[StepReport])


def funnel(session: Session, processor: Processor, now_ms: int, settings: Settings) -> Funnel:
    """Return the funnel of each version that a job of its stream has reported, newest first."""
    found = jobs.jobs_of(session, processor.stream)
    held = defaultdict(list)
    for version in jobs.held_versions(session, [job.id for job in found], [processor.id]):
        held[version.job_id].append(version)
    patterns = patterns_of(
        session, processor, (each for of_job in held.values() for each in of_job)
    )
    return Funnel(
        processor_id=processor.id,
        stream=processor.stream,
        jobs=[
            FunnelInJob(
                job=job_summary(job, now_ms, settings),
                since=job.registered_at_ms,
                versions=[
                    funnel_version(version, patterns.get(version.version))
                    for version in reversed(held[job.id])
                ],
            )
            for job in found
        ],
    )


def patterns_of(
    session: Session, processor: Processor, held: Iterable[HeldVersion]
) -> dict[int, dict[str, Any]]:
    """Return the pattern of each version that is known here, by number."""
    numbers = {version.version for version in held}
    return {
        version.version: json.loads(version.definition)["pattern"]
        for version in processors.versions_of(session, processor.id, numbers)
    }


def funnel_version(held: HeldVersion, pattern: dict[str, Any] | None) -> FunnelVersion:
    """Return the funnel of a version; of one that is not known here the steps that were counted."""
    counted = {step.name: step for step in _REPORTED.validate_json(held.steps)}
    written = [] if pattern is None else written_steps(pattern)
    return FunnelVersion(
        version=held.version,
        state=cast("RunningState", held.state),
        counters=counters(held),
        partial_matches=held.partial_matches,
        is_counted=bool(counted) or pattern is None or not is_clause(pattern) or not held.events,
        steps=_steps(written or [WrittenStep(name, "") for name in counted], counted),
    )


def _steps(written: Sequence[WrittenStep], counted: dict[str, StepReport]) -> list[FunnelStep]:
    steps = []
    for step in written:
        of_step = counted.get(step.name) or StepReport(name=step.name)
        steps.append(
            FunnelStep(
                name=step.name,
                condition=step.condition,
                is_forbidden=step.is_forbidden,
                is_optional=step.is_optional,
                last_event=of_step.last_event_ms,
                **of_step.model_dump(exclude={"name", "last_event_ms"}),
            )
        )
    return steps
