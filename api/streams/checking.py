"""Everything that is wrong with the document of a stream, at once: its shape, columns and types.

Asked by the service before a stream is registered or redefined, and by `percept apply`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from cep.expression import ExpressionError, Schema
from cep.expression.errors import near_name
from cep.expression.types import DataType, Kind
from cep.pattern.conditions import expression_problem
from cep.pattern.problems import Problem, path_of, shape_problem
from contract.service.streams import StreamDocument

_TIME_KINDS: Final = frozenset({Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ, Kind.BIGINT})


@dataclass(frozen=True, slots=True)
class CheckedStream:
    """What a document says and everything that is wrong with it.

    `document` is `None` if the shape is wrong, `schema` if the columns cannot be read.
    """

    problems: tuple[Problem, ...]
    document: StreamDocument | None
    schema: Schema | None


def check_stream(data: Mapping[str, Any]) -> CheckedStream:
    """Return what a stream's document says and everything that is wrong with it.

    Args:
        data: what a JSON or YAML parser returned.
    """
    problems: list[Problem] = []
    document = schema = None
    try:
        document = StreamDocument.model_validate(data)
    except ValidationError as error:
        problems += _shape_problems(error)
    wrong = {problem.path for problem in problems}
    if isinstance(data.get("schema"), str) and "schema" not in wrong:
        try:
            schema = Schema.from_ddl(data["schema"])
        except ExpressionError as error:
            problems.append(expression_problem(error, "schema"))
        else:
            problems += _column_problems(data, dict(schema.columns), wrong)
    return CheckedStream(tuple(problems), document, schema)


def _shape_problems(error: ValidationError) -> Iterator[Problem]:
    keys = [field.alias or name for name, field in StreamDocument.model_fields.items()]
    for details in error.errors(include_url=False):
        yield shape_problem(details, path_of(details["loc"]), keys)


def _column_problems(
    data: Mapping[str, Any], types: Mapping[str, DataType], wrong: set[str]
) -> Iterator[Problem]:
    time_column, order_by = data.get("event_time_column"), data.get("order_by")
    named = [("event_time_column", time_column)]
    named += [
        (f"order_by[{index}]", name)
        for index, name in enumerate(order_by if isinstance(order_by, list) else ())
    ]
    for path, name in named:
        if isinstance(name, str) and path not in wrong and name not in types:
            yield Problem(path, f"The schema has no column {name}.", near_name(name, types))
    time_type = types.get(time_column) if isinstance(time_column, str) else None
    if time_type is not None and time_type.kind not in _TIME_KINDS:
        yield Problem(
            "event_time_column",
            f"{time_column} is a {time_type}, which is no event time.",
            "Use a TIMESTAMP, a TIMESTAMP_NTZ, or a BIGINT of milliseconds.",
        )
