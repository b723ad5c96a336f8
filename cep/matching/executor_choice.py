"""Which executor moves the keys of a shape: compiled code or Python. It is chosen here alone.

    machine ──code_or_reason──► ResidualCode ──► compiled code
                           └──► Interpreted: why in Python ──► report of the job, `percept explain`

Compiled code must be there besides (`cep.compiling.is_ready`), and takes parts of a batch only: the
machine in Python moves keys of which few events come, and those that compiled code gave up on.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from cep.compiling import MOST_BITS
from cep.condition_code.operands import NotCompilable
from cep.matching.machines import KeyMachine
from cep.matching.shapes import Shape
from cep.nfa.machine import Machine
from cep.nfa_kernel.residual_code import ResidualCode, residual_code

_LONGEST_WINDOW_MS: Final = 2**60
"""The end of a longer one might not fit 64 bits."""


@dataclass(frozen=True, slots=True)
class Interpreted:
    """Why a machine runs in Python: what it has, as in "a condition that calls Python"."""

    reason: str


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


def interpreted_rules(shapes: Iterable[Shape]) -> dict[str, str]:
    """Return why rules run in Python, by rule; those that compiled code can run are left out."""
    reasons: dict[str, str] = {}
    for shape in shapes:
        choice = code_or_reason(shape.machine)
        if isinstance(choice, Interpreted):
            reasons.update((member.rule, choice.reason) for member in shape.members)
    return reasons
