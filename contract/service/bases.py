"""What all requests and answers have in common."""

from typing import Annotated, Any, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    GetPydanticSchema,
    ValidationError,
    ValidatorFunctionWrapHandler,
)
from pydantic_core import core_schema

Text = TypeVar("Text", bound=str)


def _known_or_text(value: Any, known: ValidatorFunctionWrapHandler) -> Any:
    try:
        return known(value)
    except ValidationError:
        if isinstance(value, str):
            return value
        raise


OrNewer = Annotated[
    Text,
    GetPydanticSchema(
        lambda known, handler: core_schema.no_info_wrap_validator_function(
            _known_or_text,
            handler(known),
            serialization=core_schema.simple_ser_schema("str"),
        )
    ),
]
"""One of some texts in an answer: another, of a newer service, is taken as it is."""


class Request(BaseModel):
    """A body that is sent to the service."""

    model_config = ConfigDict(extra="forbid")


class Answer(BaseModel):
    """A part of an answer of the service."""

    model_config = ConfigDict(frozen=True, extra="ignore")
