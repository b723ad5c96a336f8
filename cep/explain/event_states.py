"""Pattern tree → its state graph, from the very program that runs.

PatternTree ──cep.nfa.compiler──► Program ──► StateGraph
"""

from collections import deque
from typing import Final

from cep.explain.state_graph import MOST_STATES, Action, Edge, Node, NodeKind, StateGraph, cut_note
from cep.nfa.compiler.compile import CompiledPattern, compile_pattern
from cep.nfa.program import Action as ProgramAction
from cep.nfa.program import Always, Both, Guard, IsTrue, Not, Program, StateKind
from cep.pattern.durations import duration_text
from cep.pattern.tree import PatternTree, SkipKind, SkipStrategy

_KINDS: Final = {
    StateKind.NORMAL: NodeKind.WAITING,
    StateKind.PENDING: NodeKind.PENDING,
    StateKind.STOP: NodeKind.STOP,
    StateKind.FINAL: NodeKind.FINAL,
}
_ACTIONS: Final = {
    ProgramAction.TAKE: Action.TAKE,
    ProgramAction.IGNORE: Action.IGNORE,
    ProgramAction.PROCEED: Action.GO_ON,
}


def event_states(tree: PatternTree) -> StateGraph:
    """Return the states of a valid pattern, those reached first first."""
    compiled = compile_pattern(tree)
    program = compiled.program
    order, is_cut = _in_order(program)
    places = {state: place for place, state in enumerate(order)}
    edges = tuple(
        Edge(
            places[state],
            places[transition.target],
            _ACTIONS[transition.action],
            _step(compiled, state),
            guard_text(compiled, transition.guard),
        )
        for state in order
        if program.states[state].kind is not StateKind.STOP
        for transition in program.states[state].transitions
        if transition.target in places
    )
    nodes = tuple(_node(compiled, state) for state in order)
    notes = (*_notes(tree, program), *([cut_note()] if is_cut else []))
    return StateGraph("Pattern", nodes, edges, notes, is_cut)


def _in_order(program: Program) -> tuple[list[int], bool]:
    """Return the states that can be reached, the nearest first, and whether some were left out."""
    order, pending = [program.start], deque([program.start])
    is_cut = False
    while pending:
        for transition in program.states[pending.popleft()].transitions:
            if transition.target in order:
                continue
            if len(order) == MOST_STATES:
                is_cut = True
                continue
            order.append(transition.target)
            pending.append(transition.target)
    return order, is_cut


def _node(compiled: CompiledPattern, state: int) -> Node:
    found = compiled.program.states[state]
    kind, step = _KINDS[found.kind], _step(compiled, state)
    if state == compiled.program.start and kind is NodeKind.WAITING:
        kind = NodeKind.START
    label = {
        NodeKind.START: f"start, at {step}",
        NodeKind.STOP: f"{step} came",
        NodeKind.FINAL: "match",
    }.get(kind, f"waits for {step}" if step else "end of a group")
    if kind is NodeKind.PENDING:
        label = f"match unless {step} comes"
    if found.previous_window_ms is not None:
        label += f", within {duration_text(found.previous_window_ms)} of the event before"
    return Node(kind, label)


def _step(compiled: CompiledPattern, state: int) -> str:
    step = compiled.program.states[state].step
    return compiled.step_names[step] if step >= 0 else ""


def guard_text(compiled: CompiledPattern, guard: Guard) -> str:
    """Return a guard as a condition; "" = always true."""
    match guard:
        case Always():
            return ""
        case IsTrue(condition):
            return str(compiled.conditions[condition])
        case Not(Always()):
            return "FALSE"
        case Not(inner):
            return f"({guard_text(compiled, inner)}) IS NOT TRUE"
        case Both(left, right):
            texts = [text for text in (guard_text(compiled, g) for g in (left, right)) if text]
            return " AND ".join(f"({text})" for text in texts) if len(texts) > 1 else "".join(texts)


def _notes(tree: PatternTree, program: Program) -> list[str]:
    notes = []
    if program.window_ms:
        notes.append(f"A partial match ends {duration_text(program.window_ms)} after its start.")
    notes.append(_skip_note(tree.after_match_skip))
    return notes


def _skip_note(skip: SkipStrategy) -> str:
    match skip.kind:
        case SkipKind.NO_SKIP:
            return "Every way through the graph is followed, and every match reported."
        case SkipKind.SKIP_TO_NEXT:
            return "After a match, others that begin with the same event are dropped."
        case SkipKind.SKIP_PAST_LAST_EVENT:
            return "After a match, all that began before its end are dropped."
        case SkipKind.SKIP_TO_FIRST | SkipKind.SKIP_TO_LAST:
            which = "first" if skip.kind is SkipKind.SKIP_TO_FIRST else "last"
            return f"After a match, all that began before its {which} {skip.step} are dropped."
