"""Finds every match by trying every assignment of events to steps: no automaton, no clock.

The heart of the brute-force matcher, between `subset` (what is covered) and `skipping` (which of
the matches are emitted, and when). A path names, in order, the steps taken, each repetition a
slot of its own, and the event in every slot. Which slots may follow each other, and which events
may stand in and between two of them, is written down rule by rule; events are ordered as they are
in the list.

Source: Flink CEP documentation, "The Pattern API"; conformance README, its items in brackets.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.brute_force.subset import FlatPattern, Not

Event = Mapping[str, Any]
Holds = Callable[[str, Event, Mapping[str, Sequence[Event]]], bool]
"""Whether a condition is TRUE of an event, given the events accepted before it per step."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A pattern with the events it is tried on."""

    pattern: FlatPattern
    events: Sequence[Event]
    holds: Holds
    final_watermark_ms: int | None = None

    def time_ms(self, position: int) -> int:
        return int(self.events[position]["ts"])


@dataclass(frozen=True, slots=True)
class Slot:
    """One place for an event: a step, by its index in the pattern, and its repetition, from 0."""

    step: int
    repetition: int


@dataclass(frozen=True, slots=True)
class Path:
    """A whole or partial match: slots in order, and the position of the event taken in each."""

    slots: tuple[Slot, ...] = ()
    taken: tuple[int, ...] = ()

    def plus(self, slot: Slot, position: int) -> "Path":
        return Path((*self.slots, slot), (*self.taken, position))

    @property
    def next_position(self) -> int:
        return self.taken[-1] + 1 if self.taken else 0


@dataclass(frozen=True, slots=True)
class Match:
    """The positions of the events per step, and the position of the event that emits the match.

    `at` is None where the final watermark emits it.
    """

    steps: Mapping[str, tuple[int, ...]]
    at: int | None

    @property
    def start(self) -> int:
        return min(positions[0] for positions in self.steps.values())

    @property
    def end(self) -> int:
        return max(positions[-1] for positions in self.steps.values())


def all_matches(trial: Trial) -> list[Match]:
    """Return every match, as if none were skipped, once for every path that leads to it.

    Two paths may give the same steps, as in a group `(a?)` twice: then Flink emits the match
    twice [24].
    """
    return [
        Match(_positions_by_step(trial.pattern, path), at)
        for path in _whole_paths(trial)
        for at in _emitted_at(trial, path)
    ]


def partial_paths(trial: Trial, path: Path = Path()) -> Iterator[Path]:
    """Yield the empty path and every path that keeps all rules and could go on."""
    yield path
    for slot in following_slots(trial.pattern, path):
        for position in range(path.next_position, len(trial.events)):
            if _may_take(trial, path, slot, position, completing=False):
                yield from partial_paths(trial, path.plus(slot, position))


def _whole_paths(trial: Trial) -> Iterator[Path]:
    for path in partial_paths(trial):
        for slot in following_slots(trial.pattern, path):
            if not _may_end(trial.pattern, slot):
                continue
            for position in range(path.next_position, len(trial.events)):
                if _may_take(trial, path, slot, position, completing=True):
                    yield path.plus(slot, position)


def following_slots(pattern: FlatPattern, path: Path) -> list[Slot]:
    """Return the slots that may come next: one more repetition, or a step further on."""
    if not path.slots:
        return _entry_slots(pattern, 0)
    last = path.slots[-1]
    step = pattern.steps[last.step]
    done = last.repetition + 1
    again = [Slot(last.step, done)] if step.maximum is None or done < step.maximum else []
    return again + (_entry_slots(pattern, last.step + 1) if done >= step.minimum else [])


def _entry_slots(pattern: FlatPattern, first: int) -> list[Slot]:
    """Return where the sequence from step `first` on may begin: through all that may be absent."""
    return [Slot(index, 0) for index in _entries(pattern, first) if index < len(pattern.steps)]


def _entries(pattern: FlatPattern, first: int) -> list[int]:
    """Return the steps that may come next, the end of the pattern as one more index.

    A step is there once for every way of leaving out the steps before it: an optional step alone in
    an optional group may be absent in two ways.
    """
    entries = [first]
    for index in entries:  # which grows meanwhile
        if index < len(pattern.steps):
            behind = [index + length for length in pattern.steps[index].optional_lengths]
            entries += behind
    return entries


def _may_end(pattern: FlatPattern, slot: Slot) -> bool:
    """Return whether a match may end with this slot [23]."""
    enough = slot.repetition + 1 >= pattern.steps[slot.step].minimum
    return enough and len(pattern.steps) in _entries(pattern, slot.step + 1)


def _accepts(trial: Trial, condition: str | None, position: int, path: Path) -> bool:
    """Return whether a condition holds at a position, after the events of a path."""
    if condition is None:
        return True
    accepted: dict[str, list[Event]] = {}
    for slot, before in zip(path.slots, path.taken, strict=True):
        accepted.setdefault(trial.pattern.steps[slot.step].name, []).append(trial.events[before])
    return trial.holds(condition, trial.events[position], accepted)


def _may_take(trial: Trial, path: Path, slot: Slot, position: int, *, completing: bool) -> bool:
    """Return whether an event may be the next of a path, all events in between left out."""
    step = trial.pattern.steps[slot.step]
    return (
        _accepts(trial, step.where, position, path)
        and not (step.until and _accepts(trial, step.until, position, path))
        and not _greedily_wanted(trial, path, slot, position)
        and in_time(trial, path, slot, trial.time_ms(position))
        and may_wait(trial, path, slot, position)
        and not _forbidden(trial, path, slot, position, completing=completing)
    )


def may_wait(trial: Trial, path: Path, slot: Slot, end: int) -> bool:
    """Return whether a path may leave out all events before `end`, waiting for the next slot.

    The slot's contiguity says it: the step's own for its first event, the inner one for the others
    [20]. Events before the first one taken never matter: a match may start anywhere.
    """
    if not path.slots:
        return True
    step = trial.pattern.steps[slot.step]
    contiguity = step.contiguity if slot.repetition == 0 else step.inner
    return not any(
        contiguity == "strict"
        or (contiguity == "relaxed" and _accepts(trial, step.where, position, path))
        # [22] an until event ends the loop, not the wait for its first event
        or (slot.repetition > 0 and step.until and _accepts(trial, step.until, position, path))
        or _greedily_wanted(trial, path, slot, position)
        or _forbidden(trial, path, slot, position, completing=False)
        for position in range(path.next_position, end)
    )


def _greedily_wanted(trial: Trial, path: Path, slot: Slot, position: int) -> bool:
    """Return whether a greedy step in front of the slot's step wants the event for itself [19]."""
    if slot.step == 0 or slot.repetition > 0:
        return False
    step_before = trial.pattern.steps[slot.step - 1]
    return step_before.greedy and _accepts(trial, step_before.where, position, path)


def in_time(trial: Trial, path: Path, slot: Slot, time_ms: int) -> bool:
    """Return whether a path may still wait for a slot at a time; window ends are outside [1, 5]."""
    if not path.slots:
        return True
    within_ms = trial.pattern.within_ms
    gap_ms = trial.pattern.steps[slot.step].gap_within_ms if slot.repetition == 0 else None
    return (within_ms is None or time_ms - trial.time_ms(path.taken[0]) < within_ms) and (
        gap_ms is None or time_ms - trial.time_ms(path.taken[-1]) < gap_ms
    )


def _forbidden(
    trial: Trial, path: Path, slot: Slot | None, position: int, *, completing: bool
) -> bool:
    """Return whether a NOT ends a path with this event, whatever else could be done with it.

    An event both forbidden and wanted ends it as well; only that, as the last event of a match,
    it may still complete this match against a `not_followed_by` [10]. `slot` is None behind the
    last step.
    """
    if not path.slots:
        return False
    completes = completing and not trial.pattern.final_nots
    return any(
        _accepts(trial, each.where, position, path)
        for each in _watching_nots(trial.pattern, path.slots[-1], slot)
        if (position == path.next_position if each.directly else not completes)
    )


def _watching_nots(pattern: FlatPattern, last: Slot, slot: Slot | None) -> tuple[Not, ...]:
    """Return the NOTs that watch between two slots.

    They are those between the two steps, and those behind a step that repeats: `not_followed_by`
    watches from its first event on [12], `not_next` from where the step could be left.
    """
    after = last.step + 1
    if slot is not None and slot.step > after:
        return ()
    nots = pattern.steps[after].nots if after < len(pattern.steps) else pattern.final_nots
    may_leave = last.repetition + 1 >= pattern.steps[last.step].minimum
    return tuple(each for each in nots if not each.directly or may_leave)


def _emitted_at(trial: Trial, path: Path) -> Iterator[int | None]:
    """Yield the position that emits a whole path; nothing where a NOT at the end is violated."""
    if not trial.pattern.final_nots:
        yield path.taken[-1]
        return
    (final_not,) = trial.pattern.final_nots
    start_ms, within_ms = trial.time_ms(path.taken[0]), trial.pattern.within_ms
    deadline_ms = None if within_ms is None else start_ms + within_ms
    times_ms = [trial.time_ms(position) for position in range(len(trial.events))]
    behind = range(path.next_position, len(trial.events))
    in_window = [p for p in behind if deadline_ms is None or times_ms[p] < deadline_ms]
    if final_not.directly:
        in_window = in_window[:1]  # [9] the next event decides, and emits the match
    if any(_forbidden(trial, path, None, position, completing=False) for position in in_window):
        return
    if final_not.directly:
        yield from in_window
    elif len(in_window) < len(behind):  # [8] the end of the window decides
        yield behind[len(in_window)]
    elif deadline_ms is not None and (trial.final_watermark_ms or 0) >= deadline_ms:
        yield None


def _positions_by_step(pattern: FlatPattern, path: Path) -> dict[str, tuple[int, ...]]:
    steps: dict[str, tuple[int, ...]] = {}
    for slot, position in zip(path.slots, path.taken, strict=True):
        name = pattern.steps[slot.step].name
        steps[name] = (*steps.get(name, ()), position)
    return steps
