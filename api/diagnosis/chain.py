"""The chain from events to matches, link by link: what holds, what does not, and what to do.

    rule · job · heartbeat · batches · source · watermark · version · conditions · steps · output
                                     └──► one line each ──► the first that needs attention

Without I/O. What jobs in general may suffer from is judged by `api.overview.attention`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from api.diagnosis.publication import RuleFacts, line, publication
from api.jobs.tables import HeldVersion
from cep.instants import iso_text
from cep.printable import counted
from contract.service.diagnosis import DiagnosisLine, FunnelStep, FunnelVersion, Link, LinkState
from contract.service.jobs import JobView
from contract.service.overview import AttentionItem, Concern


@dataclass(frozen=True, slots=True)
class JobFacts:
    """What one job has reported: of itself, of the rule, and what is judged to be wrong with it.

    `held` and `funnel` are those of the version that tells most, `None` if it has reported none;
    `is_current` is whether it has taken up the newest change of the rule.
    """

    job: JobView
    concerns: Sequence[AttentionItem]
    held: HeldVersion | None
    funnel: FunnelVersion | None
    is_current: bool


def lines_of_rule(rule: RuleFacts, jobs: Sequence[JobFacts], now_ms: int) -> list[DiagnosisLine]:
    """Return the whole chain of a rule, job by job."""
    lines = [publication(rule, now_ms), _presence(jobs)]
    for facts in jobs:
        lines += _of_job(facts)
    return lines


def _presence(jobs: Sequence[JobFacts]) -> DiagnosisLine:
    if not jobs:
        detail = "The rule is stored, but nothing runs it."
        return line("job", "attention", "No job runs this stream", detail, "Start a job.")
    if all(facts.job.state == "stopped" for facts in jobs):
        title = "Every job of this stream has stopped"
        reasons = "; ".join(
            f"{facts.job.name}: {facts.job.stop_reason or 'stopped'}" for facts in jobs
        )
        return line("job", "attention", title, reasons, "Start a job.")
    return line("job", "ok", "A job runs this stream")


def _of_job(facts: JobFacts) -> Iterator[DiagnosisLine]:
    job = facts.job
    if job.state == "stopped":
        return
    source = _source(job)
    # Events that cannot be read explain all the rest: no rule sees them.
    first, behind = ([source], []) if job.malformed_events else ([], [source])
    lines = [
        *first,
        _heartbeat(facts),
        _by_concern(facts, "batches", _OF_BATCHES, "Its batches keep up"),
        _by_concern(facts, "rules", _OF_RULES, "It has read its rules"),
        _version(facts),
        *behind,
        _watermark(facts),
    ]
    if facts.held is not None and facts.funnel is not None:
        lines += [
            _conditions(facts.held, job),
            _steps(facts.funnel),
            _output(facts.held),
        ]
    for each in lines:
        yield each.model_copy(update={"job": job.name})


def _heartbeat(facts: JobFacts) -> DiagnosisLine:
    job = facts.job
    if (found := _concern(facts, "job_stale")) is not None:
        remedy = "Check its log, and whether it can reach this service."
        title = "The job does not report"
        return line("heartbeat", "attention", title, found.detail, remedy, found.at)
    if job.state == "starting":
        detail = "It has registered but not run a batch yet."
        return line(
            "heartbeat", "unknown", "The job is starting", detail, "Wait for its first batch."
        )
    return line("heartbeat", "ok", "The job reports", at=job.heartbeat_at)


def _by_concern(
    facts: JobFacts, link: Link, concerns: Sequence[Concern], fine: str
) -> DiagnosisLine:
    for concern in concerns:
        if (found := _concern(facts, concern)) is not None:
            title, remedy = _CONCERNS[concern]
            return line(link, "attention", title, found.detail, remedy, found.at)
    if facts.job.state != "running":
        return line(link, "unknown", fine, "As it was last reported.")
    return line(link, "ok", fine)


def _version(facts: JobFacts) -> DiagnosisLine:
    return _absent(facts) if facts.held is None else _held(facts.held)


def _absent(facts: JobFacts) -> DiagnosisLine:
    if not facts.is_current:
        detail = "It applies changes with its next batch."
        title = "The job has not picked up the newest change yet"
        return line("version", "attention", title, detail, "Wait for its next batch.")
    title = "The job does not run the rule"
    detail = "It has the newest changes, and has not reported this rule."
    remedy = "Check whether the rule is paused or could not be read."
    return line("version", "attention", title, detail, remedy)


def _held(held: HeldVersion) -> DiagnosisLine:
    number = f"Version {held.version}"
    match held.state:
        case "active" | "canary" | "draining":
            return line("version", "ok", f"{number} is {held.state}", at=held.active_from_ms)
        case "pending":
            title = f"{number} begins with later events"
            begin = "later" if held.active_from_ms is None else iso_text(held.active_from_ms)
            detail = f"It matches events from {begin} on; no event that recent has arrived yet."
            return line("version", "attention", title, detail, "Wait for newer events.")
        case "quarantined":
            title = f"{number} raised an error and no longer runs"
            remedy = "Fix the rule and publish it, or roll back."
            return line("version", "attention", title, held.error, remedy, held.since_ms)
        case "shadow":
            title = f"{number} runs in shadow"
            detail = "Its matches do not count."
            return line("version", "attention", title, detail, "Promote it.")
        case _:
            title = f"{number} no longer runs: it is {held.state}"
            remedy = "Resume it, or publish a version."
            return line("version", "attention", title, "", remedy, held.since_ms)


def _source(job: JobView) -> DiagnosisLine:
    if job.malformed_events:
        title = f"{job.malformed_events:,} of {job.counters.events:,} events could not be read"
        remedy = (
            "Compare the events with the schema of the stream. Outputs get error rows only with "
            "`error` among their kinds."
        )
        return line("source", "attention", title, job.malformed_reason, remedy)
    if not job.counters.events:
        title = "No event has been read since the job was started"
        detail = "Either none has arrived, or the job reads a different source than expected."
        remedy = "Check the source in the job file, and that events arrive there."
        return line("source", "attention", title, detail, remedy)
    if job.silent_since is not None:
        title = "The source is silent"
        detail = (
            f"{job.counters.events:,} events were read; event time has followed the clock since."
        )
        remedy = "Check what writes to the source."
        return line("source", "attention", title, detail, remedy, job.silent_since)
    title = f"{job.counters.events:,} events have been read"
    return line("source", "ok", title, at=job.newest_event_time)


def _watermark(facts: JobFacts) -> DiagnosisLine:
    job = facts.job
    if job.watermark is None:
        title = "Event time has not begun"
        detail = "Events are matched once newer ones show that no older ones are outstanding."
        return line("watermark", "unknown", title, detail, "Wait for further events.")
    for concern in ("watermark_behind", "watermark_ahead"):
        if (found := _concern(facts, concern)) is not None:
            title, remedy = _CONCERNS[concern]
            detail = found.detail
            if concern == "watermark_behind" and job.time_mode == "events":
                detail += " Only new events advance it: the last ones wait until others arrive."
            return line("watermark", "attention", title, detail, remedy, found.at)
    late, events = job.counters.late, job.counters.events
    if late and late * 10 > events:
        title = f"{late:,} of {events:,} events arrived too late"
        detail = "They were older than the watermark and were not matched."
        remedy = "Give the stream a longer allowed_delay_ms."
        return line("watermark", "attention", title, detail, remedy)
    return line("watermark", "ok", "Event time is advancing", at=job.watermark)


def _conditions(held: HeldVersion, job: JobView) -> DiagnosisLine:
    if held.events:
        title = f"{held.events:,} events meet one of its conditions"
        return line("conditions", "ok", title)
    if not job.counters.events:
        return line("conditions", "unknown", "No event has been tested yet")
    title = "No event has met any of its conditions"
    detail = "The job has read events while the rule ran, but none could start or continue a match."
    remedy = (
        "Compare values and their case with real events: try the rule on some in the editor, or "
        "with percept why RULE EVENTS."
    )
    return line("conditions", "attention", title, detail, remedy)


def _steps(funnel: FunnelVersion) -> DiagnosisLine:
    if not funnel.is_counted:
        detail = "The rule is matched as a whole, not step by step."
        return line("steps", "unknown", "Steps are not counted", detail)
    taking = [step for step in funnel.steps if not step.is_forbidden]
    needed = [step for step in taking if not step.is_optional]
    awaited = next((step for step in needed if not step.reached), None)
    if awaited is None or funnel.counters.matches:
        return line("steps", "ok", "Partial matches have reached every required step")
    reached = [step for step in taking[: taking.index(awaited)] if step.reached]
    if not reached:
        state: LinkState = "attention" if funnel.counters.events else "unknown"
        title = "No partial match has started"
        remedy = "Check the condition of the first step."
        return line("steps", state, title, _condition(awaited), remedy)
    stuck = reached[-1]
    title = f"No partial match has reached the step {awaited.name}"
    detail = (
        f"{stuck.reached:,} reached {stuck.name}: {stuck.timed_out:,} timed out there, "
        f"{stuck.broken:,} were ended by an event, {stuck.pruned:,} were skipped"
        f"{_given_up(stuck)}; "
        f"{funnel.partial_matches:,} partial matches of the rule are open. {_condition(awaited)}"
    )
    return line("steps", "attention", title, detail, _remedy(stuck), stuck.last_event)


def _given_up(step: FunnelStep) -> str:
    told = {"dropped with their version": step.dropped, "stopped": step.stopped}
    return "".join(f", {count:,} were {how}" for how, count in told.items() if count)


def _condition(step: FunnelStep) -> str:
    if not step.condition:
        return f"{step.name} accepts every event."
    return f"{step.name} requires: {step.condition}"


def _remedy(stuck: FunnelStep) -> str:
    ends = {
        "Check that events meeting its condition arrive, and that within is long enough.": (
            stuck.timed_out
        ),
        "Check which events are allowed in between: next allows none, a forbidden step ends it.": (
            stuck.broken
        ),
        "Check whether after_match_skip drops more than it should.": stuck.pruned,
    }
    if not any(ends.values()):
        return "Wait, or check that events meeting its condition arrive."
    return max(ends, key=lambda remedy: ends[remedy])


def _output(held: HeldVersion) -> DiagnosisLine:
    if held.left_out:
        title = f"{held.left_out:,} matches or timeouts were not output because of a limit"
        remedy = "Raise the limit on output of the rule or of the job, or narrow the conditions."
        return line("output", "attention", title, "", remedy)
    if held.throttled_until_ms is not None:
        title = "Its budget is spent: further matches are not sent"
        remedy = "Allow more in alert.budget, or narrow the conditions."
        return line("output", "attention", title, "", remedy, held.last_match_ms)
    if held.matches:
        sent = counted(held.matches, "match", "matches")
        title = f"{sent} {'has' if held.matches == 1 else 'have'} been sent"
        return line("output", "ok", title, at=held.last_match_ms)
    if held.suppressed or held.grouped:
        title = f"{held.suppressed + held.grouped:,} matches were suppressed or grouped by alert"
        return line("output", "attention", title, "", "Allow more alerts, or shorten the time.")
    return line("output", "ok", "No match was stopped by a limit")


def _concern(facts: JobFacts, concern: Concern) -> AttentionItem | None:
    return next((each for each in facts.concerns if each.concern == concern), None)


_OF_BATCHES: Final[tuple[Concern, ...]] = ("batch_hangs", "backlog")
_OF_RULES: Final[tuple[Concern, ...]] = ("discovery_failing", "rules_unreadable", "epoch_behind")
_CONCERNS: Final[dict[Concern, tuple[str, str]]] = {
    "batch_hangs": ("The current batch is stuck", "Check the log of the job and its load."),
    "backlog": ("The job is behind", "Give it more cores, or wait until it has caught up."),
    "discovery_failing": (
        "The job cannot read its rules",
        "Check the discoverer of its job file, and its token.",
    ),
    "rules_unreadable": ("Some rules from its source cannot run", "Fix those rules."),
    "epoch_behind": ("Rule changes do not reach the job", "Check its log."),
    "watermark_behind": (
        "Event time lags behind the clock",
        "Check that new events arrive on every partition of the source.",
    ),
    "watermark_ahead": (
        "Event time runs ahead of the clock",
        "Find what writes future times to the source.",
    ),
}
