"""The results of a replay, and whether the demo kept its promises.

rows, job, acts done ──summarize──► Summary ──► terminal, exit code
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cep.instants import instant_ms
from examples.demo.events import STREAM, Event
from examples.demo.job import Row
from examples.demo.replay import Done, Replay
from examples.demo.rules import FIRST_RULES, Rule
from examples.demo.service import DemoService, ReportedJob
from examples.demo.story import ACTS, Act, Deed, spans
from examples.demo.tried import backtest_flaw, list_flaw, shadow_flaw
from examples.demo.verification import VersionCheck, check_versions


@dataclass(frozen=True, slots=True)
class Promise:
    """Something the demo promises; `reason` says why it was not kept, and is empty if it was."""

    text: str
    reason: str

    @property
    def is_kept(self) -> bool:
        """Whether it was kept."""
        return not self.reason


@dataclass(frozen=True, slots=True)
class Summary:
    """The results of a replay."""

    versions: Sequence[VersionCheck]
    done: Sequence[Done]
    promises: Sequence[Promise]

    @property
    def is_good(self) -> bool:
        """Whether all promises were kept."""
        return all(promise.is_kept for promise in self.promises)


def summarize(
    replay: Replay, job: ReportedJob, rows: Sequence[Row], service: DemoService
) -> Summary:
    """Return the results of a replay.

    Args:
        replay: the replay, at its end.
        job: the job when it had processed everything.
        rows: what it has written to its files.
        service: the service, which still runs.
    """
    fed = replay.feeder.events[: replay.feeder.fed]
    versions = check_versions(rows, fed, spans(FIRST_RULES, ACTS), replay.final_watermark_ms)
    promises = [
        _same_as_without_a_job(versions),
        _never_restarted(replay),
        _all_read(job, fed),
        _switched_on_time(service),
        _only_the_bad_rule_was_stopped(replay, rows),
        _backtest_was_right(replay, fed),
        _shadow_was_compared(replay, fed),
        _list_switched(rows, fed),
        _approved_by_others(service),
        _matches_are_shown(service),
    ]
    return Summary(versions, replay.done, promises)


def _same_as_without_a_job(versions: Sequence[VersionCheck]) -> Promise:
    others = [f"{check.rule_id} v{check.version}" for check in versions if not check.is_same]
    return Promise(
        "every version found exactly what the same pattern finds in its stretch of the events",
        f"not so {', '.join(others)}" if others else "",
    )


def _never_restarted(replay: Replay) -> Promise:
    starts = len(replay.instances)
    is_so = starts == 1 and tuple(done.act for done in replay.done) == ACTS
    return Promise(
        f"{len(ACTS)} changes took effect in one start of the job, without a stop",
        "" if is_so else f"{len(replay.done)} changes, {starts} starts",
    )


def _all_read(job: ReportedJob, fed: Sequence[Event]) -> Promise:
    counters = job.counters
    is_so = counters.events == len(fed) and counters.late == 0
    return Promise(
        f"all {len(fed):,} events were read, once, and none came late",
        "" if is_so else f"{counters.events:,} were read, {counters.late:,} late",
    )


def _switched_on_time(service: DemoService) -> Promise:
    (act,) = (act for act in ACTS if act.wanted == "pending")
    running = service.client.running(str(STREAM["name"]), act.rule.id)
    found = [version for job in running.jobs if (version := job.version(act.version))]
    is_so = [(each.state, each.active_from) for each in found] == [("active", act.counts_from_ms)]
    return Promise(
        f"{act.rule.id} v{act.version} began at exactly {act.rule.effective_from} in event time",
        "" if is_so else f"the job says {found}",
    )


def _only_the_bad_rule_was_stopped(replay: Replay, rows: Sequence[Row]) -> Promise:
    (act,) = (act for act in ACTS if act.wanted == "quarantined")
    was_stopped = any(done.act is act and done.error for done in replay.done)
    others = list(_other_errors(rows, act.rule.id, act.version))
    return Promise(
        f"{act.rule.id} v{act.version} was quarantined with its error, and nothing else stopped",
        "" if was_stopped and not others else f"{'; '.join(others) or 'it was not'}",
    )


def _other_errors(rows: Sequence[Row], rule_id: str, version: int) -> Iterator[str]:
    for row in rows:
        if row["kind"] == "error" and (row.get("processor_id"), row.get("version")) != (
            rule_id,
            version,
        ):
            yield f"{row.get('processor_id') or 'an event'}: {row['error']['message']}"


def _backtest_was_right(replay: Replay, fed: Sequence[Event]) -> Promise:
    act, published = _tried()
    reports = replay.team.backtests
    past = [event for event in fed if instant_ms(event["ts"]) < act.at_ms]
    return Promise(
        f"the backtest of {act.rule.id} v{act.version} found what the pattern finds in the past",
        backtest_flaw(reports[0] if len(reports) == 1 else None, act.rule, published, past),
    )


def _shadow_was_compared(replay: Replay, fed: Sequence[Event]) -> Promise:
    act, published = _tried()
    (promotion,) = (each for each in ACTS if each.deed is Deed.PROMOTE)
    since_ms = next((done.active_from_ms for done in replay.done if done.act is act), None)
    told = replay.team.differences
    return Promise(
        f"in shadow, {act.rule.id} v{act.version} gained and lost what the patterns do",
        shadow_flaw(
            told[0] if len(told) == 1 else None,
            act.rule,
            published,
            fed,
            (since_ms or 0, promotion.at_ms),
        ),
    )


def _tried() -> tuple[Act, Rule]:
    """Return the act that tries a version, and what was published then."""
    (act,) = (act for act in ACTS if act.deed is Deed.SHADOW)
    (published,) = (rule for rule in FIRST_RULES if rule.id == act.rule.id)
    return act, published


def _list_switched(rows: Sequence[Row], fed: Sequence[Event]) -> Promise:
    (act,) = (act for act in ACTS if act.deed is Deed.LIST)
    (before,) = (rule for rule in FIRST_RULES if rule.id == act.rule.id)
    return Promise(
        f"{act.rule.id} found sign-ins from the added address after the change, not before it",
        list_flaw(rows, fed, before, act.rule, act.at_ms),
    )


def _approved_by_others(service: DemoService) -> Promise:
    """What only stops a rule or counts nothing needs no approval."""
    needing = [act for act in ACTS if act.deed in {Deed.PUBLISH, Deed.RESUME, Deed.PROMOTE}]
    found = service.client.proposals(stream=str(STREAM["name"]), state="published")
    approved = [
        each
        for each in map(service.client.proposal, (line.id for line in found))
        if [approval.person for approval in each.approvals] == ["bob"] and each.author == "ana"
    ]
    return Promise(
        f"{len(needing)} changes were proposed by one person and approved by another",
        "" if len(approved) == len(needing) else f"{len(approved)} were",
    )


def _matches_are_shown(service: DemoService) -> Promise:
    return Promise(
        "the newest matches can be looked at in the dashboard",
        "" if service.count_matches() else "the service has none",
    )
