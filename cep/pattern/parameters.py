"""The parameters of a document: declared, checked against what they say themselves, written back.

{limit: {type: DOUBLE, value: 100, min: 0}} ──► Parameter ──► :limit in conditions
"""

import reprlib
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
)
from pydantic.json_schema import JsonSchemaValue

from cep.expression.parameters import (
    MOST_LISTED,
    MOST_WRITTEN_OUT,
    Parameter,
    Value,
    Written,
    WrittenOne,
    constant_of,
    element_of,
    is_ordered,
    parameter_type,
    value_of,
)
from cep.expression.tree import Literal
from cep.expression.types import DataType
from cep.pattern.problems import PatternError, Problem, path_of, shape_problem

_ONE_SCHEMA: Final[JsonSchemaValue] = {"type": ["boolean", "number", "string"]}


def _one(value: Any) -> Any:
    if not isinstance(value, bool | int | float | str):
        given = reprlib.repr(value)
        raise ValueError(f"{given} is no value. Write a number, a text, true or false.")  # noqa: TRY004 - pydantic reports ValueErrors
    return value


def _one_or_list(value: Any) -> Any:
    return [_one(each) for each in value] if isinstance(value, list) else _one(value)


OneValue = Annotated[WrittenOne, PlainValidator(_one), WithJsonSchema(_ONE_SCHEMA)]
AnyValue = Annotated[
    Written,
    PlainValidator(_one_or_list),
    WithJsonSchema(
        {"anyOf": [_ONE_SCHEMA, {"type": "array", "items": _ONE_SCHEMA, "maxItems": MOST_LISTED}]}
    ),
]


class ParameterDocument(BaseModel):
    """A parameter: its type, its value, and which other values it may take."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    type: Annotated[str, Field(max_length=40)] = Field(
        description="BOOLEAN, BIGINT, DOUBLE, DECIMAL(p,s), STRING, DATE, TIMESTAMP, "
        "TIMESTAMP_NTZ, INTERVAL, or ARRAY<…> of one of these.",
        examples=["DOUBLE"],
    )
    value: AnyValue = Field(
        description="What `:name` stands for; times and intervals as text, a list of an ARRAY.",
        examples=[100, ["FR", "DE"]],
    )
    minimum: OneValue | None = Field(
        default=None, alias="min", description="The least value it may take.", examples=[0]
    )
    maximum: OneValue | None = Field(
        default=None, alias="max", description="The greatest value it may take.", examples=[1_000]
    )
    values: Annotated[list[OneValue], Field(min_length=1, max_length=1_000)] | None = Field(
        default=None, description="The only values it may take.", examples=[["EUR", "USD"]]
    )
    description: str = Field(
        default="",
        max_length=1_000,
        description="What it is for.",
        examples=["From this amount on, a payment is large."],
    )


ParameterDocuments = Annotated[
    dict[Annotated[str, Field(pattern="^[A-Za-z_][A-Za-z0-9_]{0,99}$")], ParameterDocument],
    Field(
        max_length=100,
        description="Values by name, used as `:name` in conditions and in what is output.",
        examples=[{"limit": {"type": "DOUBLE", "value": 100, "min": 0}}],
    ),
]


def read_parameters(
    documents: Mapping[str, ParameterDocument],
) -> tuple[tuple[Parameter, ...], list[Problem]]:
    """Return the parameters of a document, in order, without those with problems; and these."""
    parameters: list[Parameter] = []
    problems: list[Problem] = []
    for name, document in documents.items():
        if name in _RESERVED:
            message = f"a parameter cannot be called {name}, which marks Python code."
            problems.append(Problem(f"parameters.{name}", message, "Choose another name."))
            continue
        reader = _Reader(f"parameters.{name}")
        parameter = reader.parameter(name, document)
        problems += reader.problems
        if parameter is not None and not reader.problems:
            parameters.append(parameter)
    return tuple(parameters), problems


def too_many_listed(path: str, given: int) -> Problem:
    """Return the problem of texts that name lists more often than may be: each use costs."""
    message = f"{given} values of lists, counted at each use; the limit is {MOST_WRITTEN_OUT}."
    return Problem(path, message, "Name long lists less often.")


def declared(documents: Mapping[str, Mapping[str, Any]]) -> tuple[Parameter, ...]:
    """Return parameters that are written as in a document.

    Raises:
        PatternError: with everything that is wrong with them.
    """
    try:
        read = DOCUMENTS.validate_python(documents)
    except ValidationError as error:
        found = error.errors(include_url=False)
        raise PatternError(
            shape_problem(
                each, path_of(("parameters", *each["loc"])), ParameterDocument.model_fields
            )
            for each in found
        ) from None
    parameters, problems = read_parameters(read)
    if problems:
        raise PatternError(problems)
    return parameters


def parameters_document(parameters: tuple[Parameter, ...]) -> dict[str, Any]:
    """Return parameters as documents have them, by name."""
    return {parameter.name: parameter.to_document() for parameter in parameters}


_RESERVED: Final = frozenset({"python"})
DOCUMENTS: Final = TypeAdapter[dict[str, ParameterDocument]](ParameterDocuments)


class _Reader:
    """Reads one parameter, collecting what is wrong with it."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.problems: list[Problem] = []

    def parameter(self, name: str, document: ParameterDocument) -> Parameter | None:
        """Return the parameter; `None` if its type or value cannot be read."""
        try:
            data_type = parameter_type(document.type)
        except ValueError as error:
            self._report("type", error)
            return None
        value = self._value(data_type, document.value)
        one = element_of(data_type)
        minimum = self._bound("min", one, document.minimum)
        maximum = self._bound("max", one, document.maximum)
        allowed = tuple(self._values(one, document.values or []))
        if value is None:
            return None
        found = Parameter(name, data_type, value, minimum, maximum, allowed, document.description)
        self._check_bounds(found)
        return found

    def _values(self, data_type: DataType, values: list[WrittenOne]) -> Iterator[Literal]:
        for index, written in enumerate(values):
            value = self._constant(f"values[{index}]", data_type, written)
            if value is not None:
                yield value

    def _bound(self, key: str, data_type: DataType, written: WrittenOne | None) -> Literal | None:
        if written is None:
            return None
        if not is_ordered(data_type):
            self._report(key, ValueError(f"a {data_type} has no {key}; list what it may be"))
            return None
        return self._constant(key, data_type, written)

    def _check_bounds(self, parameter: Parameter) -> None:
        for index, value in enumerate(parameter.allowed):
            limits = Parameter("", parameter.data_type, value, parameter.minimum, parameter.maximum)
            if refusal := limits.refusal(value):
                self._report(f"values[{index}]", ValueError(refusal))
        if refusal := parameter.refusal(parameter.value):
            self._report("value", ValueError(refusal))

    def _value(self, data_type: DataType, written: Written) -> Value | None:
        try:
            return value_of(data_type, written)
        except ValueError as error:
            self._report("value", error)
            return None

    def _constant(self, key: str, data_type: DataType, written: WrittenOne) -> Literal | None:
        try:
            return constant_of(data_type, written)
        except ValueError as error:
            self._report(key, error)
            return None

    def _report(self, key: str, error: ValueError) -> None:
        self.problems.append(Problem(f"{self._path}.{key}", f"{error}.", ""))
