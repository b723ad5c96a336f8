"""Says which of all matches are emitted under a skip strategy, and by which event.

The end of the brute-force matcher. A match is held back while a partial match that started
earlier is open [14]; once emitted it takes away what started too early, open or waiting [15, 16].
Both depend only on where matches start, so the set of all matches and of all partial paths is
enough.

Left out: which of several waiting matches with one start comes first. Flink's answer is the order
of a heap; where it decides which matches survive, `OutsideSubset` is raised.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tests.brute_force.matcher import (
    Match,
    Path,
    Slot,
    Trial,
    all_matches,
    following_slots,
    in_time,
    may_wait,
    partial_paths,
)
from tests.brute_force.subset import FlatPattern, OutsideSubset


@dataclass(frozen=True, slots=True)
class Waiting:
    """A partial path that waits for one slot, open after the events from `first` to `last`."""

    path: Path
    slot: Slot
    first: int
    last: int

    @property
    def start(self) -> int:
        return self.path.taken[0]


def emitted_matches(trial: Trial) -> list[Match]:
    """Return the matches that are emitted, with the position of the event that emits each.

    Raises:
        OutsideSubset: where the tie order of Flink's queue would decide, or a NOT stands at the
        end of a pattern with a skip strategy (the runs that wait for it are not paths).
    """
    if trial.pattern.skip == "no_skip":
        return all_matches(trial)
    if trial.pattern.final_nots:
        raise OutsideSubset("NOT at the end with a skip strategy")
    found, waiting = all_matches(trial), waiting_paths(trial)
    queue: list[Match] = []
    emitted: list[Match] = []
    pruned_to = -1  # everything that started up to this position is gone
    for position, at, time_ms, processed in _moments(trial):
        if processed:
            queue += [match for match in found if match.at == position]
        starts = [w.start for w in waiting if _is_open(trial, w, position, time_ms, processed)]
        while True:
            queue = [match for match in queue if match.start > pruned_to]
            earliest_open = min((s for s in starts if s > pruned_to), default=len(trial.events))
            ready = [match for match in queue if match.start <= earliest_open]
            if not ready:
                break
            match = _first(trial.pattern, ready)
            queue.remove(match)
            emitted.append(replace(match, at=at))
            pruned_to = max(pruned_to, _prunes_to(trial.pattern, match))
    return emitted


def waiting_paths(trial: Trial) -> list[Waiting]:
    """Return every partial path with every slot it waits for, and for how long it does."""
    waiting = []
    for path in partial_paths(trial):
        for slot in following_slots(trial.pattern, path) if path.slots else ():
            first = last = path.taken[-1]
            while last + 1 < len(trial.events) and may_wait(trial, path, slot, last + 2):
                last += 1
            waiting.append(Waiting(path, slot, first, last))
    return waiting


def _moments(trial: Trial) -> Iterator[tuple[int, int | None, int, bool]]:
    """Yield (position, emitting position, time, whether the event is processed by now), in order.

    Time advances before the first event of each timestamp, and to the final watermark [2].
    """
    for position in range(len(trial.events)):
        time_ms = trial.time_ms(position)
        yield position, position, time_ms, False
        yield position, position, time_ms, True
    if trial.final_watermark_ms is not None:
        yield len(trial.events), None, trial.final_watermark_ms, False


def _is_open(
    trial: Trial,
    waiting: Waiting,
    position: int,
    time_ms: int,
    processed: bool,  # noqa: FBT001 - part of the moment
) -> bool:
    after = position if processed else position - 1
    return waiting.first <= after <= waiting.last and in_time(
        trial, waiting.path, waiting.slot, time_ms
    )


def _first(pattern: FlatPattern, ready: Sequence[Match]) -> Match:
    """Return the match to emit next: the earliest start, if that or indifference decides."""
    start = min(match.start for match in ready)
    ties = [match for match in ready if match.start == start]
    harmless = all(_prunes_to(pattern, match) < start for match in ties)
    if not harmless and any(match.steps != ties[0].steps for match in ties):
        raise OutsideSubset("several matches with one start are waiting")
    return ties[0]


def _prunes_to(pattern: FlatPattern, match: Match) -> int:
    """Return the last start position that goes when this match is emitted [15, 17]."""
    target = match.steps.get(pattern.skip_step or "")
    last_pruned = {
        "skip_to_next": match.start,
        "skip_past_last_event": match.end,
        "skip_to_first": target[0] - 1 if target else -1,
        "skip_to_last": target[-1] - 1 if target else -1,
    }
    return last_pruned[pattern.skip]
