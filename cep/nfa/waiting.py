"""What a partial match waits for: the steps it can take next, and when its windows close.

Run ──deadline_ms──► instant          state ──next_steps──► steps awaited and forbidden
"""

from typing import NamedTuple

from cep.nfa.program import Action, Program, StateKind
from cep.nfa.runs import RUN_PREVIOUS_MS, RUN_START_MS, RUN_STATE, Run


class NextSteps(NamedTuple):
    """Steps by number, each once: those that can be taken next, and those that must not come.

    With nothing awaited, a partial match becomes a match when its window closes.
    """

    awaited: tuple[int, ...]
    forbidden: tuple[int, ...]


def deadline_ms(program: Program, run: Run) -> int | None:
    """Return when the first window of a partial match closes; `None` if it has none."""
    window_ms = program.window_ms
    first = run[RUN_START_MS] + window_ms if window_ms else None
    previous_window_ms = program.states[run[RUN_STATE]].previous_window_ms
    if not previous_window_ms:
        return first
    previous = run[RUN_PREVIOUS_MS] + previous_window_ms
    return previous if first is None else min(first, previous)


def next_steps(program: Program, state: int) -> NextSteps:
    """Return the steps that a partial match in a state can take next, and those it forbids."""
    awaited: dict[int, None] = {}
    forbidden: dict[int, None] = {}
    seen, todo = {state}, [state]
    while todo:
        here = program.states[todo.pop()]
        if here.kind is StateKind.STOP:
            forbidden[here.step] = None
            continue
        for transition in here.transitions:
            if transition.action is Action.TAKE:
                awaited[here.step] = None
            elif transition.action is Action.PROCEED and transition.target not in seen:
                seen.add(transition.target)
                todo.append(transition.target)
    return NextSteps(tuple(awaited), tuple(forbidden))
