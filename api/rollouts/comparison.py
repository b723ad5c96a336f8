"""What the published version and the one that is tried have found: by both, or by one alone.

    posted matches ──note──► compared finds ──comparison──► gained, lost, both

A match has two names: its id, in which the version is, and its identity, which is the rule, the key
and the events. Only matches that began when both versions ran are compared.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from sqlalchemy.orm import Session

from api.jobs import history_repository
from api.jobs.tables import HeldVersion, Job
from api.rollouts import repository
from api.rollouts.tables import ComparedFind
from api.store.views import view_of
from cep.definition.keys import key_text
from contract.reports import ReportedMatch
from contract.service.rollouts import ComparedMatch, RolloutInJob

MOST_COMPARED: Final = 20_000
"""How many finds are kept of one rollout in one job."""
_SAMPLES: Final = 10
_KEY_TEXT_LENGTH: Final = 500


def note(session: Session, stream: str, job: str, matches: Iterable[ReportedMatch]) -> None:
    """Keep which of some posted matches were found by which version, where one is tried.

    The caller has locked the matches of the stream.

    Args:
        session: the transaction.
        stream: the stream.
        job: the job that posted them.
        matches: those that were not posted before.
    """
    by_processor: dict[str, list[ReportedMatch]] = defaultdict(list)
    for match in matches:
        if match.identity and match.kind != "timeout":
            by_processor[match.processor_id].append(match)
    apart = repository.versions_apart(session, by_processor)
    for processor_id, versions in apart.items():
        of_versions = [
            match
            for match in by_processor[processor_id]
            if match.version == versions.tried or match.version in versions.published
        ]
        _note_of_one(session, stream, job, versions.tried, of_versions)


def _note_of_one(
    session: Session, stream: str, job: str, tried: int, matches: list[ReportedMatch]
) -> None:
    if not matches:
        return
    processor_id = matches[0].processor_id
    identities = {match.identity for match in matches}
    known = repository.finds_of(session, processor_id, tried, job, identities)
    room = MOST_COMPARED - repository.count(session, processor_id, tried, job)
    for match in matches:
        find = known.get(match.identity)
        if find is None:
            if room <= 0:
                continue
            room -= 1
            find = known[match.identity] = ComparedFind(
                stream=stream,
                processor_id=processor_id,
                tried_version=tried,
                job=job,
                identity=match.identity,
                by_published=False,
                by_tried=False,
                match_id=match.match_id,
                key_text=key_text(match.key)[:_KEY_TEXT_LENGTH],
                start_ms=match.start_ms,
                end_ms=match.end_ms,
            )
            session.add(find)
        if match.version == tried:
            find.by_tried = True
        else:
            find.by_published = True


def in_job(session: Session, job: Job, tried: HeldVersion, begun_ms: int) -> RolloutInJob:
    """Return how a version does that is tried in a job, and how its finds compare there.

    Args:
        session: the transaction.
        job: the job.
        tried: what the job reports of the version.
        begun_ms: when the trial began, by the clock.
    """
    of_rollout = (session, tried.processor_id, tried.version, job.name)
    since_ms = tried.active_from_ms
    tally = repository.tally(*of_rollout, since_ms)
    gained, lost = (
        [
            view_of(ComparedMatch, find)
            for find in repository.newest_of_one(
                *of_rollout, by_tried=by_tried, since_ms=since_ms, limit=_SAMPLES
            )
        ]
        for by_tried in (True, False)
    )
    return view_of(
        RolloutInJob,
        tried,
        job=job.name,
        events=history_repository.events_from(session, job.id, begun_ms),
        finds=tried.matches + tried.shadow,
        counted=tried.matches,
        both=tally.get((True, True), 0),
        gained=tally.get((False, True), 0),
        lost=tally.get((True, False), 0),
        is_complete=repository.count(*of_rollout) < MOST_COMPARED,
        newest_gained=gained,
        newest_lost=lost,
    )
