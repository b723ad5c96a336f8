"""Windows as columns: tests that read a column in place of each window, and what fills it.

tests ──WindowColumns.of──► tests without windows · schema with a column for each window
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from cep.expression import DataType, Field, Node, Schema, to_sql
from cep.expression.checking.inference import type_of
from cep.expression.rewrite import rebuilt
from cep.expression.split import without_windows
from cep.expression.tree import FrameUnit, Literal, Window, windows_of
from cep.expression.values import Value
from cep.windows.rows import Flags, WindowRows, parts_of, still_needed, window_values

Since = Callable[[str], int | None]
"""From which event time on events count for a rule; `None`: all."""


Evaluate = Callable[[Node, Mapping[str, Sequence[Value]]], Sequence[Value]]
"""Returns the values of an expression for some events, given those of the columns that it reads."""


@dataclass(frozen=True, slots=True)
class WindowColumns:
    """The different windows of some tests, each with the name of its column, inner ones first.

    `plain` is each without its rule, and without what all events of a key have in common. `parts`
    are the expressions that they read of events, as they are written with columns in the
    place of inner windows.
    """

    names: Mapping[Window, str]
    plain: Mapping[Window, Window]
    parts: Mapping[Node, Node]

    @classmethod
    def of(cls, tests: Sequence[Node], key: Collection[Node] = ()) -> "WindowColumns":
        """Return those that are within some tests; `key` is what rows are told apart by anyway."""
        every = dict.fromkeys(window for test in tests for window in windows_of(test))
        names = {window: column_of(window) for window in sorted(every, key=_depth)}
        plain = {window: _plain(window, key) for window in names}
        found = cls(names, plain, {})
        parts = dict.fromkeys(part for window in plain.values() for part in parts_of(window))
        return replace(found, parts={part: found.replaced(part) for part in parts})

    def __bool__(self) -> bool:
        """Return whether there are any."""
        return bool(self.names)

    def replaced(self, node: Node) -> Node:
        """Return a test with columns in the place of windows."""
        if not self.names:
            return node
        if isinstance(node, Window):
            return Field((self.names[node],), node.span)
        return rebuilt(node, self.replaced)

    def types(self, schema: Schema) -> dict[str, DataType]:
        """Return the type of each column."""
        return {name: type_of(window, schema) for window, name in self.names.items()}

    def widened(self, schema: Schema) -> Schema:
        """Return the schema of events with these columns."""
        if not self.names:
            return schema
        return replace(schema, columns=(*schema.columns, *self.types(schema).items()))

    def values(
        self,
        kept: WindowRows,
        new: WindowRows,
        evaluate: Evaluate,
        since_ms: Since = lambda _rule: None,
        without: Collection[str] = (),
    ) -> tuple[WindowRows, dict[str, list[Value]]]:
        """Return all events with what windows read of them, and each column for the new ones.

        Windows of several rules that are equal and count from one time on are computed once.
        Columns of rules that are left out are NULL.

        Args:
            kept: earlier events.
            new: later ones, with times and keys alone.
            evaluate: what gives the values of an expression for the new events.
            since_ms: from when on events count for a rule.
            without: rules that are left out.

        Raises:
            EvaluationError: a window cannot be computed of these values.
        """
        known: dict[tuple[Window, int | None], list[Value]] = {}
        found: dict[str, list[Value]] = {}
        values: dict[Node, Sequence[Value]] = {}
        for window, name in self.names.items():
            if window.rule in without:
                found[name] = [None] * len(new)
                continue
            plain, since = self.plain[window], since_ms(window.rule)
            for part in parts_of(plain):
                if part not in values:
                    values[part] = evaluate(self.parts[part], found)
            if (plain, since) not in known:
                read = replace(new, values={part: values[part] for part in parts_of(plain)})
                rows = WindowRows.all_of([kept.reading(read.values), read])
                known[plain, since] = window_values(plain, rows, since)[len(kept) :]
            found[name] = known[plain, since]
        return WindowRows.all_of([kept, replace(new, values=values)]), found

    def needed(
        self,
        rows: WindowRows,
        until_ms: int,
        since_ms: Since = lambda _rule: None,
        without: Collection[str] = (),
    ) -> dict[Window, Flags]:
        """Return which events each window may count after `until_ms`."""
        found: dict[Window, Flags] = {}
        for window in self.names:
            if window.rule in without:
                continue
            found[window] = still_needed(self.plain[window], rows, until_ms)
            if (since := since_ms(window.rule)) is not None:
                found[window] &= rows.times_ms >= since
        return found


def _plain(window: Window, key: Collection[Node]) -> Window:
    partition_by = tuple(node for node in window.partition_by if node not in key)
    return replace(window, rule="", partition_by=partition_by)


def _depth(window: Window) -> int:
    inner = (each for part in parts_of(window) for each in windows_of(part))
    return 1 + max(map(_depth, inner), default=0)


def column_of(window: Window) -> str:
    """Return the name of the column of a window: its text, and the rule that it is bound to."""
    return f"{to_sql(window)} {window.rule}".rstrip()


def arrival_tests(tests: Sequence[Node]) -> list[tuple[str, Node]]:
    """Return for each test one that needs no window, and then which events windows count.

    Each goes with its rule, "" where it is the test itself; the others hold wherever the test may.
    """
    found: list[tuple[str, Node]] = []
    for test in tests:
        windows = windows_of(test)
        if windows:
            found.append((windows[0].rule, without_windows(test) or Literal(value=True)))
        else:
            found.append(("", test))
    for window in dict.fromkeys(each for test in tests for each in windows_of(test)):
        counted = None
        if window.condition is not None and window.frame.unit is not FrameUnit.ROWS:
            counted = without_windows(window.condition)
        found.append((window.rule, counted or Literal(value=True)))
    return found
