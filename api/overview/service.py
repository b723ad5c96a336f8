"""Joins streams, jobs, their last hour and what needs attention; reads only."""

from collections.abc import Mapping, Sequence
from typing import Final, cast

from sqlalchemy.orm import Session

from api.jobs.history import job_history
from api.jobs.views import job_views
from api.overview import attention, repository
from api.settings import Settings
from api.streams import service as streams
from api.streams.repository import streams_after
from api.webhooks.repository import failing_webhooks
from contract.service.jobs import JobView
from contract.service.overview import AttentionItem, JobOverview, Overview, StreamOverview
from contract.service.processors import State
from contract.service.streams import StreamView

MAXIMUM_STREAMS: Final = 500
MAXIMUM_JOBS: Final = 100
MAXIMUM_ITEMS: Final = 100

_HOUR_MS: Final = 3_600_000


def overview(
    session: Session, now_ms: int, settings: Settings, *, tells_webhooks: bool
) -> Overview:
    """Return the overview; webhooks are for admins only."""
    shown = [
        streams.view(session, stream) for stream in streams_after(session, "", MAXIMUM_STREAMS)
    ]
    records, total_jobs = repository.newest_jobs(session, MAXIMUM_JOBS)
    jobs = job_views(session, records, now_ms, settings)
    rules = repository.count_rules(session, now_ms)
    held, total_held = repository.quarantined(session, MAXIMUM_ITEMS)
    items, more = _attention(session, shown, jobs, rules, now_ms)
    if tells_webhooks:
        items += [attention.of_webhook(*failing) for failing in failing_webhooks(session)]
    items = attention.sorted_by_urgency(
        items + [attention.of_quarantined(version, job) for version, job in held]
    )
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
        quarantined=total_held,
        attention_left_out=total_held - len(held) + more + max(len(items) - MAXIMUM_ITEMS, 0),
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
    """Return what to look at but quarantined versions, and how many scheduled were left out."""
    delays_ms = {stream.name: stream.allowed_delay_ms for stream in shown}
    known = [job for job in jobs if job.stream in delays_ms]
    of_jobs = attention_of_jobs(session, known, delays_ms, now_ms)
    items: list[AttentionItem] = []
    for stream in shown:
        of_stream = [job for job in jobs if job.stream == stream.name]
        states = rules.get(stream.name, {})
        running = sum(states.values()) - states.get("paused", 0)
        items += attention.of_stream(stream.name, running, of_stream)
        items += [item for job in of_stream for item in of_jobs[job.id]]
    soon, total_soon = repository.switches(
        session, now_ms, now_ms + attention.SOON_MS, MAXIMUM_ITEMS
    )
    for switch in soon:
        items += attention.of_switch(switch, now_ms)
    return items, total_soon - len(soon)


def attention_of_jobs(
    session: Session, jobs: Sequence[JobView], allowed_delays_ms: Mapping[str, int], now_ms: int
) -> dict[str, list[AttentionItem]]:
    """Return what needs attention of each of some jobs, by its id.

    Args:
        session: the transaction.
        jobs: of any streams.
        allowed_delays_ms: by name, those of all of these streams.
        now_ms: by the clock of the service.
    """
    missing = {
        job.id: (job.stream, job.epoch + 1)
        for job in jobs
        if job.epoch is not None and job.epoch < job.newest_epoch
    }
    made_at_ms = repository.epochs_made_at(session, set(missing.values()))
    items = {}
    for job in jobs:
        since_ms = made_at_ms.get(missing[job.id]) if job.id in missing else None
        items[job.id] = list(attention.of_job(job, allowed_delays_ms[job.stream], since_ms, now_ms))
    return items
