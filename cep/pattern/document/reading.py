"""Document → pattern tree: every problem of the document in one list, with its path and place.

Shape is checked by the models of `schema`, conditions are parsed, then `validation` has its say. If
the shape is wrong, the rest is checked as far as it can be (`shape`).
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from cep.expression import Schema
from cep.expression.parameters import MOST_WRITTEN_OUT, Parameter, constants_of, written_out
from cep.pattern.document.schema import PatternDocument, RowPatternDocument
from cep.pattern.document.shape import Remainder, pattern_shape_problem, remainder
from cep.pattern.document.text import SourceDocument
from cep.pattern.document.tree_reader import TreeReader
from cep.pattern.parameters import ParameterDocument, read_parameters, too_many_listed
from cep.pattern.problems import PatternError, Problem, path_of, shape_problem, shape_problems
from cep.pattern.row_patterns import KEY, read_row_pattern, row_pattern_problems
from cep.pattern.tree import PatternTree
from cep.pattern.validation.size_limits import written_size_problems
from cep.pattern.validation.validate import problems, problems_of_remainder
from cep.row_pattern.clause import Query


@dataclass(frozen=True, slots=True)
class ExaminedPattern:
    """What a document says and everything that is wrong with it; `tree` only if that is nothing.

    `step_names` are those that an expression over a match may name, and `has_other_steps` says
    whether there may be more, whose names could not be read. `parameters` are those that such an
    expression may name, `None` if they could not be read.
    """

    tree: PatternTree | Query | None
    problems: tuple[Problem, ...]
    step_names: tuple[str, ...] = ()
    has_other_steps: bool = False
    parameters: tuple[Parameter, ...] | None = None


def examine_document(
    document: Mapping[str, Any], schema: Schema | None, *, flink_quirks: bool | None = None
) -> ExaminedPattern:
    """Return what a parsed document says and every problem of it.

    Without a schema columns are unknown. `flink_quirks` overrides that key of the document.
    """
    return _examine(SourceDocument(document), schema, flink_quirks=flink_quirks)


def read_document(
    source: SourceDocument, *, schema: Schema | None = None, flink_quirks: bool | None = None
) -> PatternTree | Query:
    """Return the valid pattern tree that a document describes; see `examine_document`.

    Raises:
        PatternError: with every problem of the document.
    """
    examined = _examine(source, schema, flink_quirks=flink_quirks)
    if examined.tree is None:
        raise PatternError(examined.problems)
    return examined.tree


def checked_text(text: str) -> str:
    """Return a text itself; raises `TypeError` if it is a path or what a parser returned."""
    if isinstance(text, PurePath):
        raise TypeError(f"this takes a text, not a path: {text}; write path.read_text()")
    if not isinstance(text, str):
        raise TypeError(
            f"this takes a text, not a {type(text).__name__}; "
            "Pattern.from_document takes what a parser returned"
        )
    return text


def _examine(
    source: SourceDocument, schema: Schema | None, *, flink_quirks: bool | None
) -> ExaminedPattern:
    if isinstance(source.data, Mapping) and KEY in source.data:
        return _examine_row_pattern(source, schema)
    if too_large := tuple(written_size_problems(source.data)):
        return ExaminedPattern(None, _placed(too_large, source), has_other_steps=True)
    try:
        document = PatternDocument.model_validate(source.data)
    except ValidationError as error:
        return _examine_remainder(source, schema, error)
    parameters, mistakes = read_parameters(document.parameters)
    if mistakes:  # conditions cannot be checked without them
        return ExaminedPattern(None, _placed(mistakes, source), has_other_steps=True)
    reader = TreeReader(parameters)
    tree = reader.tree(document)
    if flink_quirks is not None:
        tree = replace(tree, flink_quirks=flink_quirks)
    found = _placed([*reader.problems, *problems(tree, schema)], source)
    names = tuple(step.name for step in tree.steps() if not step.is_negative)
    return ExaminedPattern(None if found else tree, found, names, parameters=parameters)


def _examine_row_pattern(source: SourceDocument, schema: Schema | None) -> ExaminedPattern:
    try:
        document = RowPatternDocument.model_validate(source.data)
    except ValidationError as error:
        found = shape_problems(error.errors(include_url=False), _row_pattern_shape_problem)
        return ExaminedPattern(None, _placed(found, source), has_other_steps=True)
    parameters, unfit = read_parameters(document.parameters)
    if unfit:
        return ExaminedPattern(None, _placed(unfit, source), has_other_steps=True)
    listed = written_out(document.match_recognize, constants_of(parameters))
    if listed > MOST_WRITTEN_OUT:
        too_many = _placed([too_many_listed(KEY, listed)], source)
        return ExaminedPattern(None, too_many, has_other_steps=True)
    try:
        query = read_row_pattern(document.match_recognize, parameters)
    except PatternError as error:
        return ExaminedPattern(None, _placed(error.problems, source), has_other_steps=True)
    if mistakes := row_pattern_problems(query, schema):
        return ExaminedPattern(None, _placed(mistakes, source), has_other_steps=True)
    return ExaminedPattern(query, (), parameters=parameters)


def _row_pattern_shape_problem(details: ErrorDetails) -> Problem:
    known = ParameterDocument.model_fields if len(details["loc"]) > 1 else (KEY, "parameters")
    return shape_problem(details, path_of(details["loc"]), known)


def _examine_remainder(
    source: SourceDocument, schema: Schema | None, error: ValidationError
) -> ExaminedPattern:
    found = list(shape_problems(error.errors(include_url=False), pattern_shape_problem))
    rest = remainder(source.data, error)
    if rest is None or any(problem.path.startswith("parameters") for problem in found):
        return ExaminedPattern(None, _placed(found, source), has_other_steps=True)
    parameters, mistakes = read_parameters(rest.document.parameters)
    if mistakes:
        problems_so_far = _placed([*found, *mistakes], source)
        return ExaminedPattern(None, problems_so_far, has_other_steps=True)
    reader = TreeReader(parameters)
    tree = reader.tree(rest.document)
    found += (problem for problem in reader.problems if _is_certain(problem, rest))
    found += problems_of_remainder(tree, schema, rest.touched, rest.stand_ins)
    names = (step.name for step in tree.steps() if not step.is_negative)
    return ExaminedPattern(
        None,
        _placed(found, source),
        step_names=tuple(name for name in names if name not in rest.stand_ins),
        has_other_steps=bool(rest.stand_ins),
        parameters=parameters,
    )


def _is_certain(problem: Problem, rest: Remainder) -> bool:
    """Return whether a problem is one of the document, not of what was taken out of it."""
    is_in_a_condition = problem.line is not None
    return is_in_a_condition or problem.path.rpartition(".")[0] not in rest.touched


def _placed(found: Iterable[Problem], source: SourceDocument) -> tuple[Problem, ...]:
    """Return the problems with the keys as they were written and, for text, their place."""
    return tuple(_problem_in(source, problem) for problem in found)


def _problem_in(source: SourceDocument, problem: Problem) -> Problem:
    path = _written_path(problem.path, source)
    mark = source.mark(path)
    if mark is None:
        return replace(problem, path=path)
    # So far the place is that inside a condition or clause.
    line, column = mark.inside(problem.line, problem.column)
    return replace(problem, path=path, line=line, column=column)


def _written_path(path: str, source: SourceDocument) -> str:
    """Return the path under which a window was written: with another key, or for the pattern."""
    if not path.endswith("within") or not isinstance(source.data, Mapping):
        return path
    element, _, key = path.rpartition(".")
    written = _at(source.data, element)
    for candidate in (key, f"{key}_ms", f"{key}_previous"):
        if candidate in written:
            return f"{element}.{candidate}" if element else candidate
    return next((root for root in ("within", "within_ms") if root in source.data), path)


def _at(data: Any, path: str) -> Any:
    for key in re.findall(r"[^.\[\]]+", path):
        data = data[int(key)] if key.isdigit() else data[key]
    return data
