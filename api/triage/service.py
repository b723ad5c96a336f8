"""Changes the triage of matches, one or many in one transaction: all of them or none.

    lock the stream's counters ─► read what is there ─► compare with what was seen ─► change ─► log

The first of two people wins; the second is told what has become of the match. Triage stays when its
match is removed, and may be changed then, too.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from http import HTTPStatus
from typing import Final

from sqlalchemy.orm import Session

from api.audit.log import record
from api.matches import repository as matches
from api.matches.counting import Tally
from api.matches.filters import MatchFilter, MatchSort
from api.matches.service import bell_name, forget_old_triage, locked_log
from api.matches.tables import Match, MatchLog, MatchNote, MatchTriage
from api.settings import Settings
from api.store.notifications import notify_others
from api.transactions import Writing
from api.triage import repository
from api.web.preconditions import require_match
from api.web.problems import Refusal, invalid, not_found
from contract.service.matches import OPEN
from contract.service.problems import Flaw
from contract.service.triage import MOST_NOTES, SelectedMatch, TriageChange

_WORDS: Final = {"false_positive": "false positive"}


def etag(triage: MatchTriage) -> str:
    """Return the tag of the status and assignee of a match; notes are added in any state."""
    return str(triage.revision)


def existing_triage(session: Session, stream: str, match_id: str) -> MatchTriage:
    """Return the triage of a match; where nobody has touched it, that of an open one.

    Raises:
        Refusal: the match is unknown, or has been removed without ever being triaged (404).
    """
    found = _triage_of(session, stream, [match_id])
    if match_id not in found:
        raise not_found("match", match_id, "Only recent matches and those with a status are kept.")
    return found[match_id]


def change_one(  # noqa: PLR0913, PLR0917 - one match, and how it was seen
    writing: Writing,
    stream: str,
    match_id: str,
    change: TriageChange,
    if_match: str | None,
    settings: Settings,
) -> MatchTriage:
    """Change the triage of a match and return it.

    Raises:
        Refusal: there is no such match (404), it was changed since it was seen (412, 428), or it
            has too many notes (409).
    """
    log = locked_log(writing, stream)
    triage = existing_triage(writing.session, stream, match_id)
    require_match(if_match, etag(triage))
    _change(writing, log, [triage], change, settings)
    return triage


def change_selected(
    writing: Writing,
    stream: str,
    selected: Sequence[SelectedMatch],
    change: TriageChange,
    settings: Settings,
) -> int:
    """Change the triage of these matches of a stream; return how many were changed by it.

    Raises:
        Refusal: one of them is not there (422), was changed since it was seen or has too many
            notes (409).
    """
    log = locked_log(writing, stream)
    found = _triage_of(writing.session, stream, [each.match_id for each in selected])
    unknown = [
        Flaw(
            pointer=f"/matches/{place}/match_id",
            detail=f"Stream '{stream}' has no match '{each.match_id}'.",
            remedy="It may have been removed in the meantime; leave it out.",
        )
        for place, each in enumerate(selected)
        if each.match_id not in found
    ]
    if unknown:
        raise invalid("selection", unknown)
    outdated = [
        Flaw(
            pointer=f"/matches/{place}/revision",
            detail=_as_it_is(found[each.match_id]),
            remedy="Look at it again, or leave it out.",
        )
        for place, each in enumerate(selected)
        if each.revision not in {None, found[each.match_id].revision}
    ]
    if outdated:
        detail = f"{len(outdated)} of them have been changed since they were read."
        raise Refusal(HTTPStatus.CONFLICT, detail, outdated)
    return _change(writing, log, list(found.values()), change, settings)


def change_found(  # noqa: PLR0913, PLR0917 - a page of those that meet a filter
    writing: Writing,
    stream: str,
    wanted: MatchFilter,
    below: int,
    limit: int,
    change: TriageChange,
    settings: Settings,
) -> tuple[int, int, int | None]:
    """Change the triage of matches that meet a filter, newest first, below a number.

    Returns:
        How many were changed, how many were not, and below which number there may be more.

    Raises:
        Refusal: there is no such stream (404), or a match has too many notes (409).
    """
    log = locked_log(writing, stream)
    found, more = matches.matches_found(
        writing.session, stream, wanted, MatchSort.ARRIVAL_DESCENDING, (below,), limit
    )
    triages = [match.triage or _untouched(match) for match in found]
    changed = _change(writing, log, triages, change, settings)
    return changed, len(triages) - changed, None if more is None else more[0]


def _triage_of(session: Session, stream: str, match_ids: Sequence[str]) -> dict[str, MatchTriage]:
    found = repository.triage_of(session, stream, match_ids)
    untouched = [match_id for match_id in match_ids if match_id not in found]
    for match in matches.matches_of(session, stream, untouched):
        found[match.match_id] = _untouched(match)
    return found


def _untouched(match: Match) -> MatchTriage:
    """Return the triage of a match that nobody has touched; it is not stored yet."""
    return MatchTriage(
        stream=match.stream,
        match_id=match.match_id,
        status=OPEN,
        assignee="",
        change=0,
        changed_at_ms=0,
        revision=0,
        decided_at_ms=None,
        decided_by="",
        note_count=0,
        job=match.job,
        kind=match.kind,
        processor_id=match.processor_id,
        version=match.version,
        key=match.key,
        start_ms=match.start_ms,
        end_ms=match.end_ms,
    )


def _change(
    writing: Writing,
    log: MatchLog,
    triages: Iterable[MatchTriage],
    change: TriageChange,
    settings: Settings,
) -> int:
    session = writing.session
    changed = [triage for triage in triages if _is_changed_by(triage, change)]
    if not changed:
        return 0
    ids = [triage.match_id for triage in changed]
    present = matches.known_ids(session, log.stream, ids) if change.status is not None else ids
    tally = Tally()
    for triage in changed:
        log.newest_change += 1
        before = triage.status
        _decide(writing, triage, change, log.newest_change)
        tally.move(triage, before, triage.status, is_present=triage.match_id in present)
        session.add(triage)
    session.flush()
    tally.save(session, log.stream)
    if change.note is not None:
        session.add_all(_note(writing, triage, change.note) for triage in changed)
        session.flush()
    _record(writing, log.stream, changed, change)
    for processor_id in {triage.processor_id for triage in changed}:
        kept = settings.triage_per_processor
        matches.forget_triage_but(session, log.stream, processor_id, kept)
    forget_old_triage(writing, log.stream, settings)
    notify_others(session, bell_name(log.stream))
    return len(changed)


def _is_changed_by(triage: MatchTriage, change: TriageChange) -> bool:
    if change.note is not None and triage.note_count >= MOST_NOTES:
        detail = f"Match '{triage.match_id}' has {MOST_NOTES} notes; no more can be added."
        raise Refusal(HTTPStatus.CONFLICT, detail)
    return change.note is not None or _is_decided_by(triage, change)


def _is_decided_by(triage: MatchTriage, change: TriageChange) -> bool:
    return change.status not in {None, triage.status} or change.assignee not in {
        None,
        triage.assignee,
    }


def _decide(writing: Writing, triage: MatchTriage, change: TriageChange, number: int) -> None:
    triage.change = number
    triage.changed_at_ms = writing.now_ms
    if not _is_decided_by(triage, change):
        return
    triage.revision = number
    triage.decided_at_ms = writing.now_ms
    triage.decided_by = writing.actor
    if change.status is not None:
        triage.status = change.status
    if change.assignee is not None:
        triage.assignee = change.assignee


def _note(writing: Writing, triage: MatchTriage, text: str) -> MatchNote:
    triage.note_count += 1
    return MatchNote(
        stream=triage.stream,
        match_id=triage.match_id,
        number=triage.note_count,
        at_ms=writing.now_ms,
        author=writing.actor,
        author_id=writing.actor_id,
        text=text,
    )


def _record(
    writing: Writing, stream: str, changed: Sequence[MatchTriage], change: TriageChange
) -> None:
    """Log a change of status or assignee, once per rule; notes say themselves who wrote them."""
    said = [] if change.status is None else [_WORDS.get(change.status, change.status)]
    if change.assignee is not None:
        said.append(f"assigned to {change.assignee}" if change.assignee else "assigned to nobody")
    if not said:
        return
    ids = {triage.processor_id: triage.match_id for triage in changed}
    for processor_id, count in Counter(triage.processor_id for triage in changed).items():
        which = ids[processor_id] if count == 1 else f"{count} matches"
        record(
            writing,
            "match.triage",
            stream=stream,
            processor_id=processor_id,
            subject=f"{which} {', '.join(said)}",
        )


def _as_it_is(triage: MatchTriage) -> str:
    status = _WORDS.get(triage.status, triage.status)
    assigned = f", assigned to {triage.assignee}" if triage.assignee else ""
    by = f" {triage.decided_by} has changed it." if triage.decided_by else ""
    return f"It is {status}{assigned} now, revision {triage.revision}.{by}"
