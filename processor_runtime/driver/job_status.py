"""The status of a running job after every micro-batch.

    core of the job ──► JobStatus ──► reporting (heartbeats to the rule service)

Plain data, cheap to make for ten thousand processors in every batch; `reporting.heartbeats` turns
it into heartbeats.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from cep.nfa.step_counts import StepCounts
from contract.asked_keys import KeyAnswer
from contract.reports import FailedAt, OutputReport, RunningState, TimeMode


@dataclass(frozen=True, slots=True)
class Totals:
    """Counters since this instance of the job started; they never decrease.

    `left_out` are matches and timeouts that were found and not output because of a limit, `dropped`
    the open partial matches given up where a version ended, `released` the complete matches that
    waited behind these and came out, `shadow` matches that do not count, as those of a version in
    shadow, `suppressed` matches that did not go out, `unsuppressed` those that did only because
    more different ones came than are kept, `grouped` those that one which went out stands for.
    `malformed` of the errors are events that could not be read; `why_malformed` is of the first.
    """

    events: int = 0
    matches: int = 0
    timeouts: int = 0
    errors: int = 0
    late: int = 0
    left_out: int = 0
    dropped: int = 0
    released: int = 0
    shadow: int = 0
    suppressed: int = 0
    grouped: int = 0
    unsuppressed: int = 0
    malformed: int = 0
    why_malformed: str = ""


@dataclass(frozen=True, slots=True)
class VersionStatus:
    """The status of one version of a processor in the job.

    `active_from_ms` and `active_until_ms` bound its interval in event time, `last_match_ms` is the
    event time of its newest match; `error` and `traceback` say why it is quarantined, `failed_at`
    where, if this start of the job knows. `state_bytes`
    is its share of the state in proportion to its partial matches, because rules share state.
    `steps` is its funnel since this instance started, by the names of steps. While its budget is
    spent, `throttled_until_ms` is the event time from which it has another. `interpreted_reason`
    says why it runs in Python, if it does.
    """

    processor_id: str
    version: int
    state: RunningState
    active_from_ms: int | None = None
    active_until_ms: int | None = None
    totals: Totals = field(default_factory=Totals)
    partial_matches: int = 0
    state_bytes: int = 0
    last_match_ms: int | None = None
    error: str = ""
    traceback: str = ""
    steps: Mapping[str, StepCounts] = field(default_factory=dict)
    throttled_until_ms: int | None = None
    interpreted_reason: str = ""
    failed_at: FailedAt | None = None


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """One of several sources: its newest event time, and since when it is idle by the clock."""

    name: str
    newest_event_ms: int | None = None
    idle_since_ms: int | None = None


@dataclass(frozen=True, slots=True)
class JobStatus:
    """The job after its newest micro-batch.

    `watermark_ms` and `newest_event_ms` are event times; `time_mode` is what makes them go on, and
    `silent_since_ms` since when the sources are silent while they follow the clock. `sources` has
    each of several. `backlog_events` is the number of unread events at the sources (`None` = not
    known), `versions` has every version the job holds, in any order, and as superseded those that
    ran since it started and no longer do. `batch_running_ms` is how long the batch after it has
    been running. `answers` are about keys that somebody asks about.
    """

    epoch: int | None = None
    batch_id: int | None = None
    watermark_ms: int | None = None
    newest_event_ms: int | None = None
    time_mode: TimeMode | None = None
    silent_since_ms: int | None = None
    events_per_second: float = 0.0
    batch_duration_ms: int | None = None
    batch_running_ms: int | None = None
    backlog_events: int | None = None
    totals: Totals = field(default_factory=Totals)
    partial_matches: int = 0
    state_bytes: int = 0
    versions: tuple[VersionStatus, ...] = ()
    answers: tuple[KeyAnswer, ...] = ()
    failing_outputs: tuple[OutputReport, ...] = ()
    sources: tuple[SourceStatus, ...] = ()
