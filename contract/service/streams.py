"""Streams."""

from typing import Annotated, Any

from pydantic import ConfigDict, Field

from cep.definition.document import StreamName
from cep.instants import Instant
from contract.service.bases import Answer, Request

ColumnName = Annotated[str, Field(min_length=1, max_length=200)]


class StreamDocument(Request):
    """A stream as its author writes it."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "name": "payments",
                    "schema": "user STRING, action STRING, amount DECIMAL(10,2), ts TIMESTAMP",
                    "event_time_column": "ts",
                    "allowed_delay_ms": 5000,
                    "order_by": ["user"],
                }
            ]
        },
    )

    name: StreamName
    ddl: str = Field(
        alias="schema",
        min_length=1,
        max_length=100_000,
        description="The columns of an event and their types, as Spark DDL.",
        examples=["user STRING, amount DECIMAL(10,2), ts TIMESTAMP"],
    )
    event_time_column: ColumnName = Field(
        description="The column with the time of an event: a TIMESTAMP or TIMESTAMP_NTZ, or a "
        "BIGINT of milliseconds.",
        examples=["ts"],
    )
    allowed_delay_ms: int = Field(
        default=0,
        ge=0,
        le=10**12,
        strict=True,
        description="How late an event may come, in milliseconds.",
        examples=[5_000],
    )
    order_by: list[ColumnName] = Field(
        default=[],
        max_length=20,
        description="Order of events of equal time, by these columns.",
        examples=[["user"]],
    )
    description: str = Field(
        default="",
        max_length=10_000,
        description="What its events are, for people.",
        examples=["Sign-ins of all shops."],
    )


class ApprovalsDocument(Request):
    """How many people must approve a change of what runs on a stream."""

    required: int = Field(
        ge=0,
        le=10,
        strict=True,
        description="Other people than the author of the change; 0 = none has to.",
    )
    lists: bool = Field(
        default=True,
        strict=True,
        description="Whether that holds for lists, too; false = publishers change them alone.",
    )


class StreamView(Answer):
    """A stream as the service knows it."""

    model_config = ConfigDict(serialize_by_alias=True)

    name: str
    ddl: str = Field(alias="schema")
    event_time_column: str
    allowed_delay_ms: int
    order_by: list[str]
    description: str
    version: int = Field(description="Version of the definition.")
    epoch: int = Field(description="Newest epoch: how many changes of what runs there were.")
    required_approvals: int = Field(
        description="How many other people must approve a change of what runs; 0 = none."
    )
    lists_need_approvals: bool = Field(description="Whether that holds for lists, too.")
    created_at: Instant
    created_by: str

    @property
    def document(self) -> dict[str, Any]:
        """The stream document, without keys that have their default."""
        optional = {
            "allowed_delay_ms": self.allowed_delay_ms,
            "order_by": self.order_by,
            "description": self.description,
        }
        return {
            "name": self.name,
            "schema": self.ddl,
            "event_time_column": self.event_time_column,
            **{key: value for key, value in optional.items() if value},
        }
