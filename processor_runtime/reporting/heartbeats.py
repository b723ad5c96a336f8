"""JobStatus → heartbeat: the status of the job, within the bounds of a report.

Numbers beyond these bounds are left out or cut, never refused: a watermark that Spark has not set
yet must not keep the rest of a report from arriving.
"""

from itertools import islice
from typing import Final

from cep.nfa.step_counts import StepCounts
from contract.report_parts import ReportPart
from contract.report_values import event_time_or_none
from contract.reports import (
    OUTPUTS_PER_HEARTBEAT,
    PROBLEMS_PER_HEARTBEAT,
    STEPS_PER_VERSION,
    Counters,
    DiscoveryReport,
    Heartbeat,
    RunningVersion,
    SourceReport,
    StepReport,
)
from discoverers.health import DiscovererHealth, HealthStatus
from processor_runtime.driver.job_status import JobStatus, Totals, VersionStatus

_LARGEST_COUNT: Final = 2**53 - 1
_FASTEST: Final = 1e12


def heartbeat(
    status: JobStatus,
    part: ReportPart,
    instance_id: str,
    sequence: int,
    discovery: DiscovererHealth | None = None,
) -> Heartbeat:
    """Return a heartbeat with the status of the job and of some of its versions."""
    rate = status.events_per_second
    return Heartbeat(
        instance_id=instance_id,
        sequence=sequence,
        epoch=_count(status.epoch),
        batch_id=_count(status.batch_id),
        watermark_ms=event_time_or_none(status.watermark_ms),
        newest_event_ms=event_time_or_none(status.newest_event_ms),
        time_mode=status.time_mode,
        silent_since_ms=event_time_or_none(status.silent_since_ms),
        sources=[
            SourceReport(
                name=each.name,
                newest_event_ms=event_time_or_none(each.newest_event_ms),
                idle_since_ms=event_time_or_none(each.idle_since_ms),
            )
            for each in status.sources
        ],
        events_per_second=rate if 0 <= rate <= _FASTEST else 0,
        batch_duration_ms=_count(status.batch_duration_ms),
        batch_running_ms=_count(status.batch_running_ms),
        backlog_events=_count(status.backlog_events),
        counters=_counters(status.totals),
        malformed_events=_bounded(status.totals.malformed),
        malformed_reason=status.totals.why_malformed,
        partial_matches=_bounded(status.partial_matches),
        state_bytes=_bounded(status.state_bytes),
        discovery=DiscoveryReport() if discovery is None else _discovery(discovery),
        failing_outputs=list(status.failing_outputs[:OUTPUTS_PER_HEARTBEAT]),
        versions=part.versions,
        replaces_all=part.replaces_all,
        held_versions=part.held_versions,
    )


def running_version(status: VersionStatus) -> RunningVersion:
    """Return a version as it is reported.

    Raises:
        pydantic.ValidationError: the id of its processor or its number is invalid.
    """
    return RunningVersion(
        processor_id=status.processor_id,
        version=status.version,
        state=status.state,
        active_from_ms=event_time_or_none(status.active_from_ms),
        active_until_ms=event_time_or_none(status.active_until_ms),
        counters=_counters(status.totals),
        partial_matches=_bounded(status.partial_matches),
        state_bytes=_bounded(status.state_bytes),
        last_match_ms=event_time_or_none(status.last_match_ms),
        throttled_until_ms=event_time_or_none(status.throttled_until_ms),
        interpreted_reason=status.interpreted_reason,
        error=status.error,
        traceback=status.traceback,
        failed_at=status.failed_at,
        steps=[
            _step(name, counts) for name, counts in islice(status.steps.items(), STEPS_PER_VERSION)
        ],
    )


def _step(name: str, counts: StepCounts) -> StepReport:
    return StepReport(
        name=name,
        reached=_bounded(counts.reached),
        events=_bounded(counts.events),
        timed_out=_bounded(counts.timed_out),
        broken=_bounded(counts.broken),
        pruned=_bounded(counts.pruned),
        dropped=_bounded(counts.dropped),
        stopped=_bounded(counts.stopped),
        last_event_ms=event_time_or_none(counts.last_event_ms),
    )


def _discovery(health: DiscovererHealth) -> DiscoveryReport:
    is_failing = health.status is HealthStatus.FAILING
    return DiscoveryReport(
        status=health.status.value,
        last_success_ms=event_time_or_none(health.last_success_ms),
        error=(health.last_error or "") if is_failing else "",
        unreadable=len(health.problems),
        problems=[str(problem) for problem in health.problems[:PROBLEMS_PER_HEARTBEAT]],
    )


def _counters(totals: Totals) -> Counters:
    counts = {name: _bounded(getattr(totals, name)) for name in Counters.model_fields}
    return Counters(**counts)


def _count(value: int | None) -> int | None:
    return None if value is None else _bounded(value)


def _bounded(value: int) -> int:
    return min(max(value, 0), _LARGEST_COUNT)
