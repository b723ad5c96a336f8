"""States: what a candidate can do next at a place in the pattern, computed on first use.

    Instructions ──closure──► State: rows to take, in order of preferment; then perhaps a match

A place is an instruction with its registers. What can follow it without a row does not depend on
rows, so it is walked once for each place and kept; places at which the same can follow are one
state. Behind the first way to a match nothing is preferred less, so it is cut off.

Source: ISO/IEC 19075-5, 7.2 (preferment) and 7.2.8 (empty iterations).
"""

from dataclasses import dataclass
from typing import Final

from cep.nfa.errors import LimitExceeded
from cep.row_search.automaton.instructions import (
    Accept,
    AtEnd,
    AtStart,
    BeginLoop,
    BeginPermutation,
    EndIteration,
    Fork,
    Instruction,
    Instructions,
    LoopHead,
    PermutationHead,
    Take,
)

Place = tuple[int, tuple[int, ...]]
"""An instruction, and the registers of the loops around it, from the outside in.

The register of a loop is `count * 2`, plus 1 once the iteration has taken a row; that of a
permutation is a set of parts as bits, shifted likewise.
"""

_MAX_WAYS: Final = 20_000
_STATES_KEPT: Final = 50_000
_STEPS_KEPT: Final = 200_000


@dataclass(frozen=True, slots=True)
class Step:
    """Take a row as `variable`; `code` also says whether it is excluded from the output."""

    variable: int
    code: int
    place: Place


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """What can follow at a place.

    `steps` are in order of preferment. `accepts`: without a further row it is a match, preferred
    less than all steps. `accepts_at_end`: it is one if the partition ends here; `awaits_end` tells
    that this would be preferred to something that is possible before the end.
    """

    place: Place
    steps: tuple[Step, ...]
    accepts: bool
    accepts_at_end: bool
    awaits_end: bool
    variables: frozenset[int]

    @property
    def is_open(self) -> bool:
        """Whether a row, or the end of the partition, can still bring something."""
        return bool(self.steps) or self.awaits_end


class States:
    """The states of one pattern, by place. A cache: it can be emptied at any time."""

    def __init__(self, instructions: Instructions) -> None:
        self._instructions = instructions
        self._by_place: dict[Place, State] = {}
        self._walked: dict[Place, int] = {}
        self._steps_kept = 0
        self._by_content: dict[tuple[object, ...], State] = {}
        self._reachable = _reachable_variables(instructions)
        self._initial: dict[bool, State] = {}

    def initial(self, *, is_first_row: bool) -> State:
        """Return the state before a match begins, at the first row of the partition or another."""
        if is_first_row not in self._initial:
            place = (self._instructions.start, ())
            self._initial[is_first_row] = self._closure(place, is_first_row=is_first_row)
        return self._initial[is_first_row]

    def at(self, place: Place) -> State:
        """Return the state at a place in the middle of a match.

        Raises:
            LimitExceeded: too much can follow there.
        """
        found = self._by_place.get(place)
        if found is None:
            if len(self._by_place) >= _STATES_KEPT or self._steps_kept >= _STEPS_KEPT:
                self._clear()
            found = self._closure(place, is_first_row=False)
            self._steps_kept += len(found.steps)
            content = (found.steps, found.accepts, found.accepts_at_end, found.awaits_end)
            found = self._by_place[place] = self._by_content.setdefault(content, found)
        return found

    def walked(self, place: Place) -> int:
        """Return how many places had to be looked at to find the state at a place."""
        return self._walked[place]

    def _clear(self) -> None:
        self._by_place.clear()
        self._by_content.clear()
        self._walked.clear()
        self._steps_kept = 0

    def _closure(self, place: Place, *, is_first_row: bool) -> State:
        walk = _Walk(self._instructions, is_first_row=is_first_row)
        self._walked[place] = walk.run(place)
        return State(
            place,
            tuple(walk.steps),
            walk.accepts,
            walk.accepts or walk.awaits_end,
            walk.awaits_end,
            self._reachable[place[0]],
        )


class _Walk:
    """The walk over everything that can follow a place without a row, preferred ways first.

    A place met again is skipped: what follows it has been found before and is preferred.
    """

    def __init__(self, instructions: Instructions, *, is_first_row: bool) -> None:
        self._code = instructions.code
        self._is_first_row = is_first_row
        self.steps: list[Step] = []
        self.accepts = False
        self.awaits_end = False

    def run(self, start: Place) -> int:
        """Walk on from a place; return how many places have been looked at."""
        stack: list[tuple[Place, bool]] = [(start, False)]
        seen: set[tuple[Place, bool]] = set()
        known_steps: set[Step] = set()
        while stack:
            way = stack.pop()
            if way in seen:
                continue
            seen.add(way)
            if len(seen) > _MAX_WAYS:
                remedy = "lower the bounds of its quantifiers"
                raise LimitExceeded("ways to go on in a row pattern", len(seen), _MAX_WAYS, remedy)
            place, at_end = way
            instruction = self._code[place[0]]
            if isinstance(instruction, Accept):
                if not at_end:
                    self.accepts = True
                    break
                self.awaits_end = True
            elif isinstance(instruction, Take):
                if not at_end:
                    step = _step(instruction, place[1])
                    if step not in known_steps:
                        known_steps.add(step)
                        self.steps.append(step)
            else:
                followers, ends = self._followers(place)
                stack.extend((follower, at_end or ends) for follower in reversed(followers))
        return len(seen)

    def _followers(  # noqa: PLR0911 - one line per instruction
        self, place: Place
    ) -> tuple[list[Place], bool]:
        """Return where to go on, preferred first, and whether only at the end of the partition."""
        number, registers = place
        match self._code[number]:
            case Fork(targets=targets):
                return [(target, registers) for target in targets], False
            case BeginLoop(head=head) | BeginPermutation(head=head):
                return [(head, (*registers, 0))], False
            case LoopHead() as head:
                return _at_head(head, registers), False
            case EndIteration() as end:
                return [_after_iteration(end, registers)], False
            case PermutationHead() as head:
                return _next_parts(head, registers), False
            case AtStart(then=then):
                return ([(then, registers)] if self._is_first_row else []), False
            case AtEnd(then=then):
                return [(then, registers)], True
            case _:
                raise TypeError("this instruction has no followers")


def _step(take: Take, registers: tuple[int, ...]) -> Step:
    code = take.variable * 2 + take.is_excluded
    return Step(take.variable, code, (take.then, tuple(register | 1 for register in registers)))


def _at_head(head: LoopHead, registers: tuple[int, ...]) -> list[Place]:
    *outer, register = registers
    count = register >> 1
    body = (head.body, (*outer, count << 1))
    behind = (head.behind, tuple(outer))
    if count < head.minimum:
        return [body]
    if head.maximum is not None and count >= head.maximum:
        return [behind]
    return [behind, body] if head.is_reluctant else [body, behind]


def _after_iteration(end: EndIteration, registers: tuple[int, ...]) -> Place:
    """An empty iteration counts; at or beyond the lower bound it ends the loop."""
    *outer, register = registers
    count, has_taken_row = (register >> 1) + 1, register & 1
    if not has_taken_row and count >= end.minimum:
        return (end.behind, tuple(outer))
    if end.maximum is None:
        count = min(count, end.minimum)
    return (end.head, (*outer, count << 1 | has_taken_row))


def _next_parts(head: PermutationHead, registers: tuple[int, ...]) -> list[Place]:
    *outer, register = registers
    had = register >> 1
    if had == (1 << len(head.parts)) - 1:
        return [(head.behind, tuple(outer))]
    return [
        (part, (*outer, (had | 1 << number) << 1 | 1))
        for number, part in enumerate(head.parts)
        if not had >> number & 1
    ]


def _reachable_variables(instructions: Instructions) -> list[frozenset[int]]:
    """Return for each instruction the variables of the rows that can be taken from there on."""
    code = instructions.code
    targets: list[tuple[int, ...]] = [_targets(instruction) for instruction in code]
    reachable = [frozenset({i.variable}) if isinstance(i, Take) else frozenset[int]() for i in code]
    sources: list[list[int]] = [[] for _ in code]
    for number, behind in enumerate(targets):
        for target in behind:
            sources[target].append(number)
    pending = [number for number, found in enumerate(reachable) if found]
    while pending:
        number = pending.pop()
        for source in sources[number]:
            together = reachable[source] | reachable[number]
            if together != reachable[source]:
                reachable[source] = together
                pending.append(source)
    return reachable


def _targets(  # noqa: PLR0911 - one line per instruction
    instruction: Instruction,
) -> tuple[int, ...]:
    match instruction:
        case Take(then=then) | AtStart(then=then) | AtEnd(then=then):
            return (then,)
        case Fork(targets=targets):
            return targets
        case BeginLoop(head=head) | BeginPermutation(head=head):
            return (head,)
        case LoopHead(body=body, behind=behind):
            return (body, behind)
        case EndIteration(head=head, behind=behind):
            return (head, behind)
        case PermutationHead(parts=parts, behind=behind):
            return (*parts, behind)
        case _:
            return ()
