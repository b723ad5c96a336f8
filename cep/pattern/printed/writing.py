"""Pattern tree → the builder chain that makes it, as `str(pattern)` shows it.

`reading` reads it back. Short patterns take one line; longer ones a line for every step.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from cep.expression import Expression
from cep.expression.parameters import Parameter
from cep.pattern.durations import duration_text
from cep.pattern.parameters import parameters_document
from cep.pattern.tree import (
    AllOf,
    AnyOf,
    Condition,
    Element,
    Group,
    InnerContiguity,
    PatternTree,
    PythonCondition,
    SignedCondition,
    SkipKind,
    SkipStrategy,
    Step,
    Subtype,
    Times,
    Window,
    WithinType,
)

_WIDTH: Final = 88
_INDENT: Final = "  "
_SKIP_CALL: Final = {
    SkipKind.NO_SKIP: "no_skip",
    SkipKind.SKIP_TO_NEXT: "to_next",
    SkipKind.SKIP_PAST_LAST_EVENT: "past_last_event",
    SkipKind.SKIP_TO_FIRST: "to_first",
    SkipKind.SKIP_TO_LAST: "to_last",
}


def printed(tree: PatternTree) -> str:
    """Return the builder chain of a tree, over several lines if it is long."""
    ending = []
    if tree.after_match_skip != SkipStrategy():
        ending.append(f".after_match({_skip(tree.after_match_skip)})")
    if tree.flink_quirks:
        ending.append(".flink_quirks()")
    return _chain(tree.elements, ending, "", _parameters(tree.parameters))


def _parameters(parameters: tuple[Parameter, ...]) -> str:
    """Return the argument that declares parameters; the patterns in groups need it, too."""
    return f", parameters={parameters_document(parameters)!r}" if parameters else ""


def _chain(
    elements: tuple[Step | Group, ...], ending: list[str], indent: str, parameters: str
) -> str:
    """Return the chain of a sequence; all lines but the first are indented deeper than `indent`."""
    *before, last = elements
    ending = [*map(_within, last.within), *ending]
    elements = (*before, replace(last, within=()))
    inner = indent + _INDENT
    first, *others = ["".join(_calls(element, inner, parameters)) for element in elements]
    short = "".join([f"Pattern{first}", *others, *ending])
    if len(indent) + len(short) <= _WIDTH and "\n" not in short:
        return short
    return f"\n{inner}".join([f"Pattern{first}", *others, *ending])


def _calls(element: Step | Group, indent: str, parameters: str) -> Iterator[str]:
    call = element.contiguity.value if element.contiguity else "begin"
    declared = parameters if call == "begin" else ""
    options = "".join([*_quantifier_calls(element), *map(_within, element.within)])
    match element:
        case Step(name=name, where=where, subtype=subtype):
            yield f".{call}({_text(name)}{declared})"
            if subtype is not None:
                yield f".subtype({_subtype(subtype)})"
            if where is not None:
                yield from _where(where)
        case Group(elements=elements):
            group = _chain(elements, [], indent + _INDENT, parameters) + declared
            short = f".{call}({group})"
            fits = "\n" not in group and len(indent) + len(short) + len(options) <= _WIDTH
            yield short if fits else f".{call}(\n{indent}{_INDENT}{group}\n{indent})"
    yield options


def _quantifier_calls(element: Element) -> Iterator[str]:
    if element.times is not None:
        yield _times(element.times, element.times_within_ms)
    if element.inner is not InnerContiguity.RELAXED:
        yield f".{element.inner}()"
    if element.greedy:
        yield ".greedy()"
    if element.optional:
        yield ".optional()"
    if element.until is not None:
        yield f".until({_condition(element.until)})"


def _times(times: Times, within_ms: int | None) -> str:
    within = [] if within_ms is None else [f"within={_text(duration_text(within_ms))}"]
    match times:
        case Times(1, None):
            call, counts = "one_or_more", []
        case Times(minimum, None):
            call, counts = "times_or_more", [str(minimum)]
        case Times(minimum, maximum) if minimum == maximum:
            call, counts = "times", [str(minimum)]
        case Times(minimum, maximum):
            call, counts = "times", [str(minimum), str(maximum)]
    return f".{call}({', '.join([*counts, *within])})"


def _where(condition: Condition) -> Iterator[str]:
    match condition:
        case AllOf(conditions=(first, *others)):
            yield from _where(first)
            yield from (f".where({_condition(other)})" for other in others)
        case AnyOf(conditions=(first, *others)):
            yield from _where(first)
            yield from (f".or_where({_condition(other)})" for other in others)
        case _:
            yield f".where({_condition(condition)})"


def _condition(condition: Condition) -> str:
    match condition:
        case Expression(text=text):
            return _text(text)
        case PythonCondition() | SignedCondition():
            return str(condition)
        case AllOf(conditions=parts):
            return " and ".join(map(_condition, parts))
        case AnyOf(conditions=parts):
            return " or ".join(map(_condition, parts))


def _subtype(subtype: Subtype) -> str:
    if subtype.python_type is not None:
        return subtype.name
    field = "" if subtype.field == "type" else f", field={_text(subtype.field)}"
    return f"{_text(subtype.name)}{field}"


def _within(window: Window) -> str:
    is_default = window.type is WithinType.FIRST_AND_LAST
    within_type = "" if is_default else f", {_text(window.type.value)}"
    return f".within({_text(duration_text(window.duration_ms))}{within_type})"


def _skip(skip: SkipStrategy) -> str:
    step = [] if skip.step is None else [_text(skip.step)]
    throws = ["throw_on_miss=True"] if skip.throw_on_miss else []
    return f"AfterMatchSkip.{_SKIP_CALL[skip.kind]}({', '.join([*step, *throws])})"


def _text(text: str) -> str:
    # In double quotes, because SQL uses single ones; the escapes of JSON are valid in Python.
    return json.dumps(text, ensure_ascii=False)
