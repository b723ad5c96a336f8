"""The rules of a stream in a plan → change sets: all of them are changed as one epoch, or none.

    Plan ──► parts_of ──► a stream or a list by itself │ RuleSet ──► change_rules ──► outcomes

A set takes what its rules need one by one, in the same order; what is refused of it has its place.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from api.client import Client, Flaw, ServiceError
from api.client.change_sets import RuleChange
from api.gitops.changes import (
    Action,
    Deletion,
    ListChange,
    ListDeletion,
    Plan,
    PlannedRequest,
    ProcessorChange,
    StreamChange,
)
from api.gitops.checking import WantedVersion
from contract.service.change_sets import MOST_CHANGES

MOST_BYTES: Final = 1_000_000
"""So long are the changes of a set; a service takes twice as much unless it is told otherwise."""

_DOCUMENT: Final = "/document"
_PLACE: Final = re.compile(r"^/changes/(\d+)")

OfRule = ProcessorChange | Deletion
Alone = StreamChange | ListChange | ListDeletion
"""What is changed by a request of its own."""


@dataclass(frozen=True, slots=True)
class RuleSet:
    """Changes of rules of one stream that are made together; `is_last` = no more of it follow."""

    stream: str
    changes: tuple[OfRule, ...]
    requests: tuple[tuple[RuleChange, ...], ...]
    is_last: bool = True

    def send(self, client: Client, comment: str) -> int | None:
        """Make all of it and return the epoch; `None` if nothing that runs has changed.

        Raises:
            ServiceError: the service refuses it, and has changed nothing, or does not answer.
        """
        requests = [request for each in self.requests for request in each]
        return client.change_rules(self.stream, requests, comment=comment).epoch

    def refusals(self, error: ServiceError) -> list[ServiceError | None]:
        """Return for each change why the service refuses it; `None` for what it says nothing of."""
        places = [at for at, each in enumerate(self.requests) for _ in each]
        found: list[list[Flaw]] = [[] for _ in self.changes]
        for flaw in error.flaws:
            place = _PLACE.match(flaw.pointer)
            if place is None or int(place[1]) >= len(places):
                continue
            inside = flaw.model_copy(update={"pointer": flaw.pointer[place.end() :]})
            found[places[int(place[1])]].append(inside)
        return [_error_of(error, flaws) if flaws else None for flaws in found]


def parts_of(plan: Plan) -> Iterator[Alone | RuleSet]:
    """Yield the parts of a plan in the order in which they are made.

    Rules of one stream are one set, or as many as they need if they are more than it takes.
    """
    before: list[Alone] = []
    after: list[Alone] = []
    rules: dict[str, list[OfRule]] = {}
    for change in plan.changes:
        if isinstance(change, ProcessorChange | Deletion):
            rules.setdefault(change.stream, []).append(change)
        else:
            (after if isinstance(change, ListDeletion) else before).append(change)
    yield from before
    for stream, changes in rules.items():
        yield from _sets(stream, changes)
    yield from after


def _sets(stream: str, changes: Sequence[OfRule]) -> Iterator[RuleSet]:
    waiting: list[tuple[OfRule, tuple[RuleChange, ...]]] = []
    count = size = 0
    for change in changes:
        requests = tuple(_requests(change))
        length = len(json.dumps(requests))
        if waiting and (count + len(requests) > MOST_CHANGES or size + length > MOST_BYTES):
            yield _set(stream, waiting, is_last=False)
            waiting, count, size = [], 0, 0
        waiting.append((change, requests))
        count, size = count + len(requests), size + length
    yield _set(stream, waiting, is_last=True)


def _set(
    stream: str, waiting: Sequence[tuple[OfRule, tuple[RuleChange, ...]]], *, is_last: bool
) -> RuleSet:
    changes, requests = zip(*waiting, strict=True)
    return RuleSet(stream, changes, requests, is_last)


def _requests(change: OfRule) -> Iterator[RuleChange]:
    if isinstance(change, Deletion):
        yield {"action": "delete", "id": change.name, "based_on": change.current.revision}
        return
    current = change.current
    for place, step in enumerate(change.steps):
        request = _request(change, step)
        if place == 0 and current is not None:
            request["based_on"] = current.revision
        yield request


def _request(change: ProcessorChange, step: PlannedRequest) -> RuleChange:
    match step:
        case PlannedRequest(action=action, version=WantedVersion() as version):
            document = change.wanted.body(version)
            if action is Action.VERSION:
                return {"action": "replace", "document": document}
            paused = action is Action.CREATE_PAUSED
            return {"action": "create", "document": document, "paused": paused}
        case PlannedRequest(number=int(number)):
            return {"action": "cancel", "id": change.name, "version": number}
        case PlannedRequest(action=Action.PAUSE):
            return {"action": "pause", "id": change.name}
        case PlannedRequest(action=Action.RESUME):
            return {"action": "resume", "id": change.name}
        case _:
            return {"action": "label", "id": change.name, "labels": change.wanted.labels}


def _error_of(error: ServiceError, flaws: Sequence[Flaw]) -> ServiceError:
    """Return what is said of one change as the service would have said it of it alone."""
    inside = tuple(
        flaw.model_copy(update={"pointer": flaw.pointer.removeprefix(_DOCUMENT)})
        for flaw in flaws
        if flaw.pointer.startswith(_DOCUMENT)
    )
    detail = "The document is wrong." if inside else flaws[0].detail
    return type(error)(detail, status=error.status, flaws=inside, request_id=error.request_id)
