"""What files want of a processor and what is published of it → the steps in between, with a diff.

Spelling and the order of keys are no difference: both sides are brought into one form first.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from typing import Any, Final

from api.client import Client, Processor
from api.gitops.changes import Action, PlannedRequest
from api.gitops.checking import LABELS, WantedProcessor, content_of, labels_of
from cep.definition.document import ProcessorDocument
from cep.definition.text import in_order_of, in_usual_order
from cep.pattern import Pattern
from cep.pattern.document.yaml_writing import yaml_text

_CONTEXT_LINES: Final = 2
_LONGEST_LINE: Final = 160


@dataclass(frozen=True, slots=True)
class Published:
    """What jobs are given of a processor, in one spelling; numbers are those of the versions."""

    numbers: list[int]
    contents: list[dict[str, Any]]
    labels: dict[str, Any]

    @classmethod
    def of(cls, client: Client, processor: Processor) -> "Published":
        """Return what is published of a processor.

        Raises:
            ServiceError: the service does not answer.
        """
        read = [ProcessorDocument.model_validate(d) for d in published_documents(client, processor)]
        return cls(
            [published.version for published in processor.published],
            [content_of(each, Pattern.from_document(each.pattern)) for each in read],
            labels_of(read[0]),
        )


def published_documents(client: Client, processor: Processor) -> list[dict[str, Any]]:
    """Return the documents that would publish a processor again, with the labels of today in each.

    There is one for each published version, lowest first. A version that was cancelled is not among
    them, even if it is the newest.

    Raises:
        ServiceError: the service does not answer.
    """
    labels = {key: value for key, value in processor.document.items() if key in LABELS}
    common = {"id": processor.id, "stream": processor.stream, **labels}
    return [
        processor.document
        if published.version == processor.version
        else common | client.version(processor.id, published.version).document
        for published in processor.published
    ]


def steps_between(
    wanted: WantedProcessor, current: Processor, there: Published
) -> Iterator[PlannedRequest]:
    """Yield what is to be done: pausing first and resuming last, so that nothing runs in between.

    A version that stays keeps its number; what is new gets higher ones, since of the versions whose
    time has come the highest runs. Where documents speak of later versions only, what runs until
    then is left alone.
    """
    if wanted.paused is True and not current.is_paused:
        yield PlannedRequest(Action.PAUSE)
    waiting = list(wanted.versions)
    only_later = "effective_from" in waiting[0].content
    stale = []
    for number, content in zip(there.numbers, there.contents, strict=True):
        if waiting and content == waiting[0].content:
            waiting.pop(0)
        elif "effective_from" in content or not only_later:
            stale.append(number)
    yield from (PlannedRequest(Action.VERSION, version) for version in waiting)
    # A version for now has ended all others.
    if not waiting or "effective_from" in waiting[0].content:
        yield from (PlannedRequest(Action.CANCEL, number=number) for number in stale)
    if not waiting and there.labels != wanted.labels:
        yield PlannedRequest(Action.LABELS)
    if wanted.paused is False and current.is_paused:
        yield PlannedRequest(Action.RESUME)


def processor_diff(there: Published, wanted: WantedProcessor) -> tuple[str, ...]:
    """Return how a processor differs from what is published, by the keys of its files."""
    after = _shown(wanted.labels, [version.content for version in wanted.versions])
    like = {document.get("effective_from"): document for document in after}
    before = [
        in_order_of(document, like.get(document.get("effective_from"), after[0]))
        for document in _shown(there.labels, there.contents)
    ]
    return text_diff(before, after)


def text_diff(
    before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]
) -> tuple[str, ...]:
    """Return the lines of YAML that differ, with some around them; long ones are cut."""
    old, new = (yaml_text(documents).splitlines() for documents in (before, after))
    lines = list(unified_diff(old, new, n=_CONTEXT_LINES, lineterm=""))[2:]
    return tuple(_cut(line) for line in lines)


def _shown(labels: dict[str, Any], contents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    given = {key: value for key, value in labels.items() if value}
    return [in_usual_order(given | contents[0]), *contents[1:]]


def _cut(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - 1]}…"
