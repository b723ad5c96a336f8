"""Rules are snoozed, and woken before their time; each is an epoch, as jobs take it from snapshots.

No approval is asked for: what is snoozed still runs, is counted, and is kept as `suppressed`. The
revision of the rule stays, too, so that nobody who edits it meanwhile is refused.
"""

from http import HTTPStatus
from typing import Final

from api.processors.service import lock
from api.processors.tables import Processor
from api.snooze_store import repository
from api.snooze_store.tables import Snooze
from api.store.views import view_of
from api.streams.epochs import record_epoch
from api.transactions import Writing
from api.web.problems import Refusal, invalid, not_found
from cep.instants import iso_text
from cep.pattern.durations import duration_ms
from contract.service.problems import Flaw
from contract.service.snoozes import NewSnooze, SnoozeView

MAXIMUM_SNOOZES: Final = 500
_LONGEST_MS: Final = 366 * 86_400_000
_DAY_MS: Final = 86_400_000
_ANY_STATE: Final = "*"


def snooze(writing: Writing, processor: Processor, wanted: NewSnooze) -> Snooze:
    """Snooze a rule; one for the same key takes the place of that before.

    Raises:
        Refusal: the time is not one ahead (422), the rule was deleted (404), or the stream has too
            many snoozes (409).
    """
    lock(writing, processor, _ANY_STATE)
    until_ms = _until_ms(wanted, writing.now_ms)
    end = f"until {iso_text(until_ms)}"
    epoch = record_epoch(
        writing,
        "snooze.begin",
        stream=processor.stream,
        processor_id=processor.id,
        subject=end if wanted.key is None else f"key {wanted.key}, {end}",
    )
    for known in repository.open_snoozes(writing.session, processor.stream):
        is_same = (known.processor_id, known.key_text) == (processor.id, wanted.key)
        # A job that lags behind may still need what is over by the clock.
        if is_same or known.until_ms < writing.now_ms - _DAY_MS:
            known.until_epoch = epoch
    writing.session.flush()
    if repository.count_open(writing.session, processor.stream) >= MAXIMUM_SNOOZES:
        detail = f"The stream has {MAXIMUM_SNOOZES} snoozes, which is the limit. End some of them."
        raise Refusal(HTTPStatus.CONFLICT, detail)
    begun = Snooze(
        stream=processor.stream,
        processor_id=processor.id,
        key_text=wanted.key,
        until_ms=until_ms,
        from_epoch=epoch,
        created_at_ms=writing.now_ms,
        created_by=writing.actor,
        comment=writing.comment,
    )
    writing.session.add(begun)
    writing.session.flush()
    return begun


def wake(writing: Writing, processor: Processor, number: int) -> None:
    """End a snooze, for the events to come.

    Raises:
        Refusal: the rule has none of this number, or was deleted (404).
    """
    lock(writing, processor, _ANY_STATE)
    found = repository.open_snooze(writing.session, processor.id, number)
    if found is None:
        raise _no_snooze(number)
    epoch = record_epoch(
        writing,
        "snooze.end",
        stream=processor.stream,
        processor_id=processor.id,
        subject="" if found.key_text is None else f"key {found.key_text}",
    )
    found.until_epoch = epoch


def snooze_view(found: Snooze, now_ms: int) -> SnoozeView:
    """Return a snooze as it is answered."""
    return view_of(SnoozeView, found, key=found.key_text, is_over=found.until_ms <= now_ms)


def _until_ms(wanted: NewSnooze, now_ms: int) -> int:
    if (wanted.until is None) == (wanted.for_time is None):
        remedy = "Give one of them: until an instant, or for a length of time."
        flaw = Flaw(pointer="/until", detail="Until when is not clear.", remedy=remedy)
        raise invalid("snooze", [flaw])
    if wanted.until is not None:
        pointer, until_ms = "/until", wanted.until
    else:
        pointer, until_ms = "/for", now_ms + duration_ms(wanted.for_time or 0)
    if not now_ms < until_ms <= now_ms + _LONGEST_MS:
        remedy = "It ends by itself within a year. To stop a rule for good, pause it."
        flaw = Flaw(pointer=pointer, detail="That is not a time ahead.", remedy=remedy)
        raise invalid("snooze", [flaw])
    return until_ms


def _no_snooze(number: int) -> Refusal:
    return not_found("snooze", str(number), "GET …/snoozes lists those of the rule.")
