"""The document of a processor: what people and pipelines write, in JSON or YAML.

    document ──► checks of the rule service ──► version ──► snapshot ──► job

The model checks shape; the pattern inside is checked by `Pattern.from_document`, expressions
against the schema of the stream by the caller that knows it.
"""

from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    GetPydanticSchema,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from cep.definition.alert_document import ProcessorAlert
from cep.definition.keys import listed_key
from cep.definition.parameters import with_parameters_in_pattern
from cep.instants import GivenInstant
from cep.pattern.document.schema import AnyPatternDocument
from cep.pattern.parameters import DOCUMENTS as BESIDE_PATTERN
from cep.signing.code import SignedCode

# Any mapping passes, and the JSON Schema is the pattern's: `Pattern.from_document` says more about
# what is wrong than a second check here could.
PatternMapping = Annotated[
    dict[str, Any],
    GetPydanticSchema(
        get_pydantic_core_schema=lambda _type, _handler: core_schema.dict_schema(
            core_schema.str_schema(), core_schema.any_schema()
        ),
        get_pydantic_json_schema=lambda _schema, handler: handler(AnyPatternDocument.core_schema),
    ),
]
ProcessorId = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$",
        description="Its id, which it keeps: letters, digits, dot, hyphen, underscore.",
        examples=["failed-logins"],
    ),
]
StreamName = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$",
        description="The name of the stream; the same characters as an id.",
        examples=["payments"],
    ),
]
SqlText = Annotated[str, Field(min_length=1, max_length=10_000)]
_KeyList = Annotated[list[SqlText], Field(max_length=20)]
KeyBy = Annotated[_KeyList, BeforeValidator(listed_key, json_schema_input_type=SqlText | _KeyList)]
Tag = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$")]
Severity = Literal["info", "low", "medium", "high", "critical"]


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def _most(limit: int, description: str, *, example: int) -> Any:
    return Field(
        default=None, ge=1, le=limit, strict=True, description=description, examples=[example]
    )


class ProcessorLimits(_Document):
    """How much a rule may hold and output; beyond that, a job quarantines this rule alone."""

    partial_matches_per_key: int | None = _most(
        10**7, "Partial and held-back matches of one key.", example=1_000
    )
    events_per_key: int | None = _most(
        10**8, "Events that the partial matches of one key hold.", example=10_000
    )
    partial_matches_per_shard: int | None = _most(
        10**9,
        "Partial matches of all keys of a shard, counted after each batch.",
        example=1_000_000,
    )
    rows_per_event: int | None = _most(
        10**7,
        "Output rows from one event of a key, or from one instant at which its windows close.",
        example=100,
    )
    rows_per_key: int | None = _most(10**8, "Output rows of one key in a batch.", example=1_000)
    rows_per_shard: int | None = _most(
        10**9, "Output rows of all keys of a shard in a batch.", example=100_000
    )
    bytes_per_row: int | None = Field(
        default=None,
        ge=1_000,
        le=10**9,
        strict=True,
        description="Size of an output row: key, output and events as JSON.",
        examples=[100_000],
    )


class Example(_Document):
    """Events and what must be found in them; a version whose examples fail is not published.

    Matches and timeouts name events by their position in `events`, from 0, in any order.
    """

    name: str = Field(
        default="", max_length=200, description="What it shows.", examples=["three, then a login"]
    )
    events: list[dict[str, Any]] = Field(
        max_length=500,
        description="The events, in order of event time.",
        examples=[[{"ts": 1000, "user": "eve", "action": "login"}]],
    )
    matches: list[dict[str, list[int]]] = Field(
        default=[],
        max_length=500,
        description="What must be found: the events of each match, by step.",
        examples=[[{"fail": [0, 1, 3], "login": [4]}]],
    )
    timed_out: list[dict[str, list[int]]] | None = Field(
        default=None,
        max_length=500,
        description="The partial matches that must time out; not compared if left out.",
        examples=[[{"fail": [0, 1]}]],
    )
    final_watermark_ms: int | None = Field(
        default=None,
        strict=True,
        ge=-(2**53),
        le=2**53,
        description="Advance event time to this after the last event.",
        examples=[600_000],
    )


class ProcessorContent(_Document):
    """What a version holds: everything that decides what is found and output."""

    pattern: PatternMapping = Field(
        description="Which events make a match.",
        examples=[{"steps": [{"name": "large", "where": "amount > 1000"}]}],
    )
    key_by: KeyBy | None = Field(
        default=None,
        description="A column or expression, or a list of them; matches never mix keys. Left out: "
        "one global key.",
        examples=[["user"]],
    )
    select: dict[str, SqlText] | None = Field(
        default=None,
        max_length=200,
        description="Output columns: expressions over the match.",
        examples=[{"user": "login.user", "failures": "COUNT(fail.*)"}],
    )
    function: SignedCode | None = Field(
        default=None, description="A signed PatternProcessFunction instead of `select`."
    )
    on_update: Literal["drop", "drain"] = Field(
        default="drop",
        description="Partial matches of the version that this one replaces: `drop` them, or let it "
        "finish them (`drain`).",
        examples=["drain"],
    )
    alert: ProcessorAlert | None = Field(
        default=None,
        description="Which matches become alerts. Left out: each of them.",
        examples=[{"suppress": {"for": "1 hour"}}],
    )
    limits: ProcessorLimits | None = Field(
        default=None,
        description="How much it may hold and output. Left out: as the job says.",
        examples=[{"partial_matches_per_key": 1_000}],
    )
    severity: Severity | None = Field(
        default=None, description="Severity of its matches.", examples=["high"]
    )

    @model_validator(mode="before")
    @classmethod
    def _with_parameters_in_pattern(cls, document: Any) -> Any:
        return with_parameters_in_pattern(document)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Return the JSON Schema, with the parameters that may stand beside the pattern."""
        written = handler(schema)
        described = {
            "description": "Parameters of the pattern; they may stand here instead.",
            "examples": [{"limit": {"type": "DOUBLE", "value": 100, "min": 0}}],
        }
        beside = handler(BESIDE_PATTERN.core_schema) | described
        handler.resolve_ref_schema(written)["properties"]["parameters"] = beside
        return written


class ProcessorLabels(_Document):
    """What says something about a processor and changes nothing of what it finds."""

    description: str = Field(
        default="",
        max_length=10_000,
        description="What it finds and why.",
        examples=["Three wrong passwords, then the right one."],
    )
    owner: str = Field(
        default="", max_length=200, description="Who is responsible.", examples=["fraud-team"]
    )
    tags: list[Tag] = Field(
        default=[],
        max_length=50,
        description="Words to filter by.",
        examples=[["account-takeover"]],
    )


class ProcessorDocument(ProcessorContent, ProcessorLabels):
    """A whole processor as its author writes it."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "id": "failed-logins",
                    "stream": "logins",
                    "pattern": {
                        "steps": [
                            {"name": "fail", "where": "action = 'fail'", "times": 3},
                            {
                                "name": "login",
                                "contiguity": "followed_by",
                                "where": "action = 'login'",
                            },
                        ],
                        "within": "10 minutes",
                    },
                    "key_by": ["user"],
                    "select": {"user": "login.user", "failures": "COUNT(fail.*)"},
                    "severity": "high",
                    "tags": ["account-takeover"],
                }
            ]
        }
    )

    id: ProcessorId
    stream: str = Field(
        min_length=1, max_length=100, description="The stream it watches.", examples=["logins"]
    )
    effective_from: GivenInstant | None = Field(
        default=None,
        description="First event time at which it is active. Left out: as soon as possible.",
    )
    effective_until: GivenInstant | None = Field(
        default=None, description="First event time at which it is not active any more."
    )
    examples: list[Example] = Field(
        default=[],
        max_length=50,
        description="Tests that run before each publish.",
        examples=[
            [
                {
                    "events": [{"ts": 1000, "user": "eve", "action": "login"}],
                    "matches": [{"login": [0]}],
                }
            ]
        ],
    )


class ProcessorFile(ProcessorDocument):
    """A rule as files have it: the document, and whether it is paused."""

    paused: bool | None = Field(
        default=None,
        strict=True,
        description="Whether it takes no events. Left out: as it is; a new rule runs.",
        examples=[True],
    )
