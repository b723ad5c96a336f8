"""Numbers and stores posted matches, with their groups; beyond the limits the oldest are removed.

What people have made of a match is not touched: it stays when the match goes, and holds again if
the match is posted again.
"""

import json
from collections.abc import Iterable
from typing import Final

from sqlalchemy.orm import Session

from api.matches import groups, repository
from api.matches.tables import Match, MatchLog, MatchTriage
from api.rollouts import comparison
from api.settings import Settings
from api.store.notifications import notify_others
from api.store.views import view_of
from api.streams.service import existing_stream
from api.transactions import Writing
from api.web.problems import not_found
from cep.definition.keys import key_text
from contract.canonical import canonical_json
from contract.reports import MatchReceipt, MatchReport, ReportedMatch
from contract.service.matches import MatchSummary, MatchView, TriageSummary

_DAY_MS: Final = 86_400_000
_KEY_TEXT_LENGTH: Final = 500


def bell_name(stream: str) -> str:
    """Return the name for notifying listeners of a stream's matches; no stream has it."""
    return f"matches/{stream}"


def take_report(
    writing: Writing, stream: str, report: MatchReport, settings: Settings
) -> MatchReceipt:
    """Add the matches that are not known yet, in the order given, and what matches stand for.

    Raises:
        Refusal: there is no such stream (404).
    """
    session = writing.session
    log = locked_log(writing, stream)
    known = repository.known_ids(session, stream, [each.match_id for each in report.matches])
    fresh = {each.match_id: each for each in report.matches if each.match_id not in known}
    if fresh:
        records = [
            _record(stream, report.job, number, each, writing.now_ms)
            for number, each in enumerate(fresh.values(), start=log.newest + 1)
        ]
        groups.fulfil(session, stream, records)
        session.add_all(records)
        comparison.note(session, stream, report.job, fresh.values())
        log.newest += len(fresh)
        session.flush()
        repository.count_added(session, stream, records)
        _forget_old(session, log, fresh.values(), settings)
    has_news = groups.note(session, stream, log, report.groups)
    if fresh or has_news:
        notify_others(session, bell_name(stream))
    forget_old_triage(writing, stream, settings)
    return MatchReceipt(added=len(fresh), known=len(report.matches) - len(fresh))


def _forget_old(
    session: Session, log: MatchLog, fresh: Iterable[ReportedMatch], settings: Settings
) -> None:
    room = repository.FORGOTTEN_AT_ONCE
    last = log.newest - settings.matches_per_stream
    room -= repository.forget_up_to(session, log.stream, last, room)
    of_these = {each.processor_id for each in fresh}
    kept = settings.matches_per_processor
    repository.forget_all_but(session, log.stream, of_these, kept, room)


def forget_old_triage(writing: Writing, stream: str, settings: Settings) -> None:
    """Remove what was decided long ago about matches that are gone."""
    before_ms = writing.now_ms - settings.triage_days * _DAY_MS
    repository.forget_old_triage(writing.session, stream, before_ms)


def existing_match(session: Session, stream: str, match_id: str) -> Match:
    """Return a match.

    Raises:
        Refusal: there is no such stream, or the match is unknown or has been removed (404).
    """
    existing_stream(session, stream)
    match = repository.match_of(session, stream, match_id)
    if match is None:
        raise not_found("match", match_id, "Only recent matches are kept.")
    return match


def match_view(match: Match) -> MatchView:
    """Return a match with its events."""
    return MatchView(**match_summary(match).model_dump(), events=json.loads(match.events))


def match_summary(match: Match) -> MatchSummary:
    """Return a match without its events."""
    return view_of(
        MatchSummary,
        match,
        key=json.loads(match.key),
        output=json.loads(match.output),
        stands_for=groups.stands_for(match),
        triage=triage_summary(match.triage),
    )


def triage_summary(triage: MatchTriage | None) -> TriageSummary:
    """Return what people have made of a match."""
    return TriageSummary() if triage is None else view_of(TriageSummary, triage)


def locked_log(writing: Writing, stream: str) -> MatchLog:
    """Return the counters of a stream's matches, locked: the first step of every change of them.

    Raises:
        Refusal: there is no such stream (404).
    """
    # The row of the stream is never locked here: a publish locks it first.
    existing_stream(writing.session, stream)
    log = repository.locked_log(writing.session, stream)
    if log is None:
        repository.begin_log(writing.session, stream)
        log = repository.locked_log(writing.session, stream)
    assert log is not None  # noqa: S101 - logs are never deleted
    return log


def _record(stream: str, job: str, number: int, match: ReportedMatch, now_ms: int) -> Match:
    return Match(
        stream=stream,
        number=number,
        match_id=match.match_id,
        job=job,
        kind=match.kind,
        processor_id=match.processor_id,
        version=match.version,
        epoch=match.epoch,
        key=canonical_json(match.key),
        key_text=key_text(match.key)[:_KEY_TEXT_LENGTH],
        start_ms=match.start_ms,
        end_ms=match.end_ms,
        received_at_ms=now_ms,
        output=canonical_json(match.output),
        events=canonical_json(match.events),
        event_count=sum(map(len, match.events.values())),
        group_id=match.group_id,
    )
