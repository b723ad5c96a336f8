"""Views of rules: a page of them with the job that runs them; reads only."""

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Final, get_args

from sqlalchemy.orm import Session

from api.jobs import history_repository
from api.jobs.repository import jobs_of
from api.jobs.tables import Job
from api.jobs.views import job_summary
from api.processors import views as processor_views
from api.processors.tables import Processor
from api.rules import repository
from api.rules.filters import RuleFilter
from api.rules.repository import Tally
from api.running import repository as running_repository
from api.running.comparison import TELLING, running_in_job
from api.settings import Settings
from api.snooze_store.repository import snoozed_until
from api.triage.views import counts_of
from api.web.problems import not_found
from contract.service.jobs import JobSummary
from contract.service.rules import RuleLine, RuleProblem, RulesPage, Standing

_LIVELINESS: Final = ("running", "starting", "stale", "stopped")


class JobsInView:
    """The jobs of a stream, and the one whose reports are used.

    Unless a job is named, it is the one with the freshest reports: running before stale before
    stopped, among these the one that registered last.
    """

    def __init__(
        self, session: Session, stream: str, name: str | None, now_ms: int, settings: Settings
    ) -> None:
        jobs = jobs_of(session, stream)
        self.summaries = [job_summary(job, now_ms, settings) for job in jobs]
        self.chosen: Job | None = None
        self.summary: JobSummary | None = None
        found = [
            pair for pair in zip(jobs, self.summaries, strict=True) if name in {None, pair[0].name}
        ]
        if found:
            self.chosen, self.summary = min(found, key=_freshness)
        elif name is not None:
            raise not_found("job", name, of=f"stream '{stream}'")


def lines(
    session: Session,
    stream: str,
    processors: Sequence[Processor],
    job: JobSummary | None,
    now_ms: int,
) -> list[RuleLine]:
    """Return the lines of a page of the rules of a stream, in the order given."""
    ids = [processor.id for processor in processors]
    published = running_repository.published_versions(session, ids)
    definitions = repository.newest_definitions(session, processors)
    running = running_in_job(session, job, ids, now_ms) if job else {}
    matches = _matches(session, job, ids, now_ms)
    triage = counts_of(session, stream, ids)
    snoozed = snoozed_until(session, ids, now_ms)
    return [
        RuleLine(
            **summary.model_dump(),
            key_by=json.loads(definitions[summary.id]).get("key_by"),
            published=published[summary.id],
            standing=repository.standing_of(running[summary.id].state if job else None),
            running=running.get(summary.id),
            matches=matches[summary.id],
            triage=triage[summary.id],
            snoozed_until=snoozed.get(summary.id),
        )
        for summary in processor_views.summaries(session, processors, now_ms)
    ]


def page(
    rules: list[RuleLine],
    next_cursor: str | None,
    tallies: Sequence[Tally],
    wanted: RuleFilter,
    jobs: JobsInView,
) -> RulesPage:
    """Return a page with the counts of its filters."""
    standings = dict.fromkeys(get_args(Standing), 0)
    problems: Counter[RuleProblem] = Counter(dict.fromkeys(get_args(RuleProblem), 0))
    total = 0
    for tally in tallies:
        standing = repository.standing_of(TELLING[tally.rank])
        standings[standing] += tally.count
        problems.update(dict.fromkeys(tally.problems, tally.count))
        if wanted.standing in {None, standing} and tally.problems >= _named(wanted.problem):
            total += tally.count
    return RulesPage(
        items=rules,
        next_cursor=next_cursor,
        total=total,
        standings=standings,
        problems=dict(problems),
        job=jobs.summary,
        jobs=jobs.summaries,
    )


def _named(problem: RuleProblem | None) -> frozenset[RuleProblem]:
    return frozenset() if problem is None else frozenset({problem})


def _freshness(pair: tuple[Job, JobSummary]) -> tuple[int, int]:
    job, summary = pair
    return _LIVELINESS.index(summary.state), -job.registered_at_ms


def _matches(
    session: Session, job: JobSummary | None, ids: Sequence[str], now_ms: int
) -> dict[str, list[int]]:
    starts = history_repository.newest_buckets(now_ms)
    series: dict[str, list[int]] = defaultdict(lambda: [0] * len(starts))
    if job is not None:
        for bucket in history_repository.processor_buckets(session, job.id, ids, starts):
            series[bucket.processor_id][starts.index(bucket.start_ms)] = bucket.matches
    return series
