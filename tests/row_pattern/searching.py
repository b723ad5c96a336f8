"""The incremental search, row by row, its state written and read behind each of them."""

from collections.abc import Mapping
from operator import itemgetter
from typing import Any

from cep.expression import Schema, compile_predicate, row_reader
from cep.instants import time_ms_of
from cep.nfa.codec import pack_values, unpack_values
from cep.row_pattern.analysis.analyse import analyse
from cep.row_pattern.parsing.clauses import read_query
from cep.row_search.codec import partition_of_payload, partition_payload
from cep.row_search.output import RowOutput
from cep.row_search.partition import Partition
from cep.row_search.search import RowPatternSearch


class IncrementalRun:
    """One clause over rows that come one by one; `rows` is what has been output so far.

    `is_encoded`: the state of a partition is written and read behind every run.
    """

    def __init__(
        self,
        clause: str,
        columns: Mapping[str, str],
        *,
        is_encoded: bool,
        search_type: type[RowPatternSearch] = RowPatternSearch,
    ) -> None:
        schema = Schema.from_ddl(", ".join(f"`{name}` {kind}" for name, kind in columns.items()))
        self._names = [name for name, _ in schema.columns]
        self._clause = analyse(read_query(clause).clause, schema)
        reader = row_reader(self._names)
        self.search = search_type(self._clause, reader)
        self._output = RowOutput(self._clause, reader)
        self._tests = [
            None if test is None else compile_predicate(test, reader)
            for test in self.search.program.row_tests
        ]
        self._is_encoded = is_encoded
        self.partitions: dict[Any, Partition] = {}
        self.rows: list[tuple[Any, ...]] = []

    def process(self, row: tuple[Any, ...]) -> None:
        self._run(self.append(row), is_ended=False)

    def append(self, row: tuple[Any, ...]) -> Any:
        """Take the next row of its partition; return the key of the partition."""
        key = tuple(row[self._names.index(name)] for name in self._clause.partition_by)
        partition = self.partitions.setdefault(key, Partition())
        time_ms = 0
        if self._clause.within_ms is not None:
            time_ms = time_ms_of(row[self._names.index(self._clause.order_by[0][0])])
        passed = [test is None or test(row, ()) for test in self._tests]
        partition.append(row, time_ms, *self.search.program.row_bits(passed))
        return key

    def pass_time(self, time_ms: int) -> None:
        """Search every partition, knowing that no row before this time can come any more."""
        for key in self.partitions:
            self._run(key, is_ended=False, time_ms=time_ms)

    def search_all(self) -> None:
        for key in self.partitions:
            self._run(key, is_ended=False)

    def dicts(self) -> list[dict[str, Any]]:
        return [dict(zip(self._output.columns, row, strict=True)) for row in self.rows]

    def end(self) -> None:
        for key in self.partitions:
            self._run(key, is_ended=True)

    def _run(self, key: Any, *, is_ended: bool, time_ms: int | None = None) -> None:
        for found in self.search.run(self.partitions[key], time_ms=time_ms, is_ended=is_ended):
            self.rows.extend(self._output.rows(found))
        if self._is_encoded:
            data = pack_values(partition_payload(self.partitions[key]))
            self.partitions[key] = partition_of_payload(unpack_values(data), self.search)


def sorted_rows(rows: tuple[tuple[Any, ...], ...], names: list[str], query: str) -> list[Any]:
    """Return rows in the order of the first ORDER BY column; ties and NULLs as they come, last."""
    clause = read_query(query).clause
    ordered = list(rows)
    for order in reversed(clause.order_by):
        place = [name.casefold() for name in names].index(order.column.text.casefold())
        present = [row for row in ordered if row[place] is not None]
        absent = [row for row in ordered if row[place] is None]
        present.sort(key=itemgetter(place), reverse=order.is_descending)
        ordered = present + absent
    return ordered
