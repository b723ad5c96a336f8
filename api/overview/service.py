"""Joins streams, jobs, their last hour and what needs attention; reads only."""

from collections.abc import Iterator, Sequence
from typing import Final, cast

from sqlalchemy.orm import Session

from api.jobs.history import job_history
from api.jobs.schemas import JobView
from api.jobs.views import job_views
from api.overview import attention, repository
from api.overview.schemas import AttentionItem, JobOverview, Overview, StreamOverview
from api.processors.schemas import State
from api.settings import Settings
from api.streams import service as streams
from api.streams.repository import streams_after
from api.streams.schemas import StreamView

MAXIMUM_STREAMS: Final = 500
MAXIMUM_JOBS: Final = 100
MAXIMUM_ITEMS: Final = 100

_HOUR_MS: Final = 3_600_000


def overview(session: Session, now_ms: int, settings: Settings) -> Overview:
    """Return the overview."""
    shown = [
        streams.view(session, stream) for stream in streams_after(session, "", MAXIMUM_STREAMS)
    ]
    records, total_jobs = repository.newest_jobs(session, MAXIMUM_JOBS)
    jobs = job_views(session, records, now_ms, settings)
    rules = repository.count_rules(session)
    items, more = _attention(session, shown, jobs, rules, now_ms)
    return Overview(
        at=now_ms,
        streams=[
            StreamOverview(
                name=stream.name,
                epoch=stream.epoch,
                allowed_delay_ms=stream.allowed_delay_ms,
                rules=cast("dict[State, int]", rules.get(stream.name, {})),
                jobs=[
                    _with_history(session, job, now_ms) for job in jobs if job.stream == stream.name
                ],
            )
            for stream in shown
        ],
        attention=items[:MAXIMUM_ITEMS],
        attention_left_out=more + max(len(items) - MAXIMUM_ITEMS, 0),
        jobs_left_out=total_jobs - len(records),
    )


def _with_history(session: Session, job: JobView, now_ms: int) -> JobOverview:
    history = job_history(session, job.id, now_ms - _HOUR_MS, now_ms + 1)
    return JobOverview(**job.model_dump(), history=history)


def _attention(
    session: Session,
    shown: Sequence[StreamView],
    jobs: Sequence[JobView],
    rules: dict[str, dict[str, int]],
    now_ms: int,
) -> tuple[list[AttentionItem], int]:
    """Return what to look at, and how many quarantined or scheduled versions were left out."""
    items: list[AttentionItem] = []
    for stream in shown:
        of_stream = [job for job in jobs if job.stream == stream.name]
        states = rules.get(stream.name, {})
        running = sum(states.values()) - states.get("paused", 0)
        items += attention.of_stream(stream.name, running, of_stream)
        items += _of_jobs(session, of_stream, stream.allowed_delay_ms, now_ms)
    held, total_held = repository.quarantined(session, MAXIMUM_ITEMS)
    items += (attention.of_quarantined(version, job) for version, job in held)
    soon, total_soon = repository.switches(
        session, now_ms, now_ms + attention.SOON_MS, MAXIMUM_ITEMS
    )
    for switch in soon:
        items += attention.of_switch(switch, now_ms)
    left_out = total_held - len(held) + total_soon - len(soon)
    return attention.sorted_by_urgency(items), left_out


def _of_jobs(
    session: Session, jobs: Sequence[JobView], allowed_delay_ms: int, now_ms: int
) -> Iterator[AttentionItem]:
    for job in jobs:
        newer_epoch_at_ms = None
        if job.epoch is not None and job.epoch < job.newest_epoch:
            newer_epoch_at_ms = repository.epoch_made_at(session, job.stream, job.epoch + 1)
        yield from attention.of_job(job, allowed_delay_ms, newer_epoch_at_ms, now_ms)
