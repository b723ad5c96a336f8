"""A plan → changes at the service, each applied only to the state the plan was made from.

parts of a plan ──► streams and lists one by one, rules of a stream as a set ──► outcomes
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, assert_never

from api.client import Client, Conflict, Outdated, ServiceError, Unreachable
from api.gitops.changes import (
    Action,
    Change,
    ListChange,
    ListDeletion,
    Plan,
    ProcessorChange,
    StreamChange,
)
from api.gitops.rule_sets import Alone, RuleSet, parts_of
from cep.definition.given_lists import UnreadableList
from cep.list_content import list_values

_TOGETHER: Final = "rules of a stream are changed together or not at all"


@dataclass(frozen=True, slots=True)
class ChangeOutcome:
    """The outcome of one change.

    `made` are the actions that were taken, in order: all of them unless there is an `error`, or
    there was no attempt or it was taken back: `not_made` says why. `is_in_set` is whether it was
    made, or was to be, together with the other changes of its stream.
    """

    change: Change
    made: tuple[Action, ...] = ()
    error: ServiceError | None = None
    not_made: str = ""
    is_in_set: bool = False

    @property
    def is_made(self) -> bool:
        """Whether all of it was made."""
        return self.error is None and not self.not_made

    @property
    def is_outdated(self) -> bool:
        """Whether somebody else has changed it since the plan was made."""
        # A list that is not deleted is named by a rule.
        refused = Outdated if isinstance(self.change, ListDeletion) else Outdated | Conflict
        return isinstance(self.error, refused)

    @property
    def perhaps_made(self) -> tuple[Action, ...]:
        """The actions of which it is not known whether they were taken, as there was no answer."""
        if not self.is_unknown:
            return ()
        left = self.change.actions[len(self.made) :]
        return left if self.is_in_set else left[:1]

    @property
    def left(self) -> tuple[Action, ...]:
        """The actions that were not taken."""
        return self.change.actions[len(self.made) + len(self.perhaps_made) :]

    @property
    def is_unknown(self) -> bool:
        """Whether there was no answer, so that it may have been made all the same."""
        return isinstance(self.error, Unreachable)


@dataclass(slots=True)
class Execution:
    """Makes the changes of a plan, all rules of a stream as one set.

    Args:
        client: the service.
        comment: why; kept in the log of the service.
        on_outcome: called with each outcome at once.
        on_note: called with what else is to be told.
    """

    client: Client
    comment: str
    on_outcome: Callable[[ChangeOutcome], None]
    on_note: Callable[[str], None]
    outcomes: list[ChangeOutcome] = field(default_factory=list)

    def carry_out(self, plan: Plan) -> list[ChangeOutcome]:
        """Make every change and return the outcomes; a failure does not prevent those of others.

        But of the rules of a stream all are changed or none; and they are not if the change of the
        stream has failed, or of a list that one of them names. Nothing more is tried once the
        service does not answer.
        """
        for part in parts_of(plan):
            if isinstance(part, RuleSet):
                self._make_together(part)
            else:
                self._make_alone(part)
        return self.outcomes

    def _make_alone(self, change: Alone) -> None:
        reason = _reason_not_to_try(change, self.outcomes)
        self._tell(
            ChangeOutcome(change, not_made=reason)
            if reason
            else _attempted(self.client, change, self.comment)
        )

    def _make_together(self, rules: RuleSet) -> None:
        reasons = [_reason_not_to_try(change, self.outcomes) for change in rules.changes]
        if any(reasons) or self._has_failed(rules.stream):
            for change, reason in zip(rules.changes, reasons, strict=True):
                self._tell(ChangeOutcome(change, not_made=reason or _TOGETHER, is_in_set=True))
            return
        try:
            epoch = rules.send(self.client, self.comment)
        except ServiceError as error:
            self._tell_refused(rules, error)
            return
        for change in rules.changes:
            self._tell(ChangeOutcome(change, change.actions, is_in_set=True))
        if epoch is not None:
            more = "" if rules.is_last else "; more than fits into a set, so others follow"
            self.on_note(f"Stream {rules.stream}: epoch {epoch}{more}")

    def _tell_refused(self, rules: RuleSet, error: ServiceError) -> None:
        refusals = rules.refusals(error)
        if not any(refusals):  # it is not about single rules
            refusals = [error] * len(refusals)
        for change, refusal in zip(rules.changes, refusals, strict=True):
            reason = "" if refusal else _TOGETHER
            self._tell(ChangeOutcome(change, error=refusal, not_made=reason, is_in_set=True))

    def _has_failed(self, stream: str) -> bool:
        """Return whether a set of the stream has failed, of which this is another part."""
        return any(
            each.is_in_set and each.change.stream == stream and not each.is_made
            for each in self.outcomes
        )

    def _tell(self, outcome: ChangeOutcome) -> None:
        self.on_outcome(outcome)
        self.outcomes.append(outcome)


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


def _attempted(client: Client, change: Alone, comment: str) -> ChangeOutcome:
    made: list[Action] = []
    try:
        for action in _taken(client, change, comment):
            made.append(action)  # noqa: PERF402 - what was taken before an error counts
    except ServiceError as error:
        return ChangeOutcome(change, tuple(made), error)
    except UnreadableList as error:
        return ChangeOutcome(change, tuple(made), not_made=f"{error}")
    return ChangeOutcome(change, tuple(made))


def _taken(client: Client, change: Alone, comment: str) -> Iterator[Action]:
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
