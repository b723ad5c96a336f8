"""A plan → changes at the service, each from the very state that the plan was made from."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import assert_never

from api.client import Client, Conflict, Outdated, Processor, ServiceError
from api.gitops.changes import (
    Action,
    Change,
    Deletion,
    Plan,
    ProcessorChange,
    Step,
    StreamChange,
)
from api.gitops.checking import WantedVersion


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one change went; `error` is `None` if it was made."""

    change: Change
    error: ServiceError | None = None

    @property
    def is_outdated(self) -> bool:
        """Whether somebody else has changed it since the plan was made."""
        return isinstance(self.error, Outdated | Conflict)


def carry_out(
    client: Client, plan: Plan, comment: str, on_outcome: Callable[[Outcome], None]
) -> list[Outcome]:
    """Make every change and return how each went; one that fails does not keep the others back.

    Args:
        client: the service.
        plan: what to do.
        comment: why; kept in the log of the service.
        on_outcome: told of each outcome at once.
    """
    outcomes = []
    for change in plan.changes:
        try:
            _make(client, change, comment)
            outcome = Outcome(change)
        except ServiceError as error:
            outcome = Outcome(change, error)
        on_outcome(outcome)
        outcomes.append(outcome)
    return outcomes


def _make(client: Client, change: Change, comment: str) -> None:
    match change:
        case StreamChange(wanted=wanted, current=None):
            client.register_stream(wanted.place.data, comment=comment)
        case StreamChange(wanted=wanted, current=current):
            assert current is not None  # noqa: S101 - the case above
            client.redefine_stream(wanted.place.data, if_match=current.etag, comment=comment)
        case ProcessorChange():
            _change_processor(client, change, comment)
        case Deletion(current=line):
            client.delete(line.id, if_match=line.etag, comment=comment)
        case _:
            assert_never(change)


def _change_processor(client: Client, change: ProcessorChange, comment: str) -> None:
    processor = change.current
    for step in change.steps:
        if processor is None:
            processor = _create(client, change, step, comment)
        else:
            processor = _take(client, change, step, processor, comment)


def _create(client: Client, change: ProcessorChange, step: Step, comment: str) -> Processor:
    assert step.version is not None  # noqa: S101 - the first step of a new processor
    return client.create(
        change.wanted.body(step.version),
        paused=step.action is Action.CREATE_PAUSED,
        comment=comment,
    )


def _take(
    client: Client, change: ProcessorChange, step: Step, processor: Processor, comment: str
) -> Processor:
    """Take one step and return the processor as it is then; each starts from the one before."""
    name, etag = processor.id, processor.etag
    match step:
        case Step(version=WantedVersion() as version):
            body = change.wanted.body(version)
            return client.replace(body, if_match=etag, comment=comment)
        case Step(number=int(number)):
            return client.cancel(name, number, if_match=etag, comment=comment)
        case Step(action=Action.PAUSE):
            return client.pause(name, if_match=etag, comment=comment)
        case Step(action=Action.RESUME):
            return client.resume(name, if_match=etag, comment=comment)
        case _:
            return client.label(name, if_match=etag, comment=comment, **change.wanted.labels)
