"""A row pattern compiled to instructions, as a backtracking matcher would run them.

    RowPattern ──► Instructions ──states──► State

Every instruction says where to go on, alternatives in order of preferment. A loop keeps its count
in a register; a permutation keeps in one which of its parts it has had. Registers of loops inside
each other form a stack.

Source: Thompson's and Pike's machines, as in Trino's `IrRowPatternToProgramRewriter`; the empty
iteration as in ISO/IEC 19075-5, 7.2.8.
"""

import math
from dataclasses import dataclass
from itertools import permutations
from typing import Final

from cep.row_pattern.clause import (
    Alternation,
    Concatenation,
    Exclusion,
    PartitionEnd,
    PartitionStart,
    Permutation,
    Repetition,
    RowPattern,
    Variable,
    parts_of,
)
from cep.row_pattern.errors import Mistake, refusal

_MAX_ORDERS: Final = 5_040
"""How many orders of a permutation are written out, where they must be: those of seven parts."""
_MAX_INSTRUCTIONS: Final = 100_000


@dataclass(frozen=True, slots=True)
class Take:
    """Take a row as a primary variable, then go on at `then`."""

    variable: int
    is_excluded: bool
    then: int


@dataclass(frozen=True, slots=True)
class Fork:
    """Go on at one of these, the first preferred."""

    targets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BeginLoop:
    """Push a register with count 0 and go on at the head."""

    head: int


@dataclass(frozen=True, slots=True)
class LoopHead:
    """Begin an iteration at `body` or leave the loop for `behind`, as the count allows."""

    minimum: int
    maximum: int | None
    is_reluctant: bool
    body: int
    behind: int


@dataclass(frozen=True, slots=True)
class EndIteration:
    """Count an iteration and return to the head, or leave the loop if it must not go on."""

    head: int
    minimum: int
    maximum: int | None
    behind: int


@dataclass(frozen=True, slots=True)
class BeginPermutation:
    """Push a register without any part in it and go on at the head."""

    head: int


@dataclass(frozen=True, slots=True)
class PermutationHead:
    """Begin one of the parts that have not been had; with all of them leave for `behind`."""

    parts: tuple[int, ...]
    behind: int


@dataclass(frozen=True, slots=True)
class AtStart:
    """Go on only before the first row of the partition."""

    then: int


@dataclass(frozen=True, slots=True)
class AtEnd:
    """Go on only after the last row of the partition."""

    then: int


@dataclass(frozen=True, slots=True)
class Accept:
    """The match is complete."""


Instruction = (
    Take
    | Fork
    | BeginLoop
    | LoopHead
    | EndIteration
    | BeginPermutation
    | PermutationHead
    | AtStart
    | AtEnd
    | Accept
)


@dataclass(frozen=True, slots=True)
class Instructions:
    """A whole pattern; it begins at `start`. `code[i]` is the instruction at `i`."""

    code: tuple[Instruction, ...]
    start: int


def compile_pattern(text: str, pattern: RowPattern, variables: tuple[str, ...]) -> Instructions:
    """Return the instructions of a pattern; `variables` are the primary ones by number.

    Raises:
        ClauseError: the pattern is too large once permutations are written out.
    """
    compiler = _Compiler(text, variables)
    accept = compiler.add(Accept())
    start = compiler.pattern(pattern, accept, is_excluded=False)
    return Instructions(tuple(compiler.code), start)


class _Compiler:
    """Compiles from the end to the beginning: every part knows where to go on after it."""

    def __init__(self, text: str, variables: tuple[str, ...]) -> None:
        self.code: list[Instruction] = []
        self._text = text
        self._numbers = {name: number for number, name in enumerate(variables)}

    def add(self, instruction: Instruction) -> int:
        self.code.append(instruction)
        if len(self.code) > _MAX_INSTRUCTIONS:
            message = "the pattern is too large once its permutations are written out"
            raise refusal(self._text, (0, 15), Mistake.TOO_LARGE, message)
        return len(self.code) - 1

    def pattern(  # noqa: PLR0911 - one line per kind of pattern
        self, pattern: RowPattern, then: int, *, is_excluded: bool
    ) -> int:
        """Add the instructions of a pattern; return where they begin."""
        match pattern:
            case Variable(name=name):
                return self.add(Take(self._numbers[name.folded], is_excluded, then))
            case Concatenation(parts=parts):
                for part in reversed(parts):
                    then = self.pattern(part, then, is_excluded=is_excluded)
                return then
            case Alternation(alternatives=alternatives):
                return self._fork(alternatives, then, is_excluded=is_excluded)
            case Permutation():
                return self._permutation(pattern, then, is_excluded=is_excluded)
            case Exclusion(inner=inner):
                return self.pattern(inner, then, is_excluded=True)
            case PartitionStart():
                return self.add(AtStart(then))
            case PartitionEnd():
                return self.add(AtEnd(then))
            case Repetition():
                return self._loop(pattern, then, is_excluded=is_excluded)

    def _fork(self, alternatives: tuple[RowPattern, ...], then: int, *, is_excluded: bool) -> int:
        targets = tuple(self.pattern(a, then, is_excluded=is_excluded) for a in alternatives)
        return self.add(Fork(targets))

    def _loop(self, loop: Repetition, then: int, *, is_excluded: bool) -> int:
        if loop.minimum == loop.maximum == 1:
            return self.pattern(loop.inner, then, is_excluded=is_excluded)
        if loop.minimum == 0 and loop.maximum == 1:
            # The only iteration ends the loop in any case, so nothing has to be counted.
            body = self.pattern(loop.inner, then, is_excluded=is_excluded)
            return self.add(Fork((then, body) if loop.is_reluctant else (body, then)))
        head = self.add(Accept())  # its place; what stands there needs the body
        end = self.add(EndIteration(head, loop.minimum, loop.maximum, then))
        body = self.pattern(loop.inner, end, is_excluded=is_excluded)
        self.code[head] = LoopHead(loop.minimum, loop.maximum, loop.is_reluctant, body, then)
        return self.add(BeginLoop(head))

    def _permutation(self, permutation: Permutation, then: int, *, is_excluded: bool) -> int:
        parts = permutation.parts
        if all(_has_one_way(part) for part in parts):
            head = self.add(Accept())
            bodies = tuple(self.pattern(part, head, is_excluded=is_excluded) for part in parts)
            self.code[head] = PermutationHead(bodies, then)
            return self.add(BeginPermutation(head))
        if math.factorial(len(parts)) > _MAX_ORDERS:
            message = f"PERMUTE of {len(parts)} parts that can match in several ways is too large"
            hint = "up to 7 such parts can be permuted, and more plain variables"
            raise refusal(self._text, permutation.span, Mistake.TOO_LARGE, message, hint)
        return self._fork(
            tuple(Concatenation(order) for order in permutations(parts)),
            then,
            is_excluded=is_excluded,
        )


def _has_one_way(pattern: RowPattern) -> bool:
    """Return whether a pattern matches in one way only, and takes a row.

    Then it does not matter whether the order of the parts or the way of a part is chosen first.
    """
    match pattern:
        case Variable():
            return True
        case Concatenation(parts=parts) if parts:
            return all(_has_one_way(part) for part in parts)
        case Exclusion():
            return all(_has_one_way(part) for part in parts_of(pattern))
        case _:
            return False
