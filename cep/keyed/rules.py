"""Rules made ready to run: those of equal shape together in one machine.

    pattern by rule ──compile──► members by program ──► Shape: Machine · RowPatternMachine

A clause that finds what a pattern finds is a member as that pattern is (`clause_programs`); any
other is searched for on its own.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

from cep.compiling import MOST_BITS, is_available
from cep.condition_code.operands import NotCompilable
from cep.expression import FieldReader, Node, Schema
from cep.expression.tree import And, Comparison, ComparisonOperator, Literal
from cep.keyed.clause_programs import ClauseMember, clause_program
from cep.keyed.machines import KeyMachine
from cep.keyed.shapes import Member, Shape
from cep.nfa.compiler.compile import CompiledPattern, compile_pattern
from cep.nfa.conditions import Aggregates, CodeGuard, ConditionBinder, EventTests
from cep.nfa.limits import Limits
from cep.nfa.machine import Machine
from cep.nfa.program import Program, conditions_of
from cep.nfa.transition_table import RuleCondition
from cep.nfa_kernel.residual_code import residual_code
from cep.pattern import Pattern
from cep.row_pattern.analysis.analyse import analyse
from cep.row_pattern.clause import Query
from cep.row_search.machine import RowPatternMachine
from cep.row_search.search import RowPatternSearch

_MOST_MACHINES: Final = 3
"""Machines of 62 rules that begin at the same events: more of them take longer, compiled, than one
in Python for all rules, which have their partial matches in common there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How conditions read events; see `cep.keyed.matcher.KeyedMatcher`."""

    field_reader: FieldReader
    schema: Schema | None
    event_view: Callable[[Any], Any]
    guard: CodeGuard | None
    clauses_as_patterns: bool


@dataclass(frozen=True, slots=True)
class _CompiledMember:
    """A rule of a shape to be. `tests` stand in for conditions that know their types already."""

    member: Member
    pattern: CompiledPattern
    tests: tuple[Node, ...] | None = None


def shapes_of(
    rules: Mapping[str, Pattern],
    tests: EventTests,
    reading: Reading,
    limits: Limits | Mapping[str, Limits] | None,
    kept_apart: Mapping[str, Hashable],
) -> tuple[Shape, ...]:
    """Return the shapes of rules, those of row patterns after all others.

    Rules with different values in `kept_apart` never share a machine.
    """
    builder = _Builder(tests, reading)
    by_program: dict[tuple[Program, Limits, Hashable], list[_CompiledMember]] = {}
    searched: list[Shape] = []
    for rule, pattern in rules.items():
        of_rule = (limits.get(rule) if isinstance(limits, Mapping) else limits) or Limits()
        found = builder.member(rule, pattern, of_rule)
        if isinstance(found, Shape):
            searched.append(found)
        else:
            shared = (found.pattern.program, of_rule, kept_apart.get(rule))
            by_program.setdefault(shared, []).append(found)
    together = (
        shape
        for (program, of_each, _), members in by_program.items()
        for shape in builder.shapes(program, members, of_each)
    )
    return (*together, *searched)


class _Builder:
    """Compiles one rule after the other, with tests in common."""

    def __init__(self, tests: EventTests, reading: Reading) -> None:
        self._tests = tests
        self._reading = reading

    def member(self, rule: str, pattern: Pattern, limits: Limits) -> _CompiledMember | Shape:
        """Return a rule as the member of a shape, or as a shape of its own."""
        digest = _digest(str(pattern))
        if pattern.query is not None:
            return self._clause(rule, pattern.query, digest, limits)
        compiled = compile_pattern(pattern.tree)
        return _CompiledMember(Member(rule, compiled.step_names, digest), compiled)

    def _clause(
        self, rule: str, query: Query, digest: str, limits: Limits
    ) -> _CompiledMember | Shape:
        reading = self._reading
        clause = analyse(query.clause, reading.schema)
        search = RowPatternSearch(clause, reading.field_reader, limits, shows_timeouts=True)
        found = clause_program(clause, search.program) if reading.clauses_as_patterns else None
        if found is None:
            member = Member(rule, clause.variables, digest)
            tests = search.program.row_tests
            numbers = tuple(None if test is None else self._tests.number(test) for test in tests)
            return Shape(RowPatternMachine(search, numbers), (member,), {})
        member = Member(rule, clause.variables, digest, ClauseMember(found.variables))
        return _CompiledMember(member, found.pattern, found.tests)

    def shapes(
        self, program: Program, members: Sequence[_CompiledMember], limits: Limits
    ) -> Iterator[Shape]:
        """Yield rules that share a program: together, or as many as compiled code takes at once.

        Python takes any number in one machine. A few machines that are compiled are faster.
        """
        whole = self._shape(program, members, limits)
        is_small = len(members) <= MOST_BITS or not is_available()
        if is_small or not _can_be_compiled(whole.machine) or self._share_much(whole.machine):
            yield whole
            return
        for begin in range(0, len(members), MOST_BITS):
            yield self._shape(program, members[begin : begin + MOST_BITS], limits)

    def _share_much(self, machine: KeyMachine) -> bool:
        """Return whether so many rules begin together that one machine is best for all."""
        if not isinstance(machine, Machine):
            return False
        together = most_beginning_together(machine, self._tests.nodes)
        return together > _MOST_MACHINES * MOST_BITS

    def _shape(self, program: Program, members: Sequence[_CompiledMember], limits: Limits) -> Shape:
        reading = self._reading
        aggregates = Aggregates(reading.field_reader)
        binder = ConditionBinder(
            self._tests,
            aggregates,
            reading.field_reader,
            reading.schema,
            reading.event_view,
            guard=reading.guard,
        )
        conditions = [
            binder.bind(each.pattern, each.member.rule)
            if each.tests is None
            else binder.bind_tests(each.tests)
            for each in members
        ]
        machine = Machine(program, conditions, aggregate_count=len(aggregates), limits=limits)
        return Shape(machine, tuple(each.member for each in members), {})


def _can_be_compiled(machine: KeyMachine) -> bool:
    if not isinstance(machine, Machine):
        return False
    try:
        residual_code(machine)
    except NotCompilable:
        return False
    return True


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=8).hexdigest()


def most_beginning_together(machine: Machine, tests: Sequence[Node]) -> int:
    """Return how many rules may begin at one event, as far as their conditions tell.

    Rules for different constants never begin at the same event.
    """
    conditions = 0
    for transition in machine.program.states[machine.program.start].transitions:
        conditions |= conditions_of(transition.guard)
    begins = Counter(
        frozenset(
            fixed
            for number, condition in enumerate(of_rule)
            if conditions >> number & 1
            for fixed in _fixed(condition, tests)
        )
        for of_rule in machine.table.rules
    )
    return max(begins.values())


def _fixed(condition: RuleCondition, tests: Sequence[Node]) -> Iterator[Comparison]:
    """Yield what must be equal to a constant for the condition to hold."""
    if condition.event_test is None:
        return
    test = tests[condition.event_test]
    for part in test.operands if isinstance(test, And) else (test,):
        if (
            isinstance(part, Comparison)
            and part.operator is ComparisonOperator.EQUAL
            and isinstance(part.left, Literal) != isinstance(part.right, Literal)
        ):
            yield part
