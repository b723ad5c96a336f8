"""Notes in the change log when a job has quarantined a version: what remains when it is mended.

    heartbeat ─ a version that was not quarantined, and is ─► an entry of the log, once

A job sends all it holds again now and then, so the same error of the same version is noted again
only after the rule has been changed, resumed or the like.
"""

from collections.abc import Iterable
from typing import Final

from sqlalchemy.orm import Session

from api.audit.actions import QUARANTINE
from api.audit.log import record
from api.audit.repository import ChangeFilter, changes_below, forget_failed_events_but
from api.audit.tables import Change, FailedEvent
from api.jobs.tables import Job
from api.processors.repository import processor_of
from api.transactions import Writing
from api.web.paging import NEWEST
from contract.canonical import canonical_json
from contract.reports import FailedAt, RunningVersion

KEPT_EVENTS: Final = 20
"""Of so many quarantines of a rule it is kept where in the events it failed."""

_ACKNOWLEDGED: Final = "processor.acknowledge"
_SEEN: Final = 50


def is_among(versions: Iterable[RunningVersion]) -> bool:
    """Return whether a report holds a quarantined version."""
    return any(each.state == "quarantined" for each in versions)


def note(writing: Writing, job: Job, quarantined: RunningVersion) -> None:
    """Add to the log that a job has quarantined a version, unless that has been noted.

    What a job says of a rule that is none of its stream is not noted: who looks into the rule would
    take it for true.
    """
    subject = f"{job.name}: {quarantined.error}"
    rule = processor_of(writing.session, quarantined.processor_id)
    if rule is None or rule.stream != job.stream:
        return
    if _is_noted(writing.session, job.stream, quarantined, subject):
        return
    change = record(
        writing,
        QUARANTINE,
        stream=job.stream,
        processor_id=quarantined.processor_id,
        new_version=quarantined.version,
        subject=subject,
    )
    if quarantined.failed_at is not None:
        _keep_event(writing.session, change, quarantined.processor_id, quarantined.failed_at)


def _keep_event(session: Session, change: Change, processor_id: str, failed_at: FailedAt) -> None:
    session.flush()
    content = canonical_json(
        {"key": failed_at.key, "time": failed_at.time_ms, "event": failed_at.event}
    )
    session.add(FailedEvent(change_id=change.id, processor_id=processor_id, content=content))
    session.flush()
    forget_failed_events_but(session, processor_id, KEPT_EVENTS)


def _is_noted(session: Session, stream: str, quarantined: RunningVersion, subject: str) -> bool:
    wanted = ChangeFilter(stream=stream, processor=quarantined.processor_id)
    for change in changes_below(session, wanted, NEWEST, _SEEN):
        if change.action == QUARANTINE:
            if (change.new_version, change.subject) == (quarantined.version, subject):
                return True
        elif change.action != _ACKNOWLEDGED and change.action.startswith("processor."):
            return False
    return False
