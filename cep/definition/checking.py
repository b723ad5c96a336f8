"""All problems of a definition in one list: its shape, pattern, expressions and times.

    document + columns of its stream ──► check_definition ──► CheckedDefinition
                                                                  │ problems, each with its path
        rule service, drafts, `percept apply`, discoverers ◄──────┘

Every reader of definitions calls it and only translates the problems: into JSON Pointers, into
lines of a file, into text. The service checks before it publishes, and a job checks again what it
has found: files and tables have no service in front of them, and a job may be older than the
service.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Generic, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from cep.definition.alert_document import ProcessorAlert
from cep.definition.document import Example, ProcessorContent, ProcessorLimits
from cep.definition.keys import listed_key
from cep.definition.parameters import as_written, unused_parameters, with_parameters_in_pattern
from cep.expression import Expression, ExpressionError, Schema, check, key_problem
from cep.expression import Problem as ExpressionMistake
from cep.expression.checking.check import list_problem
from cep.expression.errors import UnknownParameter
from cep.expression.parameters import MOST_WRITTEN_OUT, constants_of, written_out
from cep.instants import instant_ms
from cep.nfa.reachability import warnings_of
from cep.pattern import Pattern, Problem
from cep.pattern.conditions import expression_problem
from cep.pattern.document.reading import ExaminedPattern, examine_document
from cep.pattern.parameters import too_many_listed
from cep.pattern.problems import did_you_mean, path_of, shape_problem, shape_problems
from cep.pattern.row_patterns import implied_key, is_same_key
from cep.pattern.validation.window_rules import window_key_problems
from cep.row_pattern.clause import Query
from cep.signing.code import SignedCode

Content = TypeVar("Content", bound=ProcessorContent)

MAXIMUM_EXPRESSION_CHARACTERS: Final = 50_000
"""In keys and output columns together, the names of these included."""

_MOST_SHOWN: Final = 100
_INNER_MODELS: Final[Mapping[str, type[BaseModel]]] = {
    "examples": Example,
    "function": SignedCode,
    "limits": ProcessorLimits,
    "alert": ProcessorAlert,
}
_UNREADABLE: Final = ExaminedPattern(None, problems=(), has_other_steps=True)


@dataclass(frozen=True, slots=True)
class CheckedDefinition(Generic[Content]):
    """What a document says and everything that is wrong with it.

    Paths begin at the document; line and column, where there are any, are those in the expression
    at the path. `content` is `None` if the shape is wrong, `pattern` if anything is wrong with the
    pattern: other parts may be right.
    """

    problems: tuple[Problem, ...]
    content: Content | None
    pattern: Pattern | None

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """What is allowed but rarely meant."""
        found = () if self.pattern is None else warnings_of(self.pattern)
        return tuple(_in_pattern(warning) for warning in found)


def check_definition(
    document: Mapping[str, Any], schema: Schema | None, model: type[Content]
) -> CheckedDefinition[Content]:
    """Return what a document says and everything that is wrong with it.

    `model` says which keys it has; without a schema of its stream its columns are not checked.
    """
    written, document = document, with_parameters_in_pattern(document)
    if "key_by" in document:
        document = {**document, "key_by": listed_key(document["key_by"])}
    content, problems = read_definition(document, model)
    wrong = {problem.path for problem in problems}
    given = document if content is None else dict(content)
    examined = _UNREADABLE
    if isinstance(given.get("pattern"), Mapping) and not any(map(_is_in_pattern, wrong)):
        examined = examine_document(given["pattern"], schema)
    problems += map(_in_pattern, examined.problems)
    if too_long := list(_too_long(given)):
        problems += too_long
    else:
        problems += _key_problems(given, wrong, schema)
        problems += _select_problems(given, wrong, schema, examined)
    pattern = None if examined.tree is None else Pattern(examined.tree)
    if pattern is not None and not problems:
        problems += map(_in_pattern, unused_parameters(pattern, given.get("select") or {}))
    if pattern is not None and pattern.query is None and not problems:
        key_by = given.get("key_by") or ()
        problems += map(_in_pattern, window_key_problems(pattern.tree, key_by))
    if pattern is not None and pattern.query is not None:
        problems += _row_pattern_problems(given, wrong, pattern.query)
    told = tuple(as_written(problem, written) for problem in _first_problems(problems))
    return CheckedDefinition(told, content, pattern)


def read_definition(
    document: Mapping[str, Any], model: type[Content]
) -> tuple[Content | None, list[Problem]]:
    """Return what a document says, and what is wrong beside its pattern and its expressions."""
    content = None
    problems: list[Problem] = []
    try:
        content = model.model_validate(document)
    except ValidationError as error:
        found = error.errors(include_url=False)
        problems += shape_problems(found, partial(_shape_problem, model=model))
    problems += _schedule_problems(document)
    if content is not None:
        problems += alert_problems(content)
    if document.get("select") is not None and document.get("function") is not None:
        message = "select and function both say what is given out for a match."
        problems.append(Problem("function", message, "Keep one."))
    return content, problems


# --- shape


def _shape_problem(details: ErrorDetails, model: type[BaseModel]) -> Problem:
    key, *inside = details["loc"] or ("",)
    around = _INNER_MODELS.get(str(key)) if inside else model
    known = () if around is None else around.model_fields
    return shape_problem(details, path_of(details["loc"]), known)


def _schedule_problems(document: Mapping[str, Any]) -> Iterator[Problem]:
    begin_ms, end_ms = (
        _known_ms(document.get(key)) for key in ("effective_from", "effective_until")
    )
    if begin_ms is not None and end_ms is not None and end_ms <= begin_ms:
        yield Problem(
            "effective_until",
            "not after effective_from; the version would never run.",
            "Give a later time, or leave it out.",
        )


def _known_ms(time: Any) -> int | None:
    try:
        return instant_ms(time)
    except ValueError:
        return None


# --- sizes


def _too_long(given: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield that keys and outputs are too long together, before any is parsed."""
    keys, columns = given.get("key_by"), given.get("select")
    in_keys = sum(map(_length, keys)) if isinstance(keys, list) else 0
    in_columns = 0
    if isinstance(columns, Mapping):
        in_columns = sum(_length(name) + _length(text) for name, text in columns.items())
    if in_keys + in_columns > MAXIMUM_EXPRESSION_CHARACTERS:
        yield Problem(
            "select" if in_columns > in_keys else "key_by",
            f"{in_keys + in_columns} characters in key_by and select together; the limit is "
            f"{MAXIMUM_EXPRESSION_CHARACTERS}.",
            "Shorten them, or give out fewer columns.",
        )


def _length(text: Any) -> int:
    return len(text) if isinstance(text, str) else 0


def _first_problems(problems: list[Problem]) -> Iterator[Problem]:
    """Yield the first problems, and how many more there are."""
    yield from problems[:_MOST_SHOWN]
    if len(problems) > _MOST_SHOWN:
        more = len(problems) - _MOST_SHOWN
        yield Problem("", f"there are {more} more problems.", "Mend these first.")


# --- expressions


def _key_problems(
    given: Mapping[str, Any], wrong: set[str], schema: Schema | None
) -> Iterator[Problem]:
    keys = given.get("key_by")
    if "key_by" in wrong or not isinstance(keys, list):
        return
    for index, text in enumerate(keys):
        path = f"key_by[{index}]"
        if path not in wrong and isinstance(text, str):
            yield from (expression_problem(each, path) for each in _key_mistakes(text, schema))


def _key_mistakes(text: str, schema: Schema | None) -> list[ExpressionMistake]:
    try:
        expression = Expression.parse(text)
    except UnknownParameter as error:
        hint = "write the constant: another value would make other keys"
        return [replace(error.problem, message="a key has no parameters", hint=hint)]
    except ExpressionError as error:
        problem = error.problem
        is_row = problem.message == "unexpected ,"
        return [replace(problem, hint="write a list: [user, ip]") if is_row else problem]
    if listed := list_problem(expression, expression.root):
        return [listed]
    mistakes = check(expression, schema=schema, steps=())
    if mistakes or schema is None:
        return mistakes
    mistake = key_problem(expression, schema)
    return [] if mistake is None else [mistake]


def _row_pattern_problems(
    given: Mapping[str, Any], wrong: set[str], query: Query
) -> Iterator[Problem]:
    """Yield what a document says beside its clause that the clause itself says."""
    if given.get("select") is not None:
        message = "the clause says with MEASURES what is output."
        yield Problem("select", message, "Move the columns to MEASURES.")
    yield from clause_alert_problems(given, query)
    key_by = given.get("key_by")
    if "key_by" in wrong or not key_by:
        return
    if not query.clause.partition_by:
        message = "the clause has no PARTITION BY, so its key would be another."
        yield Problem("key_by", message, f"Write PARTITION BY {', '.join(key_by)} in the clause.")
    elif not is_same_key(query, key_by):
        message = f"not the key of the clause, PARTITION BY {', '.join(implied_key(query))}."
        yield Problem("key_by", message, "Leave it out: PARTITION BY is the key.")


def _select_problems(
    given: Mapping[str, Any], wrong: set[str], schema: Schema | None, pattern: ExaminedPattern
) -> Iterator[Problem]:
    columns = given.get("select")
    if isinstance(pattern.tree, Query):
        return
    if "select" in wrong or not isinstance(columns, Mapping):
        return
    constants = constants_of(pattern.parameters or ())
    listed = sum(written_out(text, constants) for text in columns.values() if isinstance(text, str))
    if listed > MOST_WRITTEN_OUT:
        yield too_many_listed("select", listed)
        return
    for name, text in columns.items():
        path = path_of(("select", name))
        if path not in wrong and isinstance(text, str):
            mistakes = _select_mistakes(text, schema, pattern)
            yield from (expression_problem(each, path) for each in mistakes)


def _select_mistakes(
    text: str, schema: Schema | None, pattern: ExaminedPattern
) -> list[ExpressionMistake]:
    try:
        expression = Expression.parse(text, constants_of(pattern.parameters or ()))
    except UnknownParameter as error:
        return [error.problem] if pattern.parameters is not None else []
    except ExpressionError as error:
        return [error.problem]
    if listed := list_problem(expression, expression.root):
        return [listed]
    # Over a match no event stands alone, so its columns need a step in front. What else is wrong
    # with them shows only if they are taken for columns.
    without_step, of_columns = (
        check(
            expression,
            schema=schema,
            steps=pattern.step_names,
            allow_columns=allow_columns,
            has_other_steps=pattern.has_other_steps,
        )
        for allow_columns in (False, True)
    )
    places = {(mistake.line, mistake.column) for mistake in without_step}
    more = (each for each in of_columns if (each.line, each.column) not in places)
    return sorted([*without_step, *more], key=lambda mistake: (mistake.line, mistake.column))


# --- paths


def _is_in_pattern(path: str) -> bool:
    return path == "pattern" or path.startswith(("pattern.", "pattern["))


def _in_pattern(problem: Problem) -> Problem:
    return replace(problem, path=f"pattern.{problem.path}" if problem.path else "pattern")


def alert_problems(content: ProcessorContent) -> Iterator[Problem]:
    """Yield columns that distinguish matches and are not in the output."""
    if content.alert is None or content.function is not None:
        return
    if "match_recognize" in content.pattern:
        return  # its columns are known once the clause is read, see `_row_pattern_problems`
    yield from _unknown_columns(content.alert, content.select or {})


def clause_alert_problems(given: Mapping[str, Any], query: Query) -> Iterator[Problem]:
    """Yield the same of a clause, whose columns are its measures."""
    alert = given.get("alert")
    if isinstance(alert, ProcessorAlert):
        columns = [str(measure.name) for measure in query.clause.measures]
        yield from _unknown_columns(alert, columns)


def _unknown_columns(alert: ProcessorAlert, columns: Collection[str]) -> Iterator[Problem]:
    otherwise = "Name a column of select; the key counts anyway."
    suppressed_by = () if alert.suppress is None else alert.suppress.by
    yield from _not_output("alert.suppress.by", suppressed_by, columns, otherwise)
    otherwise = "Name a column of select, or leave `by` out: all matches are one group then."
    grouped_by = () if alert.group is None else alert.group.by
    yield from _not_output("alert.group.by", grouped_by, columns, otherwise)


def _not_output(
    path: str, names: Collection[str], columns: Collection[str], otherwise: str
) -> Iterator[Problem]:
    for index, name in enumerate(names):
        if name not in columns:
            what = f"'{name}' is not output." if columns else f"'{name}' is not output: no select."
            known = did_you_mean(name, columns) or otherwise
            yield Problem(f"{path}[{index}]", what, known)
