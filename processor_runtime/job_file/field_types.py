"""Types of values in a job file: durations, options, addresses, names of variables.

The models of `outputs`, `source`, `service` and `job_file` are built from these.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from cep.pattern.durations import duration_ms


class JobFilePart(BaseModel):
    """A mapping in a job file; an error never repeats a value, which may be a secret."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, hide_input_in_errors=True, use_attribute_docstrings=True
    )


def _option_text(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else value


OptionText = Annotated[
    str, BeforeValidator(_option_text), WithJsonSchema({"type": ["string", "number", "boolean"]})
]
Options = Annotated[dict[str, OptionText], Field(repr=False)]
"""Options as Spark takes them; numbers and booleans become their text."""

EnvironmentName = Annotated[
    str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", description="Name of an environment variable.")
]
MavenCoordinate = Annotated[
    str,
    Field(
        pattern=r"^[\w.-]+:[\w.-]+:[\w.-]+$",
        description="group:artifact:version",
        examples=["org.apache.spark:spark-sql-kafka-0-10_2.13:4.3.0"],
    ),
]
Packages = Annotated[list[MavenCoordinate], Field(max_length=50)]
KafkaConnector = Literal["percept", "spark"]
"""What talks to Kafka: Percept's own connector, or Spark's."""
DurationMs = Annotated[
    int,
    BeforeValidator(duration_ms),
    WithJsonSchema({"type": ["string", "integer"], "examples": ["10 minutes", "PT10M", 5000]}),
]
"""A duration such as "10 minutes", "PT10M" or milliseconds; read as milliseconds."""
