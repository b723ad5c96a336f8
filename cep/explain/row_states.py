"""A clause → its state graph, from the very states that the search walks along.

    Clause ──instructions──► States ──breadth-first──► StateGraph

The edges of a state are in order of preferment: the first that leads to a match is the match.
"""

from cep.explain.state_graph import MOST_STATES, Action, Edge, Node, NodeKind, StateGraph, cut_note
from cep.pattern.durations import duration_text
from cep.row_pattern.analysis.analyse import analyse
from cep.row_pattern.clause import Clause, SkipTo
from cep.row_pattern.writing import scalar_text
from cep.row_search.automaton.instructions import compile_pattern
from cep.row_search.automaton.states import State, States, Step

_Content = tuple[object, ...]
_MATCH: _Content = ((), True, True, False)


def row_states(clause: Clause) -> StateGraph:
    """Return the states of a clause, those reached first first.

    Raises:
        ClauseError: the clause breaks a rule, or its pattern is too large.
        LimitExceeded: too much can follow somewhere.
    """
    bound = analyse(clause, None)
    states = States(compile_pattern(clause.text, clause.pattern, bound.variables))
    conditions = {d.variable.folded: scalar_text(d.condition) for d in clause.definitions}
    walk = _Walk(states, bound.variables, conditions)
    walk.run()
    notes = _notes(clause) + ([cut_note()] if walk.is_cut else [])
    return StateGraph(
        "Row pattern", tuple(walk.nodes), tuple(walk.edges), tuple(notes), walk.is_cut
    )


class _Walk:
    """The walk over all states, the nearest first."""

    def __init__(
        self, states: States, variables: tuple[str, ...], conditions: dict[str, str]
    ) -> None:
        self._states = states
        self._variables = variables
        self._conditions = conditions
        self._places: dict[_Content, int] = {}
        self._pending: list[State] = []
        self.nodes: list[Node] = []
        self.edges: list[Edge] = []
        self.is_cut = False

    def run(self) -> None:
        elsewhere = self._states.initial(is_first_row=False)
        first = self._states.initial(is_first_row=True)
        differ = _content(elsewhere) != _content(first)
        self._start(elsewhere, "start, in the middle of the partition" if differ else "start")
        if differ:
            self._start(first, "start, at its first row")
        done = 0
        while done < len(self._pending):
            self._edges_of(done, self._pending[done])
            done += 1

    def _start(self, state: State, label: str) -> None:
        self.nodes.append(Node(NodeKind.START, label))
        self._pending.append(state)

    def _place(self, state: State) -> int | None:
        content = _content(state)
        if content not in self._places:
            if len(self.nodes) >= MOST_STATES:
                self.is_cut = True
                return None
            is_final = content == _MATCH
            self._places[content] = len(self.nodes)
            label = "match" if is_final else f"state {len(self.nodes)}"
            self.nodes.append(Node(NodeKind.FINAL if is_final else NodeKind.WAITING, label))
            self._pending.append(state)
        return self._places[content]

    def _edges_of(self, number: int, state: State) -> None:
        if _content(state) == _MATCH and self.nodes[number].kind is NodeKind.FINAL:
            return
        for step in state.steps:
            target = self._place(self._states.at(step.place))
            if target is not None:
                self.edges.append(self._take(number, target, step))
        if state.accepts or state.awaits_end:
            remark = "" if state.accepts else "only at the end of the partition"
            final = self._final()
            if final is not None:
                self.edges.append(Edge(number, final, Action.COMPLETE, "", "", remark))

    def _take(self, source: int, target: int, step: Step) -> Edge:
        variable = self._variables[step.variable]
        remark = "left out of the output" if step.code % 2 else ""
        condition = self._conditions.get(variable, "")
        return Edge(source, target, Action.TAKE, variable, condition, remark)

    def _final(self) -> int | None:
        return self._place(State((0, ()), (), True, True, False, frozenset()))  # noqa: FBT003


def _content(state: State) -> _Content:
    return (state.steps, state.accepts, state.accepts_at_end, state.awaits_end)


def _notes(clause: Clause) -> list[str]:
    notes = ["Of the ways on, the first that leads to a match is taken."]
    if clause.within_ms is not None:
        within = duration_text(clause.within_ms)
        notes.append(f"The rows of a match are less than {within} from its first one.")
    match clause.skip.to:
        case SkipTo.PAST_LAST_ROW:
            behind = "behind its last row"
        case SkipTo.NEXT_ROW:
            behind = "at the row behind its first one"
        case SkipTo.FIRST | SkipTo.LAST:
            which = "first" if clause.skip.to is SkipTo.FIRST else "last"
            variable = clause.skip.variable.folded if clause.skip.variable else ""
            behind = f"at its {which} row of {variable}"
    notes.append(f"After a match the search goes on {behind}.")
    return notes
