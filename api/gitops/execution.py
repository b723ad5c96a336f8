"""A plan → changes at the service, each applied only to the state the plan was made from."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import assert_never

from api.client import Client, Conflict, Outdated, Processor, ServiceError, Unreachable
from api.gitops.changes import (
    Action,
    Change,
    Deletion,
    ListChange,
    ListDeletion,
    Plan,
    PlannedRequest,
    ProcessorChange,
    StreamChange,
)
from api.gitops.checking import WantedVersion
from cep.definition.given_lists import UnreadableList
from cep.list_content import list_values


@dataclass(frozen=True, slots=True)
class ChangeOutcome:
    """The outcome of one change.

    `made` are the actions that were taken, in order: all of them unless there is an `error`, or it
    was not tried: `not_tried` says why.
    """

    change: Change
    made: tuple[Action, ...] = ()
    error: ServiceError | None = None
    not_tried: str = ""

    @property
    def is_made(self) -> bool:
        """Whether all of it was made."""
        return self.error is None and not self.not_tried

    @property
    def is_outdated(self) -> bool:
        """Whether somebody else has changed it since the plan was made."""
        # A list that is not deleted is named by a rule.
        refused = Outdated if isinstance(self.change, ListDeletion) else Outdated | Conflict
        return isinstance(self.error, refused)

    @property
    def left(self) -> tuple[Action, ...]:
        """The actions that were not taken; of the first it is not known if `is_unknown`."""
        return self.change.actions[len(self.made) :]

    @property
    def is_unknown(self) -> bool:
        """Whether there was no answer, so that the action may have been taken all the same."""
        return isinstance(self.error, Unreachable)


def carry_out(
    client: Client, plan: Plan, comment: str, on_outcome: Callable[[ChangeOutcome], None]
) -> list[ChangeOutcome]:
    """Make every change and return the outcomes; a failure does not prevent the others.

    But what is planned for a stream whose own change has failed is not tried, nor a rule that names
    a list whose change has, nor anything more once the service does not answer.

    Args:
        client: the service.
        plan: what to do.
        comment: why; kept in the log of the service.
        on_outcome: called with each outcome at once.
    """
    outcomes: list[ChangeOutcome] = []
    for change in plan.changes:
        if reason := _reason_not_to_try(change, outcomes):
            outcome = ChangeOutcome(change, not_tried=reason)
        else:
            outcome = _attempted(client, change, comment)
        on_outcome(outcome)
        outcomes.append(outcome)
    return outcomes


def _reason_not_to_try(change: Change, before: list[ChangeOutcome]) -> str:
    if any(outcome.is_unknown for outcome in before):
        return "the service does not answer"
    for outcome in before:
        is_of_stream = isinstance(outcome.change, StreamChange)
        if is_of_stream and outcome.change.stream == change.stream and not outcome.is_made:
            return f"stream {change.stream} is not as planned"
        if not outcome.is_made and _is_named(outcome.change, change):
            return f"list {outcome.change.name} is not as planned"
    return ""


def _is_named(listed: Change, change: Change) -> bool:
    """Return whether a change publishes a rule that names a list."""
    if not isinstance(listed, ListChange) or not isinstance(change, ProcessorChange):
        return False
    patterns = (version.pattern for version in change.wanted.versions)
    is_of_stream = listed.stream == change.stream
    return is_of_stream and any(listed.wanted.name in each.list_names for each in patterns)


def _attempted(client: Client, change: Change, comment: str) -> ChangeOutcome:
    made: list[Action] = []
    try:
        for action in _taken(client, change, comment):
            made.append(action)  # noqa: PERF402 - what was taken before an error counts
    except ServiceError as error:
        return ChangeOutcome(change, tuple(made), error)
    except UnreadableList as error:
        return ChangeOutcome(change, tuple(made), not_tried=f"{error}")
    return ChangeOutcome(change, tuple(made))


def _taken(client: Client, change: Change, comment: str) -> Iterator[Action]:
    """Yield the actions of a change, each once it has been taken."""
    match change:
        case StreamChange(wanted=wanted, current=None):
            client.register_stream(wanted.place.data, comment=comment)
            yield from change.actions
        case StreamChange(wanted=wanted, current=current):
            assert current is not None  # noqa: S101 - the case above
            client.redefine_stream(wanted.place.data, if_match=current.etag, comment=comment)
            yield from change.actions
        case ListChange():
            yield from _change_list(client, change, comment)
        case ListDeletion(current=line):
            lists = client.lists(line.stream)
            lists.delete(line.name, if_match=line.etag, comment=comment)
            yield from change.actions
        case ProcessorChange(current=processor):
            for step in change.steps:
                if processor is None:
                    processor = _create(client, change, step, comment)
                else:
                    processor = _take(client, change, step, processor, comment)
                yield step.action
        case Deletion(current=line):
            client.delete(line.id, if_match=line.etag, comment=comment)
            yield from change.actions
        case _:
            assert_never(change)


def _change_list(client: Client, change: ListChange, comment: str) -> Iterator[Action]:
    lists, wanted = client.lists(change.stream), change.wanted
    name, current = wanted.name, change.current
    for action in change.actions:
        if current is None:
            description = wanted.document.description
            current = lists.create(name, wanted.data_type, description=description, comment=comment)
        elif action is Action.DESCRIBE:
            description, etag = wanted.document.description, current.etag
            current = lists.describe(name, description, if_match=etag, comment=comment)
        else:
            given = wanted.given()
            assert given is not None  # noqa: S101 - planned only of a list with values
            values = list_values(given.data_type, given.content)
            current = lists.put(name, values, if_match=current.etag, comment=comment)
        yield action


def _create(
    client: Client, change: ProcessorChange, step: PlannedRequest, comment: str
) -> Processor:
    assert step.version is not None  # noqa: S101 - the first step of a new processor
    return client.create(
        change.wanted.body(step.version),
        paused=step.action is Action.CREATE_PAUSED,
        comment=comment,
    )


def _take(
    client: Client,
    change: ProcessorChange,
    step: PlannedRequest,
    processor: Processor,
    comment: str,
) -> Processor:
    """Take one step and return the changed processor, from which the next step starts."""
    name, etag = processor.id, processor.etag
    match step:
        case PlannedRequest(version=WantedVersion() as version):
            body = change.wanted.body(version)
            return client.replace(body, if_match=etag, comment=comment)
        case PlannedRequest(number=int(number)):
            return client.cancel(name, number, if_match=etag, comment=comment)
        case PlannedRequest(action=Action.PAUSE):
            return client.pause(name, if_match=etag, comment=comment)
        case PlannedRequest(action=Action.RESUME):
            return client.resume(name, if_match=etag, comment=comment)
        case _:
            return client.label(name, if_match=etag, comment=comment, **change.wanted.labels)
