"""Finds what a person on call should check, from job reports and schedules; without I/O.

jobs, streams, quarantined versions, switches ─► items, most urgent first
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from api.jobs.tables import HeldVersion, Job
from api.overview.repository import Switch
from api.webhooks.tables import FAILED, Webhook, WebhookDelivery
from cep.printable import counted
from contract.service.jobs import JobView
from contract.service.overview import AttentionItem, Concern, Urgency

SOON_MS: Final = 3_600_000

_TAKE_UP_MS: Final = 60_000  # a job has the newest epoch with its next batch, in seconds
_BEHIND_MS: Final = 300_000
_AHEAD_MS: Final = 60_000
_BACKLOG_SECONDS: Final = 60
_HANGING_MS: Final = 120_000
_HANGING_TIMES: Final = 10
_ORDER: Final[tuple[Urgency, ...]] = ("bad", "warn", "info")


def sorted_by_urgency(items: Iterable[AttentionItem]) -> list[AttentionItem]:
    """Sort by urgency; equal ones by newest start, planned ones by the next time."""

    def place(item: AttentionItem) -> tuple[int, int, str, str]:
        at = item.at or 0
        time = at if item.urgency == "info" else -at
        return (
            _ORDER.index(item.urgency),
            time,
            item.stream or "",
            item.processor_id or item.job or "",
        )

    return sorted(items, key=place)


def of_job(
    job: JobView, allowed_delay_ms: int, newer_epoch_at_ms: int | None, now_ms: int
) -> Iterator[AttentionItem]:
    """Yield the problems of a job.

    Args:
        job: as it last reported itself.
        allowed_delay_ms: how late events of its stream may come.
        newer_epoch_at_ms: when the first epoch that it has not applied was made, if any.
        now_ms: the clock of the service.
    """
    if job.state == "stale":
        yield AttentionItem(
            concern="job_stale",
            urgency="bad",
            stream=job.stream,
            job=job.name,
            at=job.heartbeat_at or job.registered_at,
            detail="The job does not report. It may have failed, or cannot reach this service.",
        )
    if job.state != "stopped":
        yield from _of_outputs(job)
    if job.state != "running":
        return
    # What was made long after now was made before the clock was set back.
    if newer_epoch_at_ms is not None and abs(now_ms - newer_epoch_at_ms) > _TAKE_UP_MS:
        yield AttentionItem(
            concern="epoch_behind",
            urgency="warn",
            stream=job.stream,
            job=job.name,
            at=newer_epoch_at_ms,
            detail=f"The job runs with epoch {job.epoch}, the newest is {job.newest_epoch}: "
            "rule changes do not reach it.",
        )
    if job.batch_running_ms is not None and job.batch_running_ms > _hanging_ms(job):
        yield AttentionItem(
            concern="batch_hangs",
            urgency="bad",
            stream=job.stream,
            job=job.name,
            detail=f"Its batch has been running for {job.batch_running_ms // 1_000} seconds, far "
            "longer than the one before: it may be stuck or overloaded. Nothing is sent "
            "meanwhile, and changes are delayed.",
        )
    yield from _of_discovery(job)
    yield from _of_watermark(job, allowed_delay_ms, now_ms)
    if job.backlog_events and job.backlog_events > _BACKLOG_SECONDS * job.events_per_second:
        yield AttentionItem(
            concern="backlog",
            urgency="warn",
            stream=job.stream,
            job=job.name,
            detail=f"{job.backlog_events} events wait to be read, at {job.events_per_second:.0f} "
            "per second: matches are late.",
        )


def _hanging_ms(job: JobView) -> int:
    """Return how long a batch may run before somebody should look."""
    return max(_HANGING_MS, _HANGING_TIMES * (job.batch_duration_ms or 0))


def _of_outputs(job: JobView) -> Iterator[AttentionItem]:
    for output in job.failing_outputs:
        lost = f" and has lost {counted(output.lost_rows, 'row')}" if output.lost_rows else ""
        yield AttentionItem(
            concern="output_failing",
            urgency="bad",
            stream=job.stream,
            job=job.name,
            at=job.heartbeat_at,
            detail=f"The output '{output.name}' cannot be written{lost}: {output.error}",
        )


def _of_discovery(job: JobView) -> Iterator[AttentionItem]:
    discovery = job.discovery
    if discovery.status == "failing":
        yield AttentionItem(
            concern="discovery_failing",
            urgency="warn",
            stream=job.stream,
            job=job.name,
            at=discovery.last_success,
            detail="The job cannot read its rules. It runs those it read last and gets no "
            f"changes. {discovery.error}",
        )
    if discovery.unreadable:
        many = f"{discovery.unreadable} rules" if discovery.unreadable > 1 else "One rule"
        yield AttentionItem(
            concern="rules_unreadable",
            urgency="bad",
            stream=job.stream,
            job=job.name,
            detail=f"{many} in the source of the job cannot run: {'; '.join(discovery.problems)}",
        )


def _of_watermark(job: JobView, allowed_delay_ms: int, now_ms: int) -> Iterator[AttentionItem]:
    if job.watermark is None:
        return
    behind_ms = now_ms - job.watermark - allowed_delay_ms
    if behind_ms > _BEHIND_MS:
        yield AttentionItem(
            concern="watermark_behind",
            urgency="warn",
            stream=job.stream,
            job=job.name,
            at=job.watermark,
            detail="Event time lags behind the clock: the source is idle or slow, or the job "
            "reads old events. Windows and timeouts wait for it.",
        )
    elif behind_ms < -_AHEAD_MS - allowed_delay_ms:
        yield AttentionItem(
            concern="watermark_ahead",
            urgency="warn",
            stream=job.stream,
            job=job.name,
            at=job.watermark,
            detail="Event time runs ahead of the clock: some events have times in the future, and "
            "ordinary ones now count as late.",
        )


def of_stream(stream: str, rules: int, jobs: Sequence[JobView]) -> Iterator[AttentionItem]:
    """Yield an item if a stream has rules that no job runs."""
    if rules and not any(job.state != "stopped" for job in jobs):
        many = f"{rules} rules are" if rules > 1 else "One rule is"
        yield AttentionItem(
            concern="no_job",
            urgency="warn",
            stream=stream,
            detail=f"{many} published here, and no job runs {'them' if rules > 1 else 'it'}.",
        )


def of_quarantined(held: HeldVersion, job: Job) -> AttentionItem:
    """Return the item for a quarantined version."""
    return AttentionItem(
        concern="quarantined",
        urgency="bad",
        stream=job.stream,
        job=job.name,
        processor_id=held.processor_id,
        version=held.version,
        at=held.since_ms,
        detail=held.error or "It raised an error.",
    )


def of_webhook(webhook: Webhook, delivery: WebhookDelivery) -> AttentionItem:
    """Return the item for a webhook whose newest message does not arrive."""
    if not webhook.enabled:
        what = "Its receiver is gone (410), so it was disabled"
    elif delivery.state == FAILED:
        what = f"Its newest message was given up after {counted(delivery.attempts, 'attempt')}"
    else:
        what = f"Its newest message has failed {counted(delivery.attempts, 'time')} and is retried"
    return AttentionItem(
        concern="webhook_failing",
        urgency="warn",
        stream=webhook.stream,
        webhook_id=webhook.id,
        webhook=webhook.name,
        at=delivery.created_at_ms,
        detail=f"{what}: {delivery.error}" if delivery.error else f"{what}.",
    )


def of_switch(switch: Switch, now_ms: int) -> Iterator[AttentionItem]:
    """Yield an item for each start or end of a version within the hour."""
    stream, processor_id, version, begins_ms, ends_ms = switch
    switches: tuple[tuple[Concern, int | None, str], ...] = (
        ("starts_soon", begins_ms, "takes effect"),
        ("ends_soon", ends_ms, "ends"),
    )
    for concern, at_ms, what in switches:
        if at_ms is not None and now_ms <= at_ms < now_ms + SOON_MS:
            yield AttentionItem(
                concern=concern,
                urgency="info",
                stream=stream,
                processor_id=processor_id,
                version=version,
                at=at_ms,
                detail=f"Version {version} {what}.",
            )
