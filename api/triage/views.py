"""Views of triage: of one match, its notes, and the counts of rules; reads only."""

import json
from collections.abc import Mapping, Sequence

from sqlalchemy.orm import Session

from api.matches.service import triage_summary
from api.matches.tables import MatchNote, MatchTriage
from api.store.views import view_of
from api.triage import repository
from api.triage.filters import CountFilter
from api.triage.repository import COUNTED, PARTS
from contract.service.triage import NoteView, TriageCounts, TriageView


def triage_view(triage: MatchTriage) -> TriageView:
    """Return the triage of one match."""
    told = triage_summary(triage).model_dump()
    return view_of(TriageView, triage, **told, key=json.loads(triage.key))


def note_view(note: MatchNote) -> NoteView:
    """Return a note."""
    return view_of(NoteView, note)


def counts_of(
    session: Session,
    stream: str,
    processor_ids: Sequence[str],
    wanted: CountFilter = COUNTED,
) -> dict[str, TriageCounts]:
    """Return the counts of each of these rules, by id."""
    counted = repository.count_statuses(session, stream, processor_ids, wanted)
    return {processor_id: _counts(counted.get(processor_id, {})) for processor_id in processor_ids}


def _counts(counted: Mapping[str, int]) -> TriageCounts:
    counts = TriageCounts.model_validate(counted)
    looked_at = counts.acknowledged + counts.false_positive + counts.resolved
    # Rounded down as the order of the rules has it.
    rate = counts.false_positive * PARTS // looked_at / PARTS if looked_at else None
    return counts.model_copy(update={"false_positive_rate": rate})
