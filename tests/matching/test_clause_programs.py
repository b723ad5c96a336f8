"""Clauses that run as patterns give what the search for rows gives, at the same times."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from hypothesis import assume, given
from hypothesis import strategies as st

from cep.expression import Schema, mapping_reader
from cep.keyed.shapes import Detection
from cep.matching.matcher_state import encode_matcher, restore_matcher
from cep.nfa.machine import Machine
from cep.pattern import Pattern, PatternError
from cep.row_pattern.analysis.analyse import analyse
from cep.row_search.output import RowOutput
from tests.nfa.keyed_run import KeyedRun
from tests.translation.both_matchers import SCHEMA, chains, clauses, events

Event = dict[str, Any]
COLUMNS: Final = Schema.from_ddl(SCHEMA)
MEASURES: Final = (
    "CLASSIFIER() AS last",
    "FIRST(A.n) AS a, LAST(A.v, 1) AS b",
    "COUNT(A.*) AS c, SUM(A.v) AS d",
    "FIRST(n) AS e, LAST(n) AS f",
    "COUNT(*) AS g",
    "LAST(n, 1) AS h",
    "ARRAY_AGG(A.n) AS i",
)
ALL_ROWS: Final = "MATCH_NUMBER() AS match_number, CLASSIFIER() AS step ALL ROWS PER MATCH"


class Run(KeyedRun):
    """Events of many keys through a matcher, one after the other."""

    def __init__(
        self, rules: Mapping[str, Pattern], *, as_patterns: bool, kept_apart: bool = False
    ) -> None:
        self.rules = rules
        apart = {rule: rule for rule in rules} if kept_apart else {}
        super().__init__(rules, schema=COLUMNS, kept_apart=apart, clauses_as_patterns=as_patterns)

    @property
    def is_shared(self) -> bool:
        return all(isinstance(shape.machine, Machine) for shape in self.matcher.shapes)

    def feed(self, event: Event) -> list[Detection]:
        """Process an event of key `n % 2`."""
        return self.fed(event, event["n"] % 2, event["ts"])

    def end(self) -> list[Detection]:
        return [one for found in self.matcher.end() for one in found]

    def moved(self) -> "Run":
        """Return a run of clauses as patterns that goes on from the state of this one."""
        other = Run(self.rules, as_patterns=True)
        restore_matcher(other.matcher, encode_matcher(self.matcher))
        return other


def told(rules: Mapping[str, Pattern], found: Sequence[Detection]) -> list[Any]:
    """Return what was found by one moment, comparable: for each rule and key in order."""
    lines = []
    for one in found:
        query = rules[one.rule].query
        rows: Any = None
        if query is not None:
            output = RowOutput(analyse(query.clause, COLUMNS), mapping_reader)
            rows = list(output.dicts(one.cell))  # type: ignore[arg-type]
        steps = {name: [event["n"] for event in taken] for name, taken in one.steps.items()}
        lines.append((one.rule, one.key, one.time_ms, one.is_timeout, steps, rows))
    return sorted(lines, key=lambda line: line[:2])


@st.composite
def rules_in_sql(draw: st.DrawFn, texts: st.SearchStrategy[str]) -> Pattern:
    """Return a valid clause, some of them with one row a match."""
    text = draw(texts)
    measures = draw(st.none() | st.sampled_from(MEASURES))
    if measures is None:
        text = text.replace("MATCH_NUMBER() AS match_number, ", "")
    else:
        text = text.replace(ALL_ROWS, measures)
    try:
        return Pattern.from_sql(text)
    except PatternError:
        assume(False)  # noqa: FBT003 - it never returns
        raise


def check(pattern: Pattern, rows: Sequence[Event], *, is_written: bool) -> None:
    rules = {"r": pattern}
    shared, searched = Run(rules, as_patterns=True), Run(rules, as_patterns=False)
    if not shared.is_shared:
        return
    for event in rows:
        expected = told(rules, searched.feed(event))
        assert told(rules, shared.feed(event)) == expected, str(pattern)
        if is_written:
            shared = shared.moved()
    assert told(rules, shared.end()) == told(rules, searched.end()), str(pattern)


def check_moved(patterns: Sequence[Pattern], rows: Sequence[Event], at: int) -> None:
    rules = {f"r{number}": pattern for number, pattern in enumerate(patterns)}
    moving, searched = (
        Run(rules, as_patterns=True, kept_apart=True),
        Run(rules, as_patterns=False),
    )
    if not moving.is_shared:
        return
    for place, event in enumerate(rows):
        if place == at:
            moving = moving.moved()
        expected = told(rules, searched.feed(event))
        assert told(rules, moving.feed(event)) == expected, "\n".join(map(str, patterns))
        if place > at:
            moving = moving.moved()
    assert told(rules, moving.end()) == told(rules, searched.end())


MANY: Final = st.lists(events(14), min_size=4, max_size=4)


@given(pattern=rules_in_sql(clauses() | chains()), lists=MANY, is_written=st.booleans())
def test_a_clause_that_runs_as_a_pattern(
    pattern: Pattern,
    lists: list[list[Event]],
    is_written: bool,  # noqa: FBT001 - drawn
) -> None:
    for rows in lists:
        check(pattern, rows, is_written=is_written)


@given(
    patterns=st.lists(rules_in_sql(chains()), min_size=1, max_size=3),
    lists=MANY,
    at=st.integers(0, 9),
)
def test_rules_that_were_in_machines_of_their_own_go_on_in_one(
    patterns: list[Pattern], lists: list[list[Event]], at: int
) -> None:
    for rows in lists:
        check_moved([*patterns, *patterns], rows, at)
