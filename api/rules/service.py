"""Pauses or resumes many rules in one transaction: all of them or none."""

from collections.abc import Callable, Sequence

from sqlalchemy.orm import Session

from api.processors import repository
from api.processors import service as processors
from api.processors.tables import Processor
from api.streams.service import locked_stream
from api.transactions import Writing
from api.web.problems import invalid
from contract.service.problems import Flaw
from contract.service.processors import DELETED


def pause(writing: Writing, stream: str, ids: Sequence[str]) -> list[str]:
    """Pause these rules of a stream; return the ids of those that were not paused before.

    Raises:
        Refusal: there is no such stream (404), or it has not all of these rules (422).
    """
    return _each(writing, stream, ids, processors.pause)


def resume(writing: Writing, stream: str, ids: Sequence[str]) -> list[str]:
    """Let these rules of a stream run again; return the ids of those that were paused.

    Raises:
        Refusal: there is no such stream (404), or it has not all of these rules (422).
    """
    return _each(writing, stream, ids, processors.resume)


def _each(
    writing: Writing,
    stream: str,
    ids: Sequence[str],
    act: Callable[[Writing, Processor], Processor],
) -> list[str]:
    locked_stream(writing, stream)
    changed = []
    for processor in _existing(writing.session, stream, ids):
        revision = processor.revision
        if act(writing, processor).revision != revision:
            changed.append(processor.id)
    return changed


def _existing(session: Session, stream: str, ids: Sequence[str]) -> list[Processor]:
    found: dict[str, Processor] = {}
    flaws = []
    for place, processor_id in enumerate(ids):
        processor = repository.processor_of(session, processor_id)
        if processor is None or processor.state == DELETED or processor.stream != stream:
            flaws.append(
                Flaw(
                    pointer=f"/ids/{place}",
                    detail=f"Stream '{stream}' has no rule '{processor_id}'.",
                    remedy="It may have been deleted meanwhile; leave it out.",
                )
            )
        else:
            found[processor_id] = processor
    if flaws:
        raise invalid("selection", flaws)
    return list(found.values())
