"""Which rows a match can open with: a test on columns, before the search looks at any row.

    states behind 0, 1, 2 ... rows ──► variables that the first, second, third ... row can be

Source: the factors of a regular expression that every match must have, as in Hyperscan.
"""

from typing import Final

from cep.row_search.automaton.states import State
from cep.row_search.program import RowProgram

_MOST_ROWS: Final = 16
_MOST_STATES: Final = 1_000


def openings(program: RowProgram) -> tuple[int, ...]:
    """Return, as bits, the variables that each of the first rows of any match can be.

    No longer than the shortest match. It ends at the first row of which a condition looks at more
    than the row: that must be tried, as it may fail. Empty where every row brings something.
    """
    if not program.beginners:
        return ()
    found: list[int] = []
    states = {program.states.initial(is_first_row=False)}
    while len(found) < min(program.fewest_rows, _MOST_ROWS) and len(states) <= _MOST_STATES:
        steps = [step for state in states for step in state.steps]
        variables = {step.variable for step in steps}
        found.append(sum(1 << variable for variable in variables))
        if any(program.conditions[variable].residual is not None for variable in variables):
            break
        following: set[State] = {program.states.at(step.place) for step in steps}
        states = following
    return tuple(found)
