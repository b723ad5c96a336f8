"""Limits how many matches of all keys a rule emits in each window of event time.

    ShardStatus of all shards ──settle──► Cutoffs ──► rows after them are of kind `suppressed`
    what has gone out before ──┘     └──► what has gone out now, kept by the driver

Shards only count. A batch has all matches of its span of event time, whatever shard they are in, so
the driver knows which are the first: in the order of event time, and at one instant by the ids of
matches. What goes out is the same for any number of shards, split into batches, restart and replay.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from processor_runtime.alerting.match_tags import MatchTag
from processor_runtime.rows.output_rows import OutputRow
from processor_runtime.rows.shard_status import ShardStatus
from processor_runtime.rules.alerts import Budget, window_from

Version = tuple[str, int]
"""A processor and the number of its version."""


class Window(NamedTuple):
    """A time for which a rule has a budget: event times in `[from_ms, until_ms)`.

    It is of the rule, not of a version: an update is no reason to spend it again.
    """

    processor_id: str
    from_ms: int
    until_ms: int


@dataclass(frozen=True, slots=True)
class Spent:
    """How many matches went out in a window, and how many did not, because it was spent."""

    out: int = 0
    throttled: int = 0


class Overrun(NamedTuple):
    """A version found more in a window than can go out; at most the first `left` of them do."""

    processor_id: str
    version: int
    from_ms: int
    until_ms: int
    left: int


class Candidate(NamedTuple):
    """A match that may go out. `match_id` is the id of its first row."""

    processor_id: str
    version: int
    end_ms: int
    match_id: str


class Cutoff(NamedTuple):
    """In a window, matches of a version from this one on do not go out."""

    processor_id: str
    version: int
    from_ms: int
    until_ms: int
    end_ms: int
    match_id: str


Find = Callable[[Sequence[Overrun]], Iterable[Candidate]]
"""Gives the matches of overruns: of each at least the first `left + 1`, in the order of event time
and id, in any order."""


@dataclass(frozen=True, slots=True)
class BudgetResult:
    """What a batch has brought: what is spent after it, and what does not go out."""

    spent: Mapping[Window, Spent] = field(default_factory=dict)
    cutoffs: Sequence[Cutoff] = ()


def settle(
    statuses: Iterable[ShardStatus],
    budgets: Mapping[str, Budget],
    before: Mapping[Window, Spent],
    find: Find,
) -> BudgetResult:
    """Return which matches of a batch go out.

    `statuses`: what the shards tell; matches that do not go out become suppressed ones in them.
    `budgets`: by rule id.
    """
    found: dict[Window, Counter[Version]] = defaultdict(Counter)
    most: dict[Version, int] = {}
    statuses = list(statuses)
    for status in statuses:
        for rule_id, counts in status.rules.items():
            if not counts.spent or rule_id not in budgets:
                continue
            version, budget = version_of(rule_id), budgets[rule_id]
            most[version] = budget.at_most
            for from_ms, count in counts.spent.items():
                window = Window(version[0], from_ms, from_ms + budget.for_ms)
                found[window][version] += count
    overruns = list(_overruns(found, most, before))
    open_to = [overrun for overrun in overruns if overrun.left]
    candidates = _by_window(find(open_to) if open_to else (), overruns)
    left: dict[Window, dict[Version, int]] = defaultdict(dict)
    for name, version_number, from_ms, until_ms, most_left in overruns:
        left[Window(name, from_ms, until_ms)][name, version_number] = most_left
    after, cutoffs, throttled = dict(before), list[Cutoff](), Counter[Version]()
    for window, versions in found.items():
        going = versions
        if window in left:
            going, ends = _cut(window, candidates[window], left[window])
            cutoffs += ends
        spent = before.get(window, Spent())
        held_back = versions - going
        after[window] = Spent(spent.out + going.total(), spent.throttled + held_back.total())
        throttled.update(held_back)
    move_counts(statuses, throttled, "suppressed")
    return BudgetResult(after, cutoffs)


def lasting(spent: Mapping[Window, Spent], complete_ms: int) -> dict[Window, Spent]:
    """Return what still matters: no match is found any more up to `complete_ms`."""
    return {window: each for window, each in spent.items() if window.until_ms > complete_ms + 1}


def throttled_until(spent: Mapping[Window, Spent]) -> dict[str, int]:
    """Return the rules that are throttled, with the event time until which they are."""
    found: dict[str, int] = {}
    for window, each in spent.items():
        if each.throttled:
            known_ms = found.get(window.processor_id, window.until_ms)
            found[window.processor_id] = max(window.until_ms, known_ms)
    return found


def candidates_in(rows: Iterable[OutputRow], overruns: Sequence[Overrun]) -> Iterator[Candidate]:
    """Yield the matches of overruns among rows, each once."""
    wanted: dict[tuple[str | None, int | None], list[Overrun]] = defaultdict(list)
    for overrun in overruns:
        wanted[overrun.processor_id, overrun.version].append(overrun)
    for row in rows:
        if row.kind != "match" or row.end_ms is None or MatchTag.from_text(row.tag).first_id:
            continue
        for overrun in wanted.get((row.processor_id, row.version), ()):
            if overrun.from_ms <= row.end_ms < overrun.until_ms:
                yield Candidate(
                    overrun.processor_id, overrun.version, row.end_ms, row.match_id or ""
                )


def settled_rows(rows: Iterable[OutputRow], cutoffs: Sequence[Cutoff]) -> Iterator[OutputRow]:
    """Yield rows as they are output: matches that do not go out as of kind `suppressed`."""
    known: dict[tuple[str | None, int | None], list[Cutoff]] = defaultdict(list)
    for cutoff in cutoffs:
        known[cutoff.processor_id, cutoff.version].append(cutoff)
    for row in rows:
        if row.kind != "match" or row.end_ms is None:
            yield row
            continue
        tag = MatchTag.from_text(row.tag)
        place = (row.end_ms, tag.first_id or row.match_id or "")
        is_over = any(
            cutoff.from_ms <= row.end_ms < cutoff.until_ms
            and place >= (cutoff.end_ms, cutoff.match_id)
            for cutoff in known.get((row.processor_id, row.version), ())
        )
        yield row._replace(kind="suppressed" if is_over else "match", tag=tag.group_id or None)


def version_of(rule_id: str) -> Version:
    """Return the processor and the version of a rule."""
    processor_id, version, _ = rule_id.rsplit("@", 2)
    return processor_id, int(version)


def _overruns(
    found: Mapping[Window, Counter[Version]],
    most: Mapping[Version, int],
    before: Mapping[Window, Spent],
) -> Iterator[Overrun]:
    """Yield what all versions found in the windows in which one of them may have found too much."""
    for window, versions in found.items():
        spent = before.get(window, Spent()).out
        if spent + versions.total() <= min(most[version] for version in versions):
            continue
        for version in versions:
            left = max(most[version] - spent, 0)
            yield Overrun(*version, window.from_ms, window.until_ms, left)


def _by_window(
    candidates: Iterable[Candidate], overruns: Sequence[Overrun]
) -> dict[Window, list[Candidate]]:
    lengths = {(each.processor_id, each.version): each.until_ms - each.from_ms for each in overruns}
    found: dict[Window, list[Candidate]] = defaultdict(list)
    for each in candidates:
        length_ms = lengths[each.processor_id, each.version]
        from_ms = window_from(each.end_ms, length_ms)
        found[Window(each.processor_id, from_ms, from_ms + length_ms)].append(each)
    return found


def _cut(
    window: Window, candidates: Iterable[Candidate], left: Mapping[Version, int]
) -> tuple[Counter[Version], list[Cutoff]]:
    """Return how many matches of each version go out in a window, and where each ends."""
    going = Counter[Version]()
    ends = {version: (window.from_ms, "") for version, most in left.items() if not most}
    for each in sorted(candidates, key=lambda item: (item.end_ms, item.match_id)):
        version = (each.processor_id, each.version)
        if going.total() < left[version]:
            going[version] += 1
        else:
            ends.setdefault(version, (each.end_ms, each.match_id))
    cutoffs = [
        Cutoff(*version, window.from_ms, window.until_ms, *end) for version, end in ends.items()
    ]
    return going, cutoffs


def move_counts(
    statuses: Iterable[ShardStatus],
    moved: Mapping[Version, int],
    to: Literal["suppressed", "grouped"],
) -> None:
    """Count matches that do not go out as something else, in whatever shards they were."""
    rest = dict(moved)
    for status in statuses:
        for rule_id, counts in status.rules.items():
            version = version_of(rule_id)
            part = min(rest.get(version, 0), counts.matches)
            if part:
                rest[version] -= part
                counts.matches -= part
                setattr(counts, to, getattr(counts, to) + part)
