"""The part of the pattern language that can be stated without an automaton, as a flat sequence.

The start of the brute-force matcher: pattern document in, `FlatPattern` out; `matcher` gives it
meaning.

Left out, because Flink's answer there follows from how its states are wired and no rule about the
events of one match says it (numbers: conformance README):

- groups that happen a varying number of times: while such a group waits for its next repetition
  the events behind it can match too, so one match comes out several times (24). A group that
  happens exactly n times, or not at all, is only a longer sequence, and is in.
- NOT beside an optional or greedy step, in front of a group or behind a quantified one: taking an
  optional step drops the NOT (11), a repeated group is watched only where a repetition begins.
- NOT in front of n to m times: it still watches who waits for an optional repetition, though not
  the event right behind the one before.
- two kinds of NOT in a row, two NOTs at the end, a NOT at the end of a group (13).
- NOT at the very end after anything but steps of a fixed length: which runs are pending depends on
  whether another event came before the deadline (8).
- greedy together with until or before an optional step (19): both say what a *state* refuses.
- windows that Flink drops on some edges: times_within_ms, any window on a step inside a group,
  previous_and_current on anything but one plain step (3, 5 to 7), and behind a step of varying
  length or a not_next (a run still in that one's state knows nothing of the window behind it).
- a group that begins with a group (which contiguity its first event follows is Flink's secret).
- throw_on_miss, ":" in names, until on a group, time that goes back.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any


class OutsideSubset(Exception):
    """The pattern is not in the part of the language that brute force covers."""


@dataclass(frozen=True, slots=True)
class Not:
    """Events that must not come: `directly` behind the step in front, or until the next step."""

    directly: bool
    where: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FlatStep:
    """One step of the flat sequence.

    `optional_lengths` are the numbers of steps, from this one on, that may be absent together.
    `contiguity` leads to its first event and `inner` to each later one: "strict" (the very next
    event), "relaxed" (over events the step would not accept) or "any" (over every event). `nots`
    stand in front.
    """

    name: str
    where: str | None
    contiguity: str
    inner: str
    minimum: int
    maximum: int | None
    optional_lengths: tuple[int, ...]
    in_optional_group: bool
    greedy: bool
    until: str | None
    gap_within_ms: int | None
    nots: tuple[Not, ...]

    @property
    def is_range(self) -> bool:
        """Whether it repeats n to m times, m more than n."""
        return self.maximum is not None and self.minimum < self.maximum

    @property
    def is_fixed(self) -> bool:
        """Whether it always takes the same number of events."""
        varies = self.optional_lengths or self.in_optional_group
        return self.minimum == self.maximum and not varies


@dataclass(frozen=True, slots=True)
class FlatPattern:
    """The sequence, the NOTs behind its last step, the window over a whole match (None: no window),
    and the skip strategy with its step.
    """

    steps: tuple[FlatStep, ...]
    final_nots: tuple[Not, ...]
    within_ms: int | None
    skip: str
    skip_step: str | None


_CONTIGUITY = {"next": "strict", "followed_by": "relaxed", "followed_by_any": "any"}
_INNER = {"consecutive": "strict", "relaxed": "relaxed", "allow_combinations": "any"}
_FIRST_AND_LAST, _PREVIOUS = "first_and_last", "previous_and_current"


def flat_pattern(document: Mapping[str, Any]) -> FlatPattern:
    """Return the pattern as a flat sequence; what is not covered raises."""
    skip = document.get("after_match_skip", {"strategy": "no_skip"})
    _only_if(not skip.get("throw_on_miss"), "throw_on_miss")
    # the pattern's own window is one more window on its last element
    elements = document["steps"]
    own = {key: document[key] for key in ("within_ms", "within_type") if key in document}
    steps, final_nots = _sequence(elements, first_contiguity=None)
    if own.get("within_type") == _PREVIOUS and own["within_ms"]:
        _only_if("within_ms" not in elements[-1], "two windows on the last element")
        _only_if(not final_nots, "window on a NOT")
        steps, _ = _sequence([*elements[:-1], elements[-1] | own], first_contiguity=None)
    _check_neighbours(steps, final_nots)
    windows = [
        window["within_ms"]
        for window in (*elements, own)
        if window.get("within_type", _FIRST_AND_LAST) == _FIRST_AND_LAST and window.get("within_ms")
    ]
    return FlatPattern(
        steps=tuple(steps),
        final_nots=final_nots,
        within_ms=min(windows, default=None),
        skip=skip["strategy"],
        skip_step=skip.get("step"),
    )


def _sequence(
    elements: list[Mapping[str, Any]], first_contiguity: str | None
) -> tuple[list[FlatStep], tuple[Not, ...]]:
    """Return the steps of one sequence, groups opened, and the NOTs behind the last of them."""
    steps: list[FlatStep] = []
    nots: tuple[Not, ...] = ()
    for position, element in enumerate(elements):
        contiguity = element.get("contiguity", "next")
        if contiguity in {"not_next", "not_followed_by"}:
            _only_if(not element.get("within_ms"), "window on a NOT")
            _only_if(
                not _is_quantified_group(elements[position - 1]), "NOT behind a group with times"
            )
            nots += (Not(contiguity == "not_next", element.get("where")),)
            continue
        leading = (
            first_contiguity if position == 0 and first_contiguity else _CONTIGUITY[contiguity]
        )
        if "group" in element:
            _only_if(not nots, "NOT in front of a group")
            steps += _group(element, leading)
        else:
            steps.append(_step(element, leading, nots))
        nots = ()
    return steps, nots


def _group(group: Mapping[str, Any], contiguity: str) -> list[FlatStep]:
    minimum, maximum, optional = _repetitions(group)
    _only_if(minimum == maximum, "repeated group")
    _only_if("until" not in group and "times_within_ms" not in group, "until or window on a group")
    _only_if(group.get("within_type") != _PREVIOUS, "previous_and_current on a group")
    inner_elements = group["group"]["steps"]
    _only_if(not _has_window(inner_elements), "window inside a group")
    _only_if("group" not in inner_elements[0], "group at the head of a group")
    inner = _INNER[group.get("inner", "relaxed")]
    steps: list[FlatStep] = []
    for repetition in range(minimum):
        leading = contiguity if repetition == 0 else inner
        (head, *others), final_nots = _sequence(inner_elements, leading)
        _only_if(not final_nots, "NOT at the end of a group")
        # the head takes over both contiguities of its group, its own inner one is lost
        steps += [replace(head, inner=inner), *others]
    if optional:
        lengths = (*steps[0].optional_lengths, len(steps))
        steps = [replace(step, in_optional_group=True) for step in steps]
        steps[0] = replace(steps[0], optional_lengths=lengths)
    return steps


def _step(step: Mapping[str, Any], contiguity: str, nots: tuple[Not, ...]) -> FlatStep:
    _only_if("times_within_ms" not in step, "times_within_ms")
    _only_if(":" not in step["name"], "':' in a name")
    minimum, maximum, optional = _repetitions(step)
    gap_within_ms = None
    if step.get("within_ms") and step.get("within_type") == _PREVIOUS:
        _only_if("times" not in step and not optional, "previous_and_current on a quantified step")
        gap_within_ms = step["within_ms"]
    return FlatStep(
        name=step["name"],
        where=step.get("where"),
        contiguity=contiguity,
        inner=_INNER[step.get("inner", "relaxed")],
        minimum=minimum,
        maximum=maximum,
        optional_lengths=(1,) if optional else (),
        in_optional_group=False,
        greedy=bool(step.get("greedy")) and minimum != maximum,
        until=step.get("until"),
        gap_within_ms=gap_within_ms,
        nots=nots,
    )


def _repetitions(element: Mapping[str, Any]) -> tuple[int, int | None, bool]:
    """Return the fewest, the most (None: no end) and whether none at all is fine, too."""
    optional = bool(element.get("optional"))
    match element.get("times", 1):
        case {"from": 0, "to": maximum}:
            return 1, maximum, True
        case {"from": minimum, "to": maximum}:
            return minimum, maximum, optional
        case times:
            return times, times, optional


def _is_quantified_group(element: Mapping[str, Any]) -> bool:
    return "group" in element and _repetitions(element) != (1, 1, False)


def _has_window(elements: list[Mapping[str, Any]]) -> bool:
    return any(
        element.get("within_ms") or _has_window(element.get("group", {"steps": []})["steps"])
        for element in elements
    )


def _check_neighbours(steps: list[FlatStep], final_nots: tuple[Not, ...]) -> None:
    followers = [*steps[1:], None]
    for step, follower in zip(steps, followers, strict=True):
        if follower and follower.gap_within_ms:
            _only_if(step.is_fixed, "previous_and_current behind a step of varying length")
            directly = any(each.directly for each in follower.nots)
            _only_if(not directly, "previous_and_current behind not_next")
        nots = follower.nots if follower else final_nots
        if nots:
            _only_if(
                not step.optional_lengths and not step.greedy,
                "NOT behind an optional or greedy step",
            )
            _only_if(
                not (follower and follower.optional_lengths), "NOT in front of an optional step"
            )
            _only_if(not (follower and follower.is_range), "NOT in front of n to m times")
            _only_if(len({each.directly for each in nots}) == 1, "two kinds of NOT in a row")
        if step.greedy and follower:
            _only_if(not follower.optional_lengths, "greedy before an optional step")
            _only_if(step.until is None, "greedy with until")
    _only_if(len(final_nots) <= 1, "several NOTs at the end")
    if final_nots and not final_nots[0].directly:
        _only_if(
            all(step.is_fixed for step in steps), "NOT at the end behind steps of varying length"
        )


def _only_if(condition: bool, otherwise: str) -> None:  # noqa: FBT001 - reads as a sentence
    if not condition:
        raise OutsideSubset(otherwise)
