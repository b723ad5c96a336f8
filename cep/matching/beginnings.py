"""At which events the rules of a machine begin: those for different constants never at the same.

Machine, tests ──most_beginning_together──► how many rules one event may wake
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from cep.expression import Node
from cep.expression.tree import And, Comparison, ComparisonOperator, Literal
from cep.nfa.machine import Machine
from cep.nfa.program import conditions_of
from cep.nfa.transition_table import RuleCondition


def most_beginning_together(machine: Machine, tests: Sequence[Node]) -> int:
    """Return how many rules may begin at one event, as far as their conditions tell.

    Args:
        machine: the rules.
        tests: the tests on the event alone, by number.
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
