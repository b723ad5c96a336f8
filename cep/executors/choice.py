"""Which executor moves the keys of a shape: compiled code or Python. It is chosen here alone.

    shapes ──choices_of──► ResidualCode ──► `cep.executors.compiled`, once it is there
                      └──► Interpreted: why in Python ──► `percept explain`, jobs and their reports

Compiled code takes parts of a batch only: the machine in Python moves keys of which few events
come, and those that compiled code gave up on.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from cep.compiling import MOST_BITS, is_ready
from cep.condition_code.operands import NotCompilable
from cep.keyed.machines import KeyMachine
from cep.keyed.matcher import KeyedMatcher
from cep.keyed.shapes import Shape
from cep.nfa.machine import Machine
from cep.nfa_kernel.residual_code import ResidualCode, residual_code

if TYPE_CHECKING:
    from cep.executors.compiled.object_keys import CompiledShapes
    from cep.executors.compiled.stored_keys import EncodedShapes

_LONGEST_WINDOW_MS: Final = 2**60
"""The end of a longer one might not fit 64 bits."""


@dataclass(frozen=True, slots=True)
class Interpreted:
    """Why a machine runs in Python: what it has, as in "a condition that calls Python"."""

    reason: str


Choices = list[tuple[Shape, ResidualCode | Interpreted]]
"""What runs each shape."""


def code_or_reason(machine: KeyMachine) -> ResidualCode | Interpreted:
    """Return what compiled code has to test for a machine, or why it cannot run it."""
    if not isinstance(machine, Machine):
        return Interpreted("a clause that is searched for row by row, as no pattern is equal to it")
    if machine.all_rules.bit_length() > MOST_BITS:
        return Interpreted(f"more than {MOST_BITS} rules that begin with the same events")
    states = machine.program.states
    windows_ms = [machine.program.window_ms, *(state.previous_window_ms or 0 for state in states)]
    if max(windows_ms) > _LONGEST_WINDOW_MS:
        return Interpreted("a window whose end does not fit 64 bits")
    try:
        return residual_code(machine)
    except NotCompilable as refusal:
        return Interpreted(f"{refusal}")


def choices_of(shapes: Iterable[Shape]) -> Choices:
    """Return what runs each shape; it takes about a fifth of a millisecond for each rule."""
    return [(shape, code_or_reason(shape.machine)) for shape in shapes]


def compiled_shapes(matcher: KeyedMatcher, choices: Choices) -> "CompiledShapes | None":
    """Return those shapes of a matcher that compiled code can run; `None` until it is there."""
    if not is_ready("cep.nfa_kernel"):
        return None
    # Only here, as numba is an extra, and takes half a second to import.
    from cep.executors.compiled.object_keys import CompiledShapes  # noqa: PLC0415
    from cep.executors.compiled.shape_walk import compiled_shape  # noqa: PLC0415

    return CompiledShapes(
        matcher,
        [
            compiled_shape(shape, shape.machine, code)
            for shape, code in choices
            if isinstance(shape.machine, Machine) and isinstance(code, ResidualCode)
        ],
    )


def encoded_shapes(matcher: KeyedMatcher, compiled: "CompiledShapes") -> "EncodedShapes | None":
    """Return what moves keys that are bytes; `None` unless compiled code can run all shapes."""
    if (every := compiled.every) is None:
        return None
    from cep.executors.compiled.stored_keys import EncodedShapes  # noqa: PLC0415 - as above

    return EncodedShapes(matcher, every)


def interpreted_rules(choices: Choices) -> dict[str, str]:
    """Return why rules run in Python, by rule; those that compiled code can run are left out."""
    reasons: dict[str, str] = {}
    for shape, choice in choices:
        if isinstance(choice, Interpreted):
            # Rules of one shape run as one machine.
            where = ", in it or in a rule with the same steps" if len(shape.members) > 1 else ""
            reasons.update((member.rule, choice.reason + where) for member in shape.members)
    return reasons
