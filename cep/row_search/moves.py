"""What a row does to all candidates of a start at once, where conditions look at that row alone.

    states of the candidates, in order = Node ──variables the row can be──► Move ──► the next Node

Then nothing but the states and the row decides, so the walk over the candidates is done once for
each combination, as a lazy DFA does, and afterwards looked up. Which rows a candidate has is told
by the moves, one a row, when somebody asks.

Source: RE2's DFA, built while it runs, with ordered states for the preference of a backtracker.
"""

from collections.abc import Sequence
from typing import Final

from cep.nfa.limits import Limits
from cep.row_search.automaton.states import State, States
from cep.row_search.effort import owe, owed
from cep.row_search.nodes import Move, Node
from cep.row_search.partition import Candidate, Partition

_MOVES_KEPT: Final = 20_000


class Moves:
    """The moves of one clause. A cache: it can be emptied at any time."""

    def __init__(self, states: States) -> None:
        self._states = states
        self._nodes: dict[tuple[State, ...], Node] = {}
        self._count = 0

    def node_of(self, candidates: Sequence[Candidate]) -> Node:
        """Return the node of candidates, in order of preferment."""
        return self._node(tuple([state for state, _, _ in candidates]))

    def of(self, partition: Partition, limits: Limits, node: Node) -> Move | None:
        """Return what the next row does; `None` if it is not known yet which variables it can be.

        Raises:
            LimitExceeded: it would be too much, found before all of it is tried.
        """
        place = partition.cursor - partition.base
        known, true = partition.known[place], partition.true[place]
        if node.variables & ~known:
            return None
        move = node.moves.get(true)
        if move is None:
            if self._count >= _MOVES_KEPT:
                self._clear()
            self._count += 1
            move = node.moves[true] = self._walked(partition, limits, node, true)
        return move

    def _clear(self) -> None:
        for node in self._nodes.values():
            node.moves.clear()
        self._nodes.clear()
        self._count = 0

    def _node(self, states: tuple[State, ...]) -> Node:
        node = self._nodes.get(states)
        if node is None:
            variables = 0
            for state in states:
                for step in state.steps:
                    variables |= 1 << step.variable
            node = self._nodes[states] = Node(states, variables)
        return node

    def _walked(self, partition: Partition, limits: Limits, node: Node, true: int) -> Move:
        still_open: list[tuple[int, int]] = []
        targets: list[State] = []
        accepted: tuple[int, int] | None = None
        seen: set[State] = set()
        owes = 0
        for place, step in (
            (place, step) for place, state in enumerate(node.states) for step in state.steps
        ):
            if not true >> step.variable & 1:
                continue
            target = self._states.at(step.place)
            if target in seen:
                continue
            seen.add(target)
            owes += owed(len(target.steps), self._states.walked(step.place))
            if partition.debt + owes > limits.partial_matches:
                owe(partition, limits, owes)
            if target.is_open:
                still_open.append((place, step.code))
                targets.append(target)
            if target.accepts:
                accepted = (place, step.code)
                break
        return Move(
            tuple(still_open),
            self._node(tuple(targets)),
            accepted,
            frozenset(seen),
            owes,
            leads_on=bool(still_open) and accepted is None,
        )
