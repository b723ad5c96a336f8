"""The first link of the chain from events to matches: whether a rule is published, and for when.

RuleFacts ──publication──► DiagnosisLine
"""

from collections.abc import Sequence
from dataclasses import dataclass

from cep.instants import iso_text
from contract.service.diagnosis import DiagnosisLine, Link, LinkState
from contract.service.processors import PublishedVersion


@dataclass(frozen=True, slots=True)
class RuleFacts:
    """What the service knows of a rule.

    `state` is that of the processor, `tried` the version of a rollout.
    """

    state: str
    published: Sequence[PublishedVersion]
    tried: int | None


def publication(rule: RuleFacts, now_ms: int) -> DiagnosisLine:
    """Return whether a rule is published, and whether for now."""
    if rule.state == "deleted":
        return line("rule", "attention", "The rule is deleted", "", "Restore it to run it again.")
    if rule.state == "paused":
        detail = "No job runs a paused rule; its partial matches were dropped."
        return line("rule", "attention", "The rule is paused", detail, "Resume it.")
    return _schedule(rule, now_ms) if rule.published else _unpublished(rule)


def _unpublished(rule: RuleFacts) -> DiagnosisLine:
    if rule.tried is None:
        return line("rule", "attention", "No version is published", "", "Publish one.")
    return line(
        "rule",
        "attention",
        f"Version {rule.tried} is only on trial",
        "Its matches in shadow do not count and are sent only to outputs that include shadow.",
        "Promote it.",
    )


def _schedule(rule: RuleFacts, now_ms: int) -> DiagnosisLine:
    begins = [version.effective_from for version in rule.published]
    soonest = min(begins, key=lambda time_ms: time_ms or 0)
    if soonest is not None and soonest > now_ms and None not in begins:
        title = f"It takes effect at {iso_text(soonest)}"
        detail = "Events before that time are not matched."
        return line("rule", "attention", title, detail, "Wait, or publish it without a start.")
    ends = [version.effective_until for version in rule.published]
    last = max((end for end in ends if end is not None), default=None)
    if last is not None and None not in ends and last <= now_ms:
        title = f"It ended at {iso_text(last)}"
        return line("rule", "attention", title, "", "Publish it with a later end, or without one.")
    return line("rule", "ok", "The rule is published")


def line(  # noqa: PLR0913, PLR0917 - what a line says, in its order
    link: Link,
    state: LinkState,
    title: str,
    detail: str = "",
    remedy: str = "",
    at: int | None = None,
) -> DiagnosisLine:
    """Return a line; in which job is added where there is one."""
    return DiagnosisLine(
        link=link, state=state, job=None, title=title, detail=detail, remedy=remedy, at=at
    )
