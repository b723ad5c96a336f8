"""Joins the published versions of processors with those that each job of their stream runs.

    publications (what jobs should run) ──┐
                                          ├──► one line per processor and job
    held versions (what jobs report)    ──┘

A page of a hundred processors takes seven queries, however many jobs and versions there are.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from sqlalchemy.orm import Session

from api.jobs import history_repository, repository
from api.jobs.tables import HeldVersion
from api.jobs.views import held_version_view, job_summary
from api.processors.repository import changed_epochs
from api.processors.tables import Processor
from api.processors.views import state_at
from api.running import repository as running_repository
from api.settings import Settings
from contract.reports import RunningState
from contract.service.jobs import (
    JobSummary,
    RunningInJob,
    RunningSummary,
    RunningVersionsInJob,
    RunningView,
)
from contract.service.processors import PublishedVersion

# The version of a processor with the first of these states determines the state of the processor.
TELLING: Final = (
    "quarantined",
    "active",
    "canary",
    "paused",
    "draining",
    "pending",
    "shadow",
    "superseded",
)


@dataclass(frozen=True, slots=True)
class _Joined:
    """Data of some processors; lists are by processor id, or by job and processor id."""

    jobs: list[JobSummary]
    published: dict[str, list[PublishedVersion]]
    changed_at_epoch: dict[str, int]
    held: dict[tuple[str, str], list[HeldVersion]]
    matches_last_hour: dict[tuple[str, str], int]
    last_match_ms: dict[tuple[str, str], int]


def running_summaries(
    session: Session, stream: str, processors: Sequence[Processor], now_ms: int, settings: Settings
) -> list[RunningSummary]:
    """Return the state of each of these processors of a stream in each job."""
    jobs = [job_summary(job, now_ms, settings) for job in repository.jobs_of(session, stream)]
    joined = _joined(session, jobs, [processor.id for processor in processors], now_ms)
    return [
        RunningSummary(
            processor_id=processor.id,
            state=state_at(processor, now_ms),
            published=joined.published[processor.id],
            jobs=[RunningInJob(**_in_job(joined, job, processor.id)) for job in joined.jobs],
        )
        for processor in processors
    ]


def running_view(
    session: Session, processor: Processor, now_ms: int, settings: Settings
) -> RunningView:
    """Return the published versions of a processor and those each job runs, by version."""
    found = repository.jobs_of(session, processor.stream)
    jobs = [job_summary(job, now_ms, settings) for job in found]
    joined = _joined(session, jobs, [processor.id], now_ms)
    return RunningView(
        processor_id=processor.id,
        stream=processor.stream,
        state=state_at(processor, now_ms),
        published=joined.published[processor.id],
        jobs=[
            RunningVersionsInJob(
                **_in_job(joined, job, processor.id),
                versions=[held_version_view(held) for held in joined.held[job.id, processor.id]],
            )
            for job in joined.jobs
        ],
    )


def running_in_job(
    session: Session, job: JobSummary, processor_ids: Sequence[str], now_ms: int
) -> dict[str, RunningInJob]:
    """Return the state of each of these processors in one job, by id."""
    joined = _joined(session, [job], processor_ids, now_ms)
    return {each: RunningInJob(**_in_job(joined, job, each)) for each in processor_ids}


def _joined(
    session: Session, jobs: list[JobSummary], processor_ids: Sequence[str], now_ms: int
) -> _Joined:
    job_ids = [job.id for job in jobs]
    held = defaultdict(list)
    for version in repository.held_versions(session, job_ids, processor_ids):
        held[version.job_id, version.processor_id].append(version)
    return _Joined(
        jobs=jobs,
        published=running_repository.published_versions(session, processor_ids),
        changed_at_epoch=changed_epochs(session, processor_ids),
        held=held,
        matches_last_hour=history_repository.matches_last_hour(
            session, job_ids, processor_ids, now_ms
        ),
        last_match_ms={
            (match.job_id, match.processor_id): match.end_ms
            for match in repository.last_matches(session, job_ids, processor_ids)
        },
    )


def _in_job(joined: _Joined, job: JobSummary, processor_id: str) -> dict[str, Any]:
    held = joined.held[job.id, processor_id]
    telling = min(held, key=_telling, default=None)
    active = [each for each in held if each.state == "active"]
    live = max(active, key=lambda each: each.version, default=None)
    newer = [each for each in held if live is None or each.version > live.version]
    pending = [each for each in newer if each.state == "pending"]
    following = min(
        pending, key=lambda each: (each.active_from_ms or 0, each.version), default=None
    )
    return {
        "job": job,
        "state": cast("RunningState | None", telling and telling.state),
        "is_current": (job.epoch or 0) >= joined.changed_at_epoch[processor_id],
        "live_version": live and live.version,
        "live_from": live and live.active_from_ms,
        "canary_version": next((each.version for each in held if each.state == "canary"), None),
        "next_version": following and following.version,
        "next_from": following and following.active_from_ms,
        "matches_last_hour": joined.matches_last_hour.get((job.id, processor_id), 0),
        "last_match": joined.last_match_ms.get((job.id, processor_id)),
        "partial_matches": sum(each.partial_matches for each in held),
        "state_bytes": sum(each.state_bytes for each in held),
        "errors": sum(each.errors for each in held if each.state != repository.SUPERSEDED),
        "left_out": sum(each.left_out for each in held),
        "dropped": sum(each.dropped for each in held),
        "released": sum(each.released for each in held),
        "throttled_until": max(
            (each.throttled_until_ms for each in held if each.throttled_until_ms is not None),
            default=None,
        ),
        "error": telling.error if telling else "",
    }


def _telling(held: HeldVersion) -> tuple[int, int]:
    return TELLING.index(held.state), -held.version
