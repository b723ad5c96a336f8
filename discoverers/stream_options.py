"""The definition of a stream in a job file, for sources without the rule service."""

from collections.abc import Sequence
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, model_validator

from cep.expression import ExpressionError, Kind, Schema
from cep.pattern.problems import did_you_mean
from contract.snapshot import StreamDefinition

LONGEST_DELAY_MS: Final = 10**12
_TIME_KINDS: Final = (Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ, Kind.BIGINT)


def check_columns(ddl: str, event_time_column: str, order_by: Sequence[str]) -> None:
    """Check that a stream has the columns that its definition names.

    Raises:
        ValueError: it has not, or the event time is no time; says what to write instead.
    """
    try:
        types = dict(Schema.from_ddl(ddl).columns)
    except ExpressionError as error:
        raise ValueError(f"schema: {error}") from None
    for column in (event_time_column, *order_by):
        if column not in types:
            raise ValueError(f"the schema has no column '{column}'. {did_you_mean(column, types)}")
    time_type = types[event_time_column]
    if time_type.kind not in _TIME_KINDS:
        raise ValueError(
            f"{event_time_column} is a {time_type}, which is no event time. "
            "Use a TIMESTAMP, a TIMESTAMP_NTZ, or a BIGINT of milliseconds"
        )


class StreamOptions(BaseModel):
    """The definition of a stream, with the same keys as in the rule service."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    ddl: str = Field(alias="schema", min_length=1, description="Columns and types, as Spark DDL.")
    event_time_column: str = Field(description="TIMESTAMP, TIMESTAMP_NTZ or BIGINT milliseconds.")
    allowed_delay_ms: int = Field(
        default=0, ge=0, le=LONGEST_DELAY_MS, description="How late an event may come."
    )
    order_by: list[str] = Field(default=[], description="Order of events of equal time.")
    description: str = ""

    @model_validator(mode="after")
    def _columns_fit(self) -> "StreamOptions":
        check_columns(self.ddl, self.event_time_column, self.order_by)
        return self

    def definition(self, name: str) -> StreamDefinition:
        """Return the definition of the stream of this name, not numbered yet (version 1)."""
        values: dict[str, Any] = self.model_dump(by_alias=True, exclude={"description"})
        return StreamDefinition.model_validate(values | {"name": name, "version": 1})
