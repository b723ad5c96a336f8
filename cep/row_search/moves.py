"""What a row does to all candidates of a start at once, where conditions look at that row alone.

    states of the candidates, in order · variables the row can be ──► Move, worked out on first use

Then nothing but the states and the row decides, so the walk over the candidates is done once for
each combination, as a lazy DFA does, and afterwards looked up.

Source: RE2's DFA, built while it runs, with ordered states for the preference of a backtracker.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from cep.row_search.automaton.states import State, States
from cep.row_search.effort import owed
from cep.row_search.partition import Candidate

_MOVES_KEPT: Final = 20_000


@dataclass(frozen=True, slots=True, eq=False)
class Move:
    """Where candidates come to.

    `open` are the candidates behind the row: the place of the one before among the candidates, the
    code of the row, the state. `accepted` is the place and the code of one that is complete, which
    cut off all behind it. `states` are all that were reached; `owed` is what was tried.
    """

    open: tuple[tuple[int, int, State], ...]
    accepted: tuple[int, int] | None
    states: frozenset[State]
    owed: int


class Moves:
    """The moves of one clause. A cache: it can be emptied at any time."""

    def __init__(self, states: States) -> None:
        self._states = states
        self._variables: dict[tuple[State, ...], int] = {}
        self._moves: dict[tuple[tuple[State, ...], int], Move] = {}

    def of(self, candidates: Sequence[Candidate], known: int, true: int) -> Move | None:
        """Return what a row does; `None` if it is not known yet which variables it can be.

        Args:
            candidates: in order of preferment.
            known: the variables of which it is known whether the row can be one, as bits.
            true: those it can be.
        """
        key = tuple([state for state, _, _ in candidates])
        variables = self._variables.get(key)
        if variables is None:
            variables = self._variables_of(key)
        if variables & ~known:
            return None
        move = self._moves.get((key, true & variables))
        return self._move(key, true & variables) if move is None else move

    def _variables_of(self, key: tuple[State, ...]) -> int:
        if len(self._variables) >= _MOVES_KEPT:
            self._variables.clear()
            self._moves.clear()
        variables = 0
        for state in key:
            for step in state.steps:
                variables |= 1 << step.variable
        self._variables[key] = variables
        return variables

    def _move(self, key: tuple[State, ...], true: int) -> Move:
        if len(self._moves) >= _MOVES_KEPT:
            self._moves.clear()
        move = self._moves[key, true] = self._walked(key, true)
        return move

    def _walked(self, key: tuple[State, ...], true: int) -> Move:
        still_open: list[tuple[int, int, State]] = []
        seen: set[State] = set()
        owes = 0
        for place, state in enumerate(key):
            for step in state.steps:
                if not true >> step.variable & 1:
                    continue
                target = self._states.at(step.place)
                if target in seen:
                    continue
                seen.add(target)
                owes += owed(len(target.steps), self._states.walked(step.place))
                if target.is_open:
                    still_open.append((place, step.code, target))
                if target.accepts:
                    return Move(tuple(still_open), (place, step.code), frozenset(seen), owes)
        return Move(tuple(still_open), None, frozenset(seen), owes)
