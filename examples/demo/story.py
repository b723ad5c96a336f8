"""The changes of rules during the replay, by event time.

ACTS ──► replay.py (does them) ──► verification.py (what each version should have found)

Every act is in a period without matches of its rule, from `at` to `before`. So the matches of each
version do not depend on the speed of the machine and can be checked exactly.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from cep.instants import instant_ms
from contract.reports import RunningState
from examples.demo import rules
from examples.demo.events import STREAM
from examples.demo.rules import Rule
from examples.demo.team import Team
from examples.demo.tried import Difference
from percept.client import RolloutClient

_REPORTED_SECONDS: Final = 15


class Deed(StrEnum):
    """What is done to a rule."""

    PUBLISH = "publish"
    PAUSE = "pause"
    RESUME = "resume"
    SHADOW = "shadow"
    """Run a version beside the published one; what it finds does not count."""
    PROMOTE = "promote"
    """Publish the version that runs in shadow."""
    LIST = "list"
    """Give the list that a rule names other values; no version of the rule changes."""
    WATCH = "watch"
    """No request: the job itself does something, and the demo waits for it."""


@dataclass(frozen=True, slots=True)
class Act:
    """One change of a rule while the job runs, or one event in its life.

    `at` and `before` are event times: when it is done, and by when the job must have applied it. It
    is applied when the job reports `wanted` as the state of the version.
    """

    deed: Deed
    rule: Rule
    version: int
    at: str
    before: str
    wanted: RunningState
    headline: str

    @property
    def at_ms(self) -> int:
        """When it is done, in event time."""
        return instant_ms(self.at)

    @property
    def before_ms(self) -> int:
        """Until when it must be in effect, in event time."""
        return instant_ms(self.before)

    @property
    def counts_from_ms(self) -> int:
        """The event time from which it has an effect."""
        later = self.rule.effective_from
        return self.at_ms if self.deed is not Deed.PUBLISH or later is None else instant_ms(later)

    def perform(self, team: Team) -> Iterable[str]:
        """Do it; yield what is to be told of it."""
        match self.deed:
            case Deed.PUBLISH:
                document = self.rule.document(team.ana)
                yield from team.approved(document, comment=self.headline)
            case Deed.PAUSE:
                team.ana.pause(self.rule.id, comment=self.headline)
            case Deed.RESUME:
                yield from team.approved(
                    kind="resume", processor_id=self.rule.id, comment=self.headline
                )
            case Deed.SHADOW:
                yield team.backtested(self.rule.document(team.ana))
                self.rule.try_out(team.ana, self.headline)
            case Deed.PROMOTE:
                yield from _difference(team, self.rule.id)
                yield from team.approved(
                    kind="promote", processor_id=self.rule.id, comment=self.headline
                )
                # A description is of the rule, not of its versions: a trial leaves it as it was.
                team.ana.label(self.rule.id, description=self.rule.description)
            case Deed.LIST:
                watched = team.ana.lists(str(STREAM["name"])).put(
                    rules.WATCH_LIST, self.rule.listed, comment=self.headline
                )
                yield (
                    f"list {watched.name} v{watched.version}: {watched.added} added, "
                    f"{watched.removed} removed"
                )
            case Deed.WATCH:
                pass


ACTS: Final = (
    Act(
        Deed.SHADOW,
        rules.USER_ENUMERATION_STRICTER,
        2,
        "2014-12-01T09:00:00Z",
        "2014-12-01T15:00:00Z",
        "shadow",
        "in shadow: are five names a minute enough, instead of ten?",
    ),
    Act(
        Deed.PROMOTE,
        rules.USER_ENUMERATION_STRICTER,
        2,
        "2014-12-01T15:30:00Z",
        "2014-12-02T01:00:00Z",
        "active",
        "promoted: five names a minute are enough now",
    ),
    Act(
        Deed.PAUSE,
        rules.ADDRESS_HAMMERS,
        1,
        "2014-12-01T16:00:00Z",
        "2014-12-02T02:00:00Z",
        "paused",
        "paused: too noisy tonight",
    ),
    Act(
        Deed.RESUME,
        rules.ADDRESS_HAMMERS,
        1,
        "2014-12-02T06:00:00Z",
        "2014-12-02T12:00:00Z",
        "active",
        "resumed: the night is over",
    ),
    Act(
        Deed.PUBLISH,
        rules.PASSWORD_GUESSED_LATER,
        2,
        "2017-03-27T14:00:00Z",
        "2017-03-27T19:00:00Z",
        "pending",
        "scheduled: from 2017-03-30 on ten failures instead of three",
    ),
    Act(
        Deed.PUBLISH,
        rules.HOST_UNDER_ATTACK,
        1,
        "2017-03-27T20:00:00Z",
        "2017-03-28T06:00:00Z",
        "active",
        "added: a new rule on another key, the host",
    ),
    Act(
        Deed.LIST,
        rules.WATCHED_MORE,
        1,
        "2017-03-31T18:00:00Z",
        "2017-04-01T10:00:00Z",
        "active",
        "another address on the list of watched ones",
    ),
    Act(
        Deed.PUBLISH,
        rules.FILE_EDITED,
        1,
        "2017-04-01T12:00:00Z",
        "2017-04-03T10:00:00Z",
        "active",
        "added: a rule in Python, signed, with a mistake that nobody has seen yet",
    ),
    Act(
        Deed.WATCH,
        rules.FILE_EDITED,
        1,
        "2017-04-10T10:14:10Z",
        "2017-04-10T11:00:00Z",
        "quarantined",
        "isolated: it raised an error, and it alone was stopped",
    ),
    Act(
        Deed.PUBLISH,
        rules.FILE_EDITED_MENDED,
        2,
        "2017-04-10T10:30:00Z",
        "2017-04-10T11:14:00Z",
        "active",
        "replaced: the mistake is mended",
    ),
)


def _difference(team: Team, rule_id: str) -> Iterable[str]:
    """Yield how the version in shadow compares, once the job has told all that it has found."""
    rollout = team.ana.rollout(rule_id)
    ends_at = time.monotonic() + _REPORTED_SECONDS
    before, told = None, _told(rollout)
    # Matches come in several posts: those of one version may be there before those of the other.
    while told != before or not any(each.both + each.gained for each in told):
        if time.monotonic() > ends_at:
            return
        time.sleep(1)
        before, told = told, _told(rollout)
    for job in told:
        team.differences.append(job)
        yield (
            f"in shadow it found {job.both} that the published version found, too, and "
            f"{job.gained} more; it missed {job.lost}"
        )


def _told(rollout: RolloutClient) -> list[Difference]:
    return [Difference(job.both, job.gained, job.lost) for job in rollout.read().jobs]


@dataclass(frozen=True, slots=True)
class Span:
    """A version should run for events in `[from_ms, until_ms)`; `None` = no bound."""

    rule: Rule
    version: int
    from_ms: int | None
    until_ms: int | None = None


def spans(first_rules: Iterable[Rule], acts: Iterable[Act]) -> list[Span]:
    """Return when each version should run according to the story."""
    ended: list[Span] = []
    running = {rule.id: Span(rule, 1, None) for rule in first_rules}
    for act in acts:
        if act.deed is Deed.SHADOW:
            continue
        before = running.pop(act.rule.id, None)
        if before is not None:
            ended.append(Span(before.rule, before.version, before.from_ms, act.counts_from_ms))
        if act.deed in {Deed.PUBLISH, Deed.RESUME, Deed.PROMOTE, Deed.LIST}:
            running[act.rule.id] = Span(act.rule, act.version, act.counts_from_ms)
    return sorted([*ended, *running.values()], key=lambda span: (span.rule.id, span.version))
