"""Patterns as the Java that a user of Flink would write, with lambdas for conditions.

    columns, rules ──► Event.java (a POJO) · Rules.java (`Pattern.begin(...).where(...)...`)

It knows what the workloads here use, and refuses the rest.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cep.expression import Expression
from cep.expression.tree import (
    Aggregate,
    AggregateFunction,
    And,
    Call,
    Comparison,
    ComparisonOperator,
    Field,
    In,
    Literal,
    Node,
    Not,
    Or,
    aggregates_of,
)
from cep.pattern.tree import (
    Contiguity,
    Group,
    InnerContiguity,
    SkipKind,
    SkipStrategy,
    Step,
    Window,
    WithinType,
)
from percept import Pattern

_IN_A_CLASS: Final = 50
TYPES: Final = {"BIGINT": "long", "DOUBLE": "double", "STRING": "String"}
_READ: Final = {"long": "Long.parseLong({})", "double": "Double.parseDouble({})", "String": "{}"}
_FOLLOWS: Final = {
    Contiguity.NEXT: "next",
    Contiguity.FOLLOWED_BY: "followedBy",
    Contiguity.FOLLOWED_BY_ANY: "followedByAny",
    Contiguity.NOT_NEXT: "notNext",
    Contiguity.NOT_FOLLOWED_BY: "notFollowedBy",
}
_INNER: Final = {
    InnerContiguity.RELAXED: "",
    InnerContiguity.CONSECUTIVE: ".consecutive()",
    InnerContiguity.ALLOW_COMBINATIONS: ".allowCombinations()",
}
_SKIPS: Final = {
    SkipKind.NO_SKIP: "noSkip()",
    SkipKind.SKIP_TO_NEXT: "skipToNext()",
    SkipKind.SKIP_PAST_LAST_EVENT: "skipPastLastEvent()",
}
_FOLDS: Final = {
    AggregateFunction.LAST: "double {0} = Double.NaN; for (Event x : {1}) {0} = {2};",
    AggregateFunction.SUM: "double {0} = 0; for (Event x : {1}) {0} += {2};",
    AggregateFunction.AVG: (
        "double {0} = 0; int {0}n = 0; for (Event x : {1}) {{ {0} += {2}; {0}n++; }} {0} /= {0}n;"
    ),
}
"""What is not there is NaN, with which every comparison but `!=` is false."""


@dataclass(frozen=True, slots=True)
class KeyedRule:
    """A pattern, and the columns of its key."""

    pattern: Pattern
    key_by: tuple[str, ...]


def event_class(columns: Mapping[str, str]) -> str:
    """Return the class of events, columns and SQL types given in the order of the file."""
    types = {name: TYPES[sql_type] for name, sql_type in columns.items()}
    fields = "\n".join(f"    public {java} {name};" for name, java in types.items())
    reads = [
        f"        event.{name} = {_READ[java].format(f'values[{place}]')};"
        for place, (name, java) in enumerate(types.items())
    ]
    return f"""public final class Event {{
{fields}

    public Event() {{}}

    static Event read(String line) {{
        String[] values = line.split(",", -1);
        Event event = new Event();
{chr(10).join(reads)}
        return event;
    }}
}}
"""


def rules_class(rules: Sequence[KeyedRule], columns: Mapping[str, str], delay_ms: int) -> str:
    """Return the class of all rules.

    Raises:
        NotImplementedError: a rule has something that is not translated here.
    """
    keys = list(dict.fromkeys(rule.key_by for rule in rules))
    cases = [
        f"            case {number}: return {_key(columns)};" for number, columns in enumerate(keys)
    ]
    writer = _Writer(columns)
    methods = [
        f"        static Pattern<Event, ?> rule{number}() {{\n"
        f"            return {writer.pattern(rule.pattern)};\n        }}"
        for number, rule in enumerate(rules)
    ]
    # A class may hold only so many lambdas.
    lines = "\n".join
    classes = [
        f"    static final class Some{begin} {{\n"
        f"{lines(methods[begin : begin + _IN_A_CLASS])}\n    }}"
        for begin in range(0, len(methods), _IN_A_CLASS)
    ]
    added = [
        f"        rules.add(new Rule({keys.index(rule.key_by)}, "
        f"Some{number - number % _IN_A_CLASS}.rule{number}()));"
        for number, rule in enumerate(rules)
    ]
    return f"""import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.apache.flink.cep.nfa.aftermatch.AfterMatchSkipStrategy;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.WithinType;
import org.apache.flink.cep.pattern.conditions.IterativeCondition;
import org.apache.flink.cep.pattern.conditions.SimpleCondition;

public final class Rules {{
    static final long DELAY_MS = {delay_ms};
    static final int KEYS = {len(keys)};

    static final class Rule {{
        final int key;
        final Pattern<Event, ?> pattern;

        Rule(int key, Pattern<Event, ?> pattern) {{
            this.key = key;
            this.pattern = pattern;
        }}
    }}

    static String key(int number, Event event) {{
        switch (number) {{
{lines(cases)}
            default: throw new IllegalArgumentException();
        }}
    }}

    static List<Rule> all() {{
        List<Rule> rules = new ArrayList<>();
{lines(added)}
        return rules;
    }}

{lines(classes)}
}}
"""


class _Writer:
    def __init__(self, columns: Mapping[str, str]) -> None:
        self._types = columns

    def pattern(self, pattern: Pattern) -> str:
        tree = pattern.tree
        parts = []
        for step in tree.elements:
            if isinstance(step, Group):
                raise NotImplementedError("groups")
            parts.append(self._step(step, tree.after_match_skip))
        return "\n            ".join(parts)

    def _step(self, step: Step, skip: SkipStrategy) -> str:
        if step.contiguity is None:
            begin = (
                f'Pattern.<Event>begin("{step.name}", AfterMatchSkipStrategy.{_SKIPS[skip.kind]})'
            )
        else:
            begin = f'.{_FOLLOWS[step.contiguity]}("{step.name}")'
        if step.subtype or step.until or step.times_within_ms or step.greedy:
            raise NotImplementedError(f"step {step.name}")
        return (
            begin
            + self._where(step)
            + _times(step)
            + (".optional()" if step.optional else "")
            + "".join(map(_within, step.within))
        )

    def _where(self, step: Step) -> str:
        if step.where is None:
            return ""
        if not isinstance(step.where, Expression):
            raise NotImplementedError("conditions in Python")
        root = step.where.root
        folds = aggregates_of(root)
        if not folds:
            return f".where(SimpleCondition.of(e -> {self._value(root, 'e', {})}))"
        names = {fold: f"v{number}" for number, fold in enumerate(folds)}
        written = " ".join(self._fold(fold, name) for fold, name in names.items())
        # What looks at the event alone comes first, as one would write it by hand.
        parts = root.operands if isinstance(root, And) else (root,)
        first = [part for part in parts if not aggregates_of(part)]
        rest = [part for part in parts if aggregates_of(part)]
        early = f"if (!({self._joined(first, '&&', {})})) return false; " if first else ""
        return (
            ".where(new IterativeCondition<Event>() { @Override public boolean "
            "filter(Event e, Context<Event> context) throws Exception { "
            f"{early}{written} return {self._joined(rest, '&&', names)}; }} }})"
        )

    def _fold(self, fold: Aggregate, name: str) -> str:
        if fold.operand is None:
            raise NotImplementedError("COUNT(*)")
        value = self._value(fold.operand, "x", {})
        context = f'context.getEventsForPattern("{fold.step}")'
        return _FOLDS[fold.function].format(name, context, value)

    def _joined(self, nodes: Sequence[Node], operator: str, names: Mapping[Aggregate, str]) -> str:
        return f" {operator} ".join(f"({self._value(node, 'e', names)})" for node in nodes)

    def _value(  # noqa: C901, PLR0911 - one line per kind of node
        self, node: Node, event: str, names: Mapping[Aggregate, str]
    ) -> str:
        match node:
            case Literal(value=str(text)):
                return f'"{text}"'
            case Literal(value=value):
                return str(value)
            case Field(path=(name,)):
                return f"{event}.{name}"
            case Aggregate():
                return names[node]
            case And(operands=operands):
                return self._joined(operands, "&&", names)
            case Or(operands=operands):
                return self._joined(operands, "||", names)
            case Not(operand=operand):
                return f"!({self._value(operand, event, names)})"
            case In(operand=operand, items=items):
                equal = [Comparison(ComparisonOperator.EQUAL, operand, item) for item in items]
                return self._joined(equal, "||", names)
            case Comparison(operator=operator, left=left, right=right):
                sides = [self._value(side, event, names) for side in (left, right)]
                return self._comparison(operator, sides, is_text=self._is_text(left))
            case Call(function=function, arguments=(left, right)) if function in "+-*/":
                sides = [self._value(side, event, names) for side in (left, right)]
                return f"({sides[0]} {function} {sides[1]})"
        raise NotImplementedError(str(node))

    def _comparison(
        self, operator: ComparisonOperator, sides: Sequence[str], *, is_text: bool
    ) -> str:
        if is_text:
            is_not = {ComparisonOperator.EQUAL: "", ComparisonOperator.NOT_EQUAL: "!"}[operator]
            return f"{is_not}{sides[0]}.equals({sides[1]})"
        written = {ComparisonOperator.EQUAL: "==", ComparisonOperator.NOT_EQUAL: "!="}
        return f"{sides[0]} {written.get(operator, operator.value)} {sides[1]}"

    def _is_text(self, node: Node) -> bool:
        return isinstance(node, Field) and self._types[node.path[0]] == "STRING"


def _key(names: Sequence[str]) -> str:
    return ' + "|" + '.join(f"event.{name}" for name in names) + ' + ""'


def _times(step: Step) -> str:
    if step.times is None:
        return ""
    match step.times.minimum, step.times.maximum:
        case minimum, None:
            written = f".timesOrMore({minimum})"
        case minimum, maximum if minimum == maximum:
            written = f".times({minimum})"
        case minimum, maximum:
            written = f".times({minimum}, {maximum})"
    return written + _INNER[step.inner]


def _within(window: Window) -> str:
    kinds = {
        WithinType.FIRST_AND_LAST: "FIRST_AND_LAST",
        WithinType.PREVIOUS_AND_CURRENT: "PREVIOUS_AND_CURRENT",
    }
    return f".within(Duration.ofMillis({window.duration_ms}L), WithinType.{kinds[window.type]})"
