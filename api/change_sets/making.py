"""A checked change set is made in one transaction, and as one epoch; or tried, and taken back.

make ──────► what each is based on ─► one change after the other, by the services of single ones
rehearse ──► the same, and back

The first change that is refused ends it, and with it the transaction: nothing was changed.
"""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus

from api.change_sets.checking import CheckedChange, CheckedSet, tag_of_base, without_base
from api.change_sets.refusals import Refused, require_none
from api.processors import creation, repository, service, views
from api.processors.checks import CheckedDocument
from api.processors.publishing import may_publish, warned_of_same
from api.processors.service import Published
from api.processors.tables import Processor
from api.rollouts import service as rollouts
from api.streams.service import locked_stream
from api.transactions import Writing
from api.web.preconditions import names_tag
from api.web.problems import Refusal, invalid, not_found
from contract.service.change_sets import RuleChange, RuleChanged
from contract.service.problems import Flaw
from contract.service.processors import DELETED, PAUSED, Difference


def make(
    writing: Writing, given: CheckedSet, *, tells_differences: bool = False
) -> list[RuleChanged]:
    """Make all changes of a set, as one epoch, and return what each has changed.

    Args:
        writing: the transaction.
        given: the changes, checked.
        tells_differences: whether to tell how each new version differs from the one before.

    Raises:
        Refusal: as the single change would be refused, with its place; none is made then.
    """
    locked_stream(writing, given.stream)
    writing.one_epoch = True
    require_none([*_outdated(writing, given)])
    results = []
    for place, each in enumerate(given.changes):
        try:
            results.append(_Change(writing, given, each).make(tells_differences=tells_differences))
        except Refusal as refusal:
            require_none([Refused(place, refusal)])
    return results


def rehearse(writing: Writing, given: CheckedSet) -> list[RuleChanged]:
    """Return what a set would change; everything is made and taken back.

    Raises:
        Refusal: as `make` would refuse it.
    """
    # A copy with nothing to tell: no metric counts it, and no reader is woken.
    alone = dataclasses.replace(writing, new_epochs={}, actions=[])
    savepoint = writing.session.begin_nested()
    try:
        return make(alone, given, tells_differences=True)
    finally:
        savepoint.rollback()


def _outdated(writing: Writing, given: CheckedSet) -> Iterator[Refused]:
    """Yield what is not based on its rule as it is: all of it, before anything is changed."""
    for place, each in enumerate(given.changes):
        change = each.change
        if not each.is_first or change.action == "create":
            continue
        rule = _rule_of(writing, given.stream, change)
        if rule is None or (rule.state == DELETED and change.action != "rollback"):
            if change.action != "publish" or isinstance(change.based_on, int):
                yield Refused(place, _not_there(given.stream, change, rule))
            continue
        base = tag_of_base(change)
        if base is None:
            yield Refused(place, without_base())
        elif not names_tag(base, service.etag(rule)) or each.made_from not in {
            None,
            service.etag(rule),
        }:
            yield Refused(place, _changed_since(rule))


@dataclass(frozen=True, slots=True)
class _Before:
    """What a rule was before a change."""

    state: str | None = None
    revision: int = 0
    version: int = 0
    latest_version: int = 0


@dataclass(frozen=True, slots=True)
class _Change:
    """One change under way."""

    writing: Writing
    given: CheckedSet
    each: CheckedChange

    def make(self, *, tells_differences: bool) -> RuleChanged:
        """Make it and return what it has changed.

        Raises:
            Refusal: as the single change would be refused.
        """
        there = _rule_of(self.writing, self.given.stream, self.each.change)
        before = _Before()
        if there is not None:
            is_there = there.state != DELETED
            state = views.state_at(there, self.writing.now_ms) if is_there else None
            before = _Before(state, there.revision, there.current_version, there.latest_version)
        checked = self.each.checked
        if checked is not None:
            checked = warned_of_same(self.writing.session, checked)
        done = self._made(there, checked)
        self.writing.session.flush()
        return self._report(before, done, checked, tells_differences=tells_differences)

    def _made(self, there: Processor | None, checked: CheckedDocument | None) -> Published:
        if checked is not None:
            return self._made_of_document(there, checked)
        processor = self._existing(there)
        if self.each.change.action.endswith("_rollout"):
            return _with_rollout(self.writing, processor, self.each.change)
        return _changed(self.writing, processor, self.each.change)

    def _made_of_document(self, there: Processor | None, checked: CheckedDocument) -> Published:
        change, principal = self.each.change, self.given.principal
        is_there = there is not None and there.state != DELETED
        if change.action == "create" or (change.action == "publish" and not is_there):
            may_publish(principal, paused=bool(change.paused))
            if change.shadow:
                return Published(creation.create_in_shadow(self.writing, checked))
            return Published(creation.create(self.writing, checked, paused=bool(change.paused)))
        processor = self._existing(there)
        if change.action == "start_rollout":
            share = _parts(change.share_percent or 0)
            rollouts.start(self.writing, processor, checked, share)
            return Published(processor)
        if change.paused:
            remedy = "Leave it out, and pause the rule by a change of its own."
            flaw = Flaw(pointer="/paused", detail="The rule is there already.", remedy=remedy)
            raise invalid("change set", [flaw])
        published = service.replace(self.writing, processor, checked)
        may_publish(principal, paused=processor.state == PAUSED)
        return published

    def _existing(self, there: Processor | None) -> Processor:
        change = self.each.change
        if there is None or (there.state == DELETED and change.action != "rollback"):
            raise _not_there(self.given.stream, change, there)
        return there

    def _report(
        self,
        before: _Before,
        done: Published,
        checked: CheckedDocument | None,
        *,
        tells_differences: bool,
    ) -> RuleChanged:
        after = done.processor
        added = after.latest_version if after.latest_version > before.latest_version else None
        differences: list[Difference] | None = None
        if tells_differences and added is not None and before.version:
            compared = views.comparison(self.writing.session, after, before.version, added)
            differences = compared.differences
        return RuleChanged.model_validate(
            {
                "action": self.each.change.action,
                "id": after.id,
                "is_changed": after.revision != before.revision,
                "state_before": before.state,
                "state": views.state_at(after, self.writing.now_ms),
                "revision": after.revision,
                "version": after.current_version,
                "added_version": added,
                "withdrawn": list(done.withdrawn),
                "warnings": [] if checked is None else list(checked.warnings),
                "differences": differences,
            }
        )


def _changed(writing: Writing, processor: Processor, change: RuleChange) -> Published:
    """Make a change that has no document."""
    match change.action:
        case "label" if change.labels is not None:
            service.label(writing, processor, change.labels)
        case "pause":
            service.pause(writing, processor)
        case "resume":
            service.resume(writing, processor)
        case "rollback" if change.version is not None:
            return service.roll_back(writing, processor, change.version)
        case "cancel" if change.version is not None:
            service.cancel(writing, processor, change.version)
        case "delete":
            service.delete(writing, processor)
        case _:
            raise AssertionError(f"{change.action} was not checked")
    return Published(processor)


def _with_rollout(writing: Writing, processor: Processor, change: RuleChange) -> Published:
    """Make a change of the version that is tried."""
    match change.action:
        case "share_rollout" if change.share_percent is not None:
            rollouts.set_share(writing, processor, _parts(change.share_percent))
        case "promote_rollout":
            return rollouts.promote(writing, processor)
        case "end_rollout":
            rollouts.end(writing, processor)
        case _:
            raise AssertionError(f"{change.action} was not checked")
    return Published(processor)


def _rule_of(writing: Writing, stream: str, change: RuleChange) -> Processor | None:
    """Return the rule of a change, deleted or not; `None` if the stream has none of that id."""
    rule = repository.processor_of(writing.session, change.rule)
    return None if rule is None or rule.stream != stream else rule


def _not_there(stream: str, change: RuleChange, rule: Processor | None) -> Refusal:
    if rule is not None:
        return service.deleted(rule)
    return not_found("rule", change.rule, of=f"stream '{stream}'")


def _changed_since(rule: Processor) -> Refusal:
    flaw = Flaw(
        pointer="/based_on",
        detail=f"Rule '{rule.id}' has changed since: it has revision {service.etag(rule)}.",
        remedy="Load it again and repeat your change.",
    )
    return Refusal(HTTPStatus.PRECONDITION_FAILED, flaw.detail, [flaw])


def _parts(share_percent: float) -> int:
    return round(share_percent * 100)
