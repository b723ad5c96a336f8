"""The parameters of a rule as a whole: which are used, and other values for them.

document + {limit: 120} ──► the same document with another value, checked like any other
"""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any

from cep.expression import Expression
from cep.expression.parameters import constants_of
from cep.pattern import Pattern, Problem
from cep.pattern.conditions import expressions_of
from cep.pattern.problems import did_you_mean
from cep.row_pattern.parsing.words import Kind, words_of


class ParametersRefused(ValueError):
    """Values are given to parameters that a rule does not have; `problems` says which."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems


def with_parameters_in_pattern(document: Any) -> Any:
    """Return a document with its parameters in its pattern, where they are kept.

    One that has them in both places stays as it is, and is refused for its key `parameters`.
    """
    if not isinstance(document, Mapping) or not isinstance(document.get("pattern"), Mapping):
        return document
    pattern = document["pattern"]
    if "parameters" not in document or "parameters" in pattern:
        return document
    others = {key: value for key, value in document.items() if key != "parameters"}
    return others | {"pattern": dict(pattern) | {"parameters": document["parameters"]}}


def as_written(problem: Problem, document: Any) -> Problem:
    """Return a problem with the path that its author knows; `document` is what was written."""
    if not isinstance(document, Mapping):
        return problem
    if "parameters" in document and problem.path.startswith("pattern.parameters"):
        return replace(problem, path=problem.path.removeprefix("pattern."))
    if problem.path == "key_by[0]" and isinstance(document.get("key_by"), str):
        return replace(problem, path="key_by")
    return problem


def unused_parameters(pattern: Pattern, select: Mapping[str, str]) -> Iterator[Problem]:
    """Yield the parameters of a valid pattern that nothing names; with paths into the pattern.

    `select` are the output columns of its rule, whose texts can be parsed.
    """
    if not pattern.parameters:
        return
    used = set(_used_in(pattern))
    for text in select.values():
        expression = Expression.parse(text, constants_of(pattern.parameters))
        used |= {name for name, _ in expression.parameters}
    for parameter in pattern.parameters:
        if parameter.name not in used:
            message = f"nothing names :{parameter.name}."
            remedy = "Use it in a condition or an output column, or take it out."
            yield Problem(f"parameters.{parameter.name}", message, remedy)


def _used_in(pattern: Pattern) -> Iterator[str]:
    if pattern.query is not None:
        words = words_of(pattern.query.clause.text)
        yield from (word.text[1:] for word in words if word.kind is Kind.PARAMETER)
        return
    for expression in expressions_of(pattern.tree.elements):
        yield from (name for name, _ in expression.parameters)


def with_values(pattern: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document of a valid pattern with other values for some of its parameters.

    Whether the values fit is checked with the document.

    Raises:
        ParametersRefused: it has no such parameters.
    """
    parameters = deepcopy(dict(pattern.get("parameters") or {}))
    if unknown := [name for name in values if name not in parameters]:
        message = "the rule has no such parameter."
        raise ParametersRefused(
            tuple(Problem(name, message, did_you_mean(name, parameters)) for name in unknown)
        )
    for name, value in values.items():
        parameters[name]["value"] = value
    return dict(pattern) | {"parameters": parameters}
