"""One row on its way through the candidates of a start: which variables it can be, and for whom.

Source: ISO/IEC 19075-5, 4.16: a row is tentatively mapped to the variable that is tested.
"""

from cep.expression import EvaluationError
from cep.row_search.automaton.states import Step
from cep.row_search.conditions import CompiledCondition, Tentative
from cep.row_search.errors import failure_of
from cep.row_search.memory import Memory
from cep.row_search.partition import Partition, Path
from cep.row_search.program import RowProgram


class RowUnderTest:
    """The next row of a partition, tested for the candidates; equal tests are done once."""

    def __init__(self, program: RowProgram, partition: Partition) -> None:
        self._program = program
        self._partition = partition
        self._place = partition.cursor - partition.base
        self._row = partition.rows[self._place]
        self._outcomes: dict[tuple[int, Memory], Memory | None] = {}
        self._path: Path | None = None

    def tested(self, step: Step, path: Path | None, memory: Memory) -> Memory | None:
        """Return the memory after a step, `None` if the row cannot be taken so.

        Raises:
            RowPatternFailure: a condition fails.
        """
        variable, partition = step.variable, self._partition
        if partition.known[self._place] >> variable & 1:
            if not partition.true[self._place] >> variable & 1:
                return None
            return self._with_row(memory, variable)
        condition = self._program.conditions[variable]
        if condition.is_of_row:
            if not self._holds(condition, memory, path):
                partition.known[self._place] |= 1 << variable
                return None
            partition.known[self._place] |= 1 << variable
            partition.true[self._place] |= 1 << variable
            return self._with_row(memory, variable)
        if condition.sees_path:
            return self._tentative(condition, variable, path, memory)
        key = (variable, memory)
        if key not in self._outcomes:
            self._outcomes[key] = self._tentative(condition, variable, path, memory)
        return self._outcomes[key]

    def _tentative(
        self, condition: CompiledCondition, variable: int, path: Path | None, memory: Memory
    ) -> Memory | None:
        after = self._with_row(memory, variable)
        tentative_path: Path = (path, variable * 2)
        return after if self._holds(condition, after, tentative_path) else None

    def _with_row(self, memory: Memory, variable: int) -> Memory:
        if not memory:
            return memory
        program, partition = self._program, self._partition
        try:
            return program.layout.with_row(
                memory, variable, partition.cursor, self._row, partition.matches + 1
            )
        except EvaluationError as error:
            raise failure_of(error, "an aggregate in DEFINE") from error

    def _holds(self, condition: CompiledCondition, memory: Memory, path: Path | None) -> bool:
        if condition.residual is None:
            return True
        partition = self._partition
        self._path = path
        tentative = Tentative(
            partition, partition.cursor, memory, partition.matches + 1, self._variable_at
        )
        return condition.residual(self._row, tentative)

    def _variable_at(self, index: int) -> int | None:
        """Return the variable of a row of the candidate under test, by index."""
        back = self._partition.cursor - index
        if back < 0 or index < self._partition.start:
            return None
        path = self._path
        for _ in range(back):
            if path is None:
                return None
            path = path[0]
        return None if path is None else path[1] >> 1
