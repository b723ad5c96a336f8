"""From the body of a change set to checked changes, before any transaction for writing begins.

body ─► fields of each action ─► roles ─► what each is based on ─► documents ─► CheckedSet

Each step tells all that is wrong in it, in every change.
"""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any, Final

from fastapi import Path
from starlette.concurrency import run_in_threadpool

from api.access.authentication import Author, Principal
from api.change_sets.refusals import Refused, require_none
from api.processors.checks import CheckedDocument
from api.processors.parameter_endpoints import changed_values
from api.processors.publishing import check_alone, verify_version
from api.processors.service import require_no_schedule
from api.runtime import CurrentRuntime, Runtime
from api.streams.service import existing_stream
from api.web.preconditions import quoted
from api.web.problems import Refusal, invalid
from cep.definition.document import StreamName
from contract.service.change_sets import Action, ChangeSet, RuleChange
from contract.service.problems import Flaw
from contract.service.tokens import Role

CHECK_SECONDS: Final = 60.0
"""So long the documents of a set may take, whose examples are run one after the other."""

_TAKES: Final[Mapping[Action, tuple[frozenset[str], frozenset[str]]]] = {
    "create": (frozenset({"document"}), frozenset({"paused", "shadow"})),
    "publish": (frozenset({"document"}), frozenset({"paused", "based_on"})),
    "replace": (frozenset({"document"}), frozenset({"based_on"})),
    "set_parameters": (frozenset({"id", "values"}), frozenset({"based_on"})),
    "label": (frozenset({"id", "labels"}), frozenset({"based_on"})),
    "pause": (frozenset({"id"}), frozenset({"based_on"})),
    "resume": (frozenset({"id"}), frozenset({"based_on"})),
    "rollback": (frozenset({"id", "version"}), frozenset({"based_on"})),
    "cancel": (frozenset({"id", "version"}), frozenset({"based_on"})),
    "delete": (frozenset({"id"}), frozenset({"based_on"})),
    "start_rollout": (frozenset({"document"}), frozenset({"share_percent", "based_on"})),
    "share_rollout": (frozenset({"id", "share_percent"}), frozenset({"based_on"})),
    "promote_rollout": (frozenset({"id"}), frozenset({"based_on"})),
    "end_rollout": (frozenset({"id"}), frozenset({"based_on"})),
}
"""By action: which fields it needs, and which it may have."""
_FOR_AUTHORS: Final = frozenset({"create", "publish", "replace", "set_parameters", "label"})
"""Some of these need a publisher all the same if what they change runs, see `making`."""


@dataclass(frozen=True, slots=True)
class CheckedChange:
    """A change with its checked document, if it has one.

    `made_from` is the tag of the state that was read for other values of parameters; `is_first` is
    whether no change before it in the set is of the same rule.
    """

    change: RuleChange
    is_first: bool
    checked: CheckedDocument | None = None
    made_from: str | None = None


@dataclass(frozen=True, slots=True)
class CheckedSet:
    """A change set of which everything is checked that can be before the transaction."""

    stream: str
    principal: Principal
    changes: tuple[CheckedChange, ...]


async def checked_set(
    stream: Annotated[StreamName, Path()],
    body: ChangeSet,
    principal: Author,
    runtime: CurrentRuntime,
) -> CheckedSet:
    """Return the body, its documents checked as a publish would check them.

    Raises:
        Refusal: no such stream (404), fields that do not fit, or a wrong document (422), a change
            that the role may not make (403), or no `based_on` (428).
        Overloaded: it has examples, and there was no turn to run them.
    """
    await run_in_threadpool(_require_stream, stream, runtime)
    changes = body.changes
    firsts = _firsts(changes)
    require_none([each for place, change in enumerate(changes) for each in _misfits(place, change)])
    require_none([*_not_allowed(changes, principal)])
    require_none([*_without_base(changes, firsts)])
    found: list[CheckedChange] = []
    refused: list[Refused] = []
    give_up = time.monotonic() + CHECK_SECONDS
    for place, change in enumerate(changes):
        try:
            if time.monotonic() > give_up:
                raise _too_slow()
            checked = await _checked(stream, change, principal, runtime, is_first=firsts[place])
            found.append(checked)
        except Refusal as refusal:
            refused.append(Refused(place, refusal, _inside(change)))
            if time.monotonic() > give_up:
                break
    require_none(refused)
    return CheckedSet(stream, principal, tuple(found))


async def _checked(
    stream: str, change: RuleChange, principal: Principal, runtime: Runtime, *, is_first: bool
) -> CheckedChange:
    if change.document is not None:
        other = _flaws_of_stream(change.document, stream)
        checked = await check_alone(change.document, principal, runtime, other)
        if change.shadow or change.action == "start_rollout":
            require_no_schedule(checked)
        return CheckedChange(change, is_first, checked)
    if change.values is not None:
        if_match = tag_of_base(change)
        changed = await changed_values(
            change.rule, change.values, principal, runtime, if_match, check_alone
        )
        return CheckedChange(change, is_first, changed.checked, changed.made_from)
    if change.action == "rollback" and change.version is not None:
        await run_in_threadpool(verify_version, change.rule, change.version, runtime)
    return CheckedChange(change, is_first)


def tag_of_base(change: RuleChange) -> str | None:
    """Return what a change is based on as If-Match has it; `None` if it says nothing."""
    if change.based_on is None:
        return None
    return "*" if change.based_on == "*" else quoted(str(change.based_on))


def _require_stream(stream: str, runtime: Runtime) -> None:
    with runtime.database.reading() as session:
        existing_stream(session, stream)


def _flaws_of_stream(document: Mapping[str, Any], stream: str) -> list[Flaw]:
    written = document.get("stream")
    if not isinstance(written, str) or written == stream:
        return []
    detail = f"The rule is of stream '{written}', but this changes rules of '{stream}'."
    return [Flaw(pointer="/stream", detail=detail, remedy="A set is of one stream; send another.")]


def _firsts(changes: list[RuleChange]) -> list[bool]:
    """Return of each change whether it is the first one of its rule."""
    seen: set[str] = set()
    firsts = []
    for change in changes:
        firsts.append(change.rule not in seen)
        seen.add(change.rule)
    return firsts


def _misfits(place: int, change: RuleChange) -> Iterator[Refused]:
    needed, allowed = _TAKES[change.action]
    given = change.model_fields_set - {"action"}
    given = {name for name in given if getattr(change, name) is not None}
    flaws = [
        Flaw(pointer=f"/{name}", detail=f"'{change.action}' needs it.", remedy="Add it.")
        for name in sorted(needed - given)
    ]
    takes = ", ".join(sorted(needed | allowed))
    flaws += [
        Flaw(
            pointer=f"/{name}",
            detail=f"'{change.action}' does not take it, but {takes}.",
            remedy="Leave it out, or choose another action.",
        )
        for name in sorted(given - needed - allowed)
    ]
    if change.paused and change.shadow:
        flaws.append(
            Flaw(
                pointer="/shadow",
                detail="What is paused does not run.",
                remedy="Create it paused or in shadow.",
            )
        )
    if flaws:
        yield Refused(place, invalid("change set", flaws))


def _not_allowed(changes: list[RuleChange], principal: Principal) -> Iterator[Refused]:
    if principal.has(Role.PUBLISHER):
        return
    for place, change in enumerate(changes):
        if change.action not in _FOR_AUTHORS:
            detail = f"'{change.action}' is not for your role ({principal.role}) but publishers."
            yield Refused(place, Refusal(HTTPStatus.FORBIDDEN, detail))


def _without_base(changes: list[RuleChange], firsts: list[bool]) -> Iterator[Refused]:
    for place, (change, is_first) in enumerate(zip(changes, firsts, strict=True)):
        if not is_first and change.based_on is not None:
            detail = "A change before it in the set is of the same rule; this one is based on that."
            flaw = Flaw(pointer="/based_on", detail=detail, remedy="Leave it out.")
            yield Refused(place, invalid("change set", [flaw]))
        elif not is_first and change.action == "set_parameters":
            detail = (
                "A change before it in the set is of the same rule, so its values are not known."
            )
            remedy = "Make it the first one of its rule, or send the whole document (replace)."
            flaw = Flaw(pointer="/values", detail=detail, remedy=remedy)
            yield Refused(place, invalid("change set", [flaw]))
        elif is_first and change.based_on is None and change.action not in {"create", "publish"}:
            yield Refused(place, without_base())


def without_base() -> Refusal:
    """Return the refusal of a change that does not say what it is based on (428)."""
    flaw = Flaw(
        pointer="/based_on",
        detail="It does not say which revision of the rule it was made from.",
        remedy="Give the revision (the ETag) that was read, or '*' to overwrite.",
    )
    return Refusal(HTTPStatus.PRECONDITION_REQUIRED, flaw.detail, [flaw])


def _too_slow() -> Refusal:
    detail = f"The documents before it took {CHECK_SECONDS:g} seconds to check, which is the limit."
    flaw = Flaw(pointer="", detail=detail, remedy="Send fewer at once, or with fewer examples.")
    return invalid("change set", [flaw])


def _inside(change: RuleChange) -> str:
    """Return where in a change the flaws of its check have their places."""
    if change.document is not None:
        return "/document"
    return "/values" if change.values is not None else ""
