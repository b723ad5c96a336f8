"""The states of all candidates together, and where a row brings them: a lazy DFA.

`cep.row_search.moves` makes it; a partition keeps the node it is at, and the moves that led there.
"""

from dataclasses import dataclass, field

from cep.row_search.automaton.states import State


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """The states of the candidates, in order, and the moves from there that are known.

    `variables` are those a next row can be, as bits. `moves` is by the variables that a row can be,
    of all of the clause: good for rows of which those in `variables` are known. A cache.
    """

    states: tuple[State, ...]
    variables: int
    moves: "dict[int, Move]" = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Move:
    """Where candidates come to.

    `open` are the candidates after the row: the place of the one before among the candidates, and
    the code of the row; their states are those of `target`. `accepted` is the same of one that is
    complete, which cut off all after it. `states` are all that were reached; `owed` is what was
    tried. `leads_on`: some are open, and none is complete.
    """

    open: tuple[tuple[int, int], ...]
    target: Node
    accepted: tuple[int, int] | None
    states: frozenset[State]
    owed: int
    leads_on: bool
