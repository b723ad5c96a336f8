"""The type check: every mistake of an expression that can be known before an event is seen.

Comes between the parser and the evaluators. With a schema every column has a type; without one it
finds what is wrong whatever the columns are, such as `1 > 'a'`. An expression checked against a
schema never raises when it is evaluated on events of that schema.
"""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Final

from cep.expression.checking.inference import Inference, type_of
from cep.expression.checking.resolve import resolve
from cep.expression.errors import Problem, near_name, problem_at
from cep.expression.expression import Expression
from cep.expression.schema import Schema
from cep.expression.split import split
from cep.expression.tree import (
    NOWHERE,
    Aggregate,
    AggregateFunction,
    Field,
    HigherOrderCall,
    Node,
    Window,
    aggregates_of,
    lists_in,
    walk,
    windows_of,
)
from cep.expression.types import DataType, Kind


def check(  # noqa: PLR0913 - keyword options with defaults
    expression: Expression,
    *,
    schema: Schema | None,
    steps: Collection[str],
    expects: DataType | None = None,
    allow_columns: bool = True,
    allow_windows: bool = False,
    has_other_steps: bool = False,
    empty_steps: Mapping[str, tuple[str, str]] = MappingProxyType({}),
) -> list[Problem]:
    """Return the mistakes of an expression in the order of the text; all, or twenty.

    Args:
        expression: what to check.
        schema: the columns of an event, `None` if they are unknown.
        steps: the names of the pattern's steps.
        expects: the type the whole must have, usually BOOLEAN; `None` for any.
        allow_columns: whether there is an event under test, whose columns can be read.
        allow_windows: whether it is a condition of a step, which can have windows.
        has_other_steps: whether there are steps of unknown names; an expression that may name one
            of them is not looked at.
        empty_steps: those of the steps that have no event whenever it is evaluated, with what is
            wrong and how to mend it. To count their events is right: there are 0.
    """
    problems: list[Problem] = []

    def report(node: Node, message: str, hint: str) -> None:
        if len(problems) == _MOST_TOLD:
            return
        span = (0, len(expression.text)) if node.span == NOWHERE else node.span
        problem = problem_at(expression.text, span, message, hint)
        if problem not in problems:
            problems.append(problem)

    root = resolve(expression, steps, schema)
    if has_other_steps and any(_may_name_a_step(node, schema, steps) for node in walk(root)):
        return []
    for node in walk(root):
        if len(problems) == _MOST_TOLD:
            break
        if isinstance(node, Window):
            mistake = _window_mistake(node, root, allow_windows=allow_windows)
        else:
            mistake = _reference_mistake(node, steps, empty_steps, allow_columns=allow_columns)
        if mistake is not None:
            report(node, *mistake)
    found = Inference(schema if allow_columns else None, report).type_of(root)
    if expects is not None and found.kind is not expects.kind and not found.is_open:
        report(root, f"a {expects} is needed, this is a {found}", "compare it with something")
    return sorted(problems, key=lambda problem: (problem.line, problem.column))


_MOST_TOLD: Final = 20


def key_problem(expression: Expression, schema: Schema) -> Problem | None:
    """Return why an expression that fits the schema is no key selector; `None` if it is one."""
    data_type = type_of(resolve(expression, (), schema), schema)
    if data_type.kind not in _NO_KEYS:
        return None
    message = f"a value of type {data_type} cannot be a key"
    hint = "name plain columns, or fields of a structure"
    return problem_at(expression.text, (0, len(expression.text)), message, hint)


def list_problem(expression: Expression, root: Node) -> Problem | None:
    """Return that an expression names a list where there is no event that is tested."""
    if (found := next(lists_in(root), None)) is None:
        return None
    message = "a list of the stream stands only in conditions"
    span = (0, len(expression.text)) if found.span == NOWHERE else found.span
    return problem_at(expression.text, span, message, "test it in a step, and name the step here")


_NO_KEYS: Final = frozenset({Kind.ARRAY, Kind.STRUCT, Kind.OTHER})
"""Types whose values Python cannot look up, or expressions cannot read."""


def _reference_mistake(
    node: Node,
    steps: Collection[str],
    empty_steps: Mapping[str, tuple[str, str]],
    *,
    allow_columns: bool,
) -> tuple[str, str] | None:
    match node:
        case Aggregate(step=step) if step not in steps:
            hint = near_name(step, steps) or f"there are: {', '.join(steps) or 'none'}"
            return f"there is no step {step}", hint
        case Aggregate(function=function, step=step) if step in empty_steps:
            return None if function is AggregateFunction.COUNT else empty_steps[step]
        case HigherOrderCall(function=function, variable=variable) if variable in steps:
            message = f"the variable {variable} has the name of a step"
            return message, f"choose another: {function}(…, each -> each = 'a')"
        case Field(path=path) if not allow_columns:
            text = ".".join(path)
            needed = f"{text} needs a step in front"
            write = f"write {next(iter(steps), 'step')}.{text}"
            if len(path) == 1:
                return needed, write
            return f"there is no step {path[0]}: {needed}", near_name(path[0], steps) or write
        case _:
            return None


def _window_mistake(window: Window, root: Node, *, allow_windows: bool) -> tuple[str, str] | None:
    if not allow_windows:
        return (
            "a window stands only in a condition of a step, written in SQL",
            "test it in the step",
        )
    if aggregates_of(window):
        return "a window sees no steps, only events of the stream", "name columns of the event"
    residual = split(root).residual
    if residual is not None and window in windows_of(residual):
        message = "a window cannot be compared with events of steps"
        return message, "join the two with AND, or test the window in a step before"
    return None


def _may_name_a_step(node: Node, schema: Schema | None, steps: Collection[str]) -> bool:
    """Return whether a node reads a field of something that is neither a step nor a column."""
    match node:
        case Aggregate(step=step):
            return step not in steps
        case Field(path=(first, _, *_)):
            return schema is None or first not in dict(schema.columns)
        case _:
            return False
