"""The search and the output: every candidate in order of preferment, until one holds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from operator import itemgetter
from typing import Any

from tests.row_pattern.brute_force.evaluation import Failed, Match, value
from tests.row_pattern.brute_force.expressions import NotCovered, Tree
from tests.row_pattern.brute_force.reading import Clause, read

Path = tuple[tuple[str, bool], ...]
"""The rows of a candidate from the start row on: variable, and whether it is excluded."""

_STEPS = 6_000


@dataclass(frozen=True)
class Answer:
    """The columns of the result in upper case, and its rows; `error` if the query fails."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    error: str | None = None


def brute_force(
    text: str, rows: Sequence[Sequence[Any]], columns: Mapping[str, str], *, steps: int = _STEPS
) -> Answer:
    """Return the result of a query over rows in order of arrival, after so many steps at most."""
    clause = read(text)
    names = [name.upper() for name in columns]
    if len(set(names)) < len(names):
        raise NotCovered("columns that differ in case only")
    partitions: dict[Any, list[dict[str, Any]]] = {}
    for row in rows:
        named = dict(zip(names, row, strict=True))
        key = tuple(named[name] for name in clause.partition_by)
        partitions.setdefault(key, []).append(named)
    found: list[tuple[Any, ...]] = []
    budget = [steps]
    output = _output_columns(clause, names)
    try:
        for partition in partitions.values():
            for order in reversed(clause.order_by):
                _sort(partition, *order)
            found.extend(_Partition(clause, partition, budget, output).result())
    except Failed as failed:
        return Answer((), [], failed.code)
    return Answer(tuple(name for name, _ in output), found)


def _sort(rows: list[dict[str, Any]], name: str, is_descending: bool) -> None:  # noqa: FBT001
    """Sort by a column, stable; NULLs come last."""
    there = [row for row in rows if row[name] is not None]
    there.sort(key=itemgetter(name), reverse=is_descending)
    rows[:] = [*there, *(row for row in rows if row[name] is None)]


def _output_columns(clause: Clause, names: Sequence[str]) -> list[tuple[str, bool]]:
    """Return the columns of the output in order, and which of them are measures."""
    leading = [*clause.partition_by, *(name for name, _ in clause.order_by if clause.rows != "ONE")]
    others = [name for name in names if name not in leading] if clause.rows != "ONE" else []
    return [
        *((name, False) for name in dict.fromkeys(leading)),
        *((name, True) for _, name in clause.measures),
        *((name, False) for name in others),
    ]


class _Partition:
    def __init__(
        self,
        clause: Clause,
        rows: list[dict[str, Any]],
        budget: list[int],
        output: list[tuple[str, bool]],
    ) -> None:
        self._clause = clause
        self._rows = rows
        self._budget = budget
        self._output = output
        self._start = 0
        self._number = 1

    def result(self) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of the result of this partition."""
        covered = 0
        while self._start < len(self._rows):
            path = next(self._ways(self._clause.pattern, ()), None)
            if path is None:
                if self._clause.rows == "UNMATCHED" and self._start >= covered:
                    yield self._row(self._start, None)
                self._start += 1
                continue
            yield from self._matched(path)
            covered = max(covered, self._start + len(path))
            self._start = self._next_start(path)
            self._number += 1

    # Candidates

    def _ways(  # noqa: C901, PLR0912 - one case per kind of pattern
        self, pattern: Tree, path: Path
    ) -> Iterator[Path]:
        """Yield the path with all continuations along a pattern that hold, preferred ones first."""
        self._budget[0] -= 1
        if self._budget[0] < 0:
            raise NotCovered("too much has to be tried")
        match pattern:
            case ("variable", name):
                if self._holds(name, path):
                    yield (*path, (name, False))
            case ("then",):
                yield path
            case ("then", first, *rest):
                for behind in self._ways(first, path):
                    yield from self._ways(("then", *rest), behind)
            case ("or", *alternatives):
                for alternative in alternatives:
                    yield from self._ways(alternative, path)
            case ("permute", *parts):
                for order in permutations(parts):
                    yield from self._ways(("then", *order), path)
            case ("exclude", inner):
                for behind in self._ways(inner, path):
                    yield (*path, *((name, True) for name, _ in behind[len(path) :]))
            case ("start",):
                if self._start + len(path) == 0:
                    yield path
            case ("end",):
                if self._start + len(path) == len(self._rows):
                    yield path
            case ("repeat", inner, low, high, is_reluctant):
                yield from self._repeated((inner, low, high, is_reluctant), 0, path)
            case _:
                raise NotCovered(pattern[0])

    def _repeated(self, loop: tuple[Tree, int, Any, bool], done: int, path: Path) -> Iterator[Path]:
        inner, low, high, is_reluctant = loop
        may_stop = done >= low
        if may_stop and is_reluctant:
            yield path
        if high is None or done < high:
            for behind in self._ways(inner, path):
                if len(behind) == len(path) and done + 1 >= low:
                    yield behind  # an empty repetition ends the repeating
                else:
                    yield from self._repeated(loop, done + 1, behind)
        if may_stop and not is_reluctant:
            yield path

    def _holds(self, name: str, path: Path) -> bool:
        index = self._start + len(path)
        if index >= len(self._rows):
            return False
        if self._clause.within_ms is not None:
            order = self._clause.order_by[0][0]
            first, last = self._rows[self._start][order], self._rows[index][order]
            if first is None or last is None:
                raise NotCovered("a row without time")
            if last - first >= self._clause.within_ms:
                return False
        condition = self._clause.conditions.get(name)
        return condition is None or value(condition, self._seen((*path, (name, False)))) is True

    def _seen(self, path: Path, current: int | None = None) -> Match:
        return Match(
            rows=self._rows,
            start=self._start,
            variables=tuple(name for name, _ in path),
            number=self._number,
            unions=self._clause.unions,
            current=len(path) - 1 if current is None else current,
        )

    # After a match

    def _next_start(self, path: Path) -> int:
        if not path or self._clause.skip == "NEXT":
            return self._start + 1
        if self._clause.skip == "PAST":
            return self._start + len(path)
        side, name = self._clause.skip
        members = self._clause.unions.get(name, {name})
        places = [place for place, (variable, _) in enumerate(path) if variable in members]
        if not places:
            raise Failed("SKIP_TO_ABSENT_VARIABLE")
        place = places[0] if side == "FIRST" else places[-1]
        if place == 0:
            raise Failed("SKIP_TO_FIRST_ROW")
        return self._start + place

    # Output

    def _matched(self, path: Path) -> Iterator[tuple[Any, ...]]:
        if not path:
            if self._clause.rows != "OMIT":
                yield self._row(self._start, self._seen(()))
        elif self._clause.rows == "ONE":
            yield self._row(self._start + len(path) - 1, self._seen(path))
        else:
            for place, (_, is_excluded) in enumerate(path):
                if not is_excluded:
                    yield self._row(self._start + place, self._seen(path, place))

    def _row(self, index: int, seen: Match | None) -> tuple[Any, ...]:
        """Return a row of the output; measures of an unmatched row are NULL."""
        measures = iter(self._clause.measures)
        return tuple(
            (None if seen is None else value(next(measures)[0], seen))
            if is_measure
            else self._rows[index][name]
            for name, is_measure in self._output
        )
