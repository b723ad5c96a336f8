"""The document of a pattern: its keys, their types and its JSON Schema, as pydantic models.

`reading` turns a document into a pattern tree, `writing` a tree into a document. The models check
the shape only; other rules (those of Flink) are checked on the tree.
"""

import reprlib
from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    TypeAdapter,
    WithJsonSchema,
)

from cep.pattern.durations import duration_ms
from cep.pattern.parameters import ParameterDocuments
from cep.pattern.tree import Contiguity, InnerContiguity, SkipKind, WithinType
from cep.signing.code import SignedCode


def _text_duration_ms(duration: Any) -> int:
    if not isinstance(duration, str):
        given = reprlib.repr(duration)
        raise ValueError(  # noqa: TRY004 - pydantic reports ValueErrors, not TypeErrors
            f"{given} is a duration without a unit. Write '10 minutes' or use the key with _ms."
        )
    return duration_ms(duration)


def _times_form(times: Any) -> str:
    return "<range>" if isinstance(times, Mapping | TimesRangeDocument) else "<count>"


def _subtype_form(subtype: Any) -> str:
    return "<field>" if isinstance(subtype, Mapping | SubtypeDocument) else "<name>"


def _element_form(element: Any) -> str:
    is_group = isinstance(element, Mapping) and "group" in element
    return "<group>" if is_group or isinstance(element, GroupDocument) else "<step>"


def _condition_form(condition: Any) -> str:
    match condition:
        case AllOfDocument():
            return "<all_of>"
        case AnyOfDocument():
            return "<any_of>"
        case PythonDocument():
            return "<python>"
        case Mapping():
            forms = (key for key in ("all_of", "any_of", "python") if key in condition)
            return f"<{next(forms, 'sql')}>"
        case _:
            return "<sql>"


# Tags distinguish the forms of a value and are left out of the paths in messages.
FORM_TAGS: Final = frozenset(
    {
        *("<range>", "<count>", "<field>", "<name>", "<group>", "<step>"),
        *("<sql>", "<python>", "<all_of>", "<any_of>"),
    }
)

TextDuration = Annotated[
    int,
    BeforeValidator(_text_duration_ms),
    WithJsonSchema({"type": "string", "examples": ["10 minutes", "1h 30m", "PT10M"]}),
]
Milliseconds = Annotated[int, Field(ge=0, le=2**63 - 1)]
Sql = Annotated[str, Field(examples=["action = 'pay' AND amount > 100", "price > AVG(bid.price)"])]


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class PythonDocument(_Document):
    """A condition in Python, signed: `Pattern.sign_code` writes it."""

    python: SignedCode = Field(description="The function, signed.")


class AllOfDocument(_Document):
    """Conditions that must all hold, some of them in Python."""

    all_of: "list[ConditionDocument]" = Field(
        min_length=1, description="The conditions.", examples=[["amount > 100", "n < 3"]]
    )


class AnyOfDocument(_Document):
    """Conditions of which one must hold, some of them in Python."""

    any_of: "list[ConditionDocument]" = Field(
        min_length=1, description="The conditions.", examples=[["amount > 100", "n < 3"]]
    )


ConditionDocument = Annotated[
    Annotated[Sql, Tag("<sql>")]
    | Annotated[PythonDocument, Tag("<python>")]
    | Annotated[AllOfDocument, Tag("<all_of>")]
    | Annotated[AnyOfDocument, Tag("<any_of>")],
    Discriminator(_condition_form),
]


class TimesRangeDocument(_Document):
    """How often a step comes: `from` to `to` times; `to: null` means without end."""

    minimum: int = Field(
        alias="from", description="At least; 0 makes the step optional.", examples=[2]
    )
    maximum: int | None = Field(
        alias="to", description="At most; null means without end.", examples=[4]
    )


class SubtypeDocument(_Document):
    """Only events whose `field` holds `name`."""

    field: str = Field(
        default="type", description="The field that names an event's type.", examples=["kind"]
    )
    name: str = Field(description="The type an event must have.", examples=["SubEvent"])


class WindowDocument(_Document):
    """The window that a step, a group or a whole pattern carries."""

    within: TextDuration | None = Field(default=None, description="The window, as a duration.")
    within_ms: Milliseconds | None = Field(
        default=None, description="The same in milliseconds; 0 means none.", examples=[600_000]
    )
    within_type: Annotated[WithinType | None, Field(strict=False)] = Field(
        default=None,
        description="`first_and_last` (default) limits the whole match, `previous_and_current` the "
        "gap before the step.",
    )


class _ElementDocument(WindowDocument):
    contiguity: Annotated[Contiguity | None, Field(strict=False)] = Field(
        default=None,
        description="How it follows the step before; not on the first step of a sequence.",
    )
    times: (
        Annotated[
            Annotated[int, Tag("<count>")] | Annotated[TimesRangeDocument, Tag("<range>")],
            Discriminator(_times_form),
        ]
        | None
    ) = Field(
        default=None,
        description="How often it occurs. Left out: once.",
        examples=[3, {"from": 2, "to": 4}, {"from": 1, "to": None}],
    )
    times_within: TextDuration | None = Field(
        default=None, description="Flink's window between repetitions."
    )
    times_within_ms: Milliseconds | None = Field(
        default=None, description="The same in milliseconds.", examples=[60_000]
    )
    inner: Annotated[InnerContiguity, Field(strict=False)] = Field(
        default=InnerContiguity.RELAXED, description="How repetitions follow each other."
    )
    greedy: bool = Field(
        default=False, description="Keep every event it accepts from the next step."
    )
    optional: bool = Field(default=False, description="It may be absent.")
    until: ConditionDocument | None = Field(
        default=None, description="The event that ends the loop."
    )
    within_previous: TextDuration | None = Field(
        default=None, description="A `previous_and_current` window beside a `first_and_last` one."
    )


class StepDocument(_ElementDocument):
    """One named step."""

    name: str = Field(description="Its name in matches and conditions.", examples=["fail"])
    where: ConditionDocument | None = Field(
        default=None, description="Which events it takes. Left out: every event."
    )
    subtype: (
        Annotated[
            Annotated[str, Tag("<name>")] | Annotated[SubtypeDocument, Tag("<field>")],
            Discriminator(_subtype_form),
        ]
        | None
    ) = Field(
        default=None,
        description="The type of events it takes, by their field `type` or another one.",
        examples=["SubEvent", {"field": "kind", "name": "SubEvent"}],
    )


class SequenceDocument(_Document):
    """The steps of a group."""

    steps: "list[ElementDocument]" = Field(
        min_length=1,
        description="Steps and groups, in order.",
        examples=[[{"name": "fail", "times": 3}]],
    )


class GroupDocument(_ElementDocument):
    """A sequence that repeats or is optional as a whole."""

    group: SequenceDocument = Field(
        description="The sequence.",
        examples=[{"steps": [{"name": "fail"}, {"name": "reset", "contiguity": "next"}]}],
    )


ElementDocument = Annotated[
    Annotated[StepDocument, Tag("<step>")] | Annotated[GroupDocument, Tag("<group>")],
    Discriminator(_element_form),
]


class SkipDocument(_Document):
    """Which other partial matches are dropped once a match is found."""

    strategy: Annotated[SkipKind, Field(strict=False)] = Field(
        description="Which are dropped: none, those begun with the first event of the match, up to "
        "its last event, or before the first or last event of `step`.",
        examples=["skip_past_last_event"],
    )
    step: str | None = Field(
        default=None,
        description="The step of `skip_to_first` and `skip_to_last`.",
        examples=["login"],
    )
    throw_on_miss: bool = Field(
        default=False, description="Whether a match without that step is an error."
    )


class PatternDocument(WindowDocument):
    """A pattern: which events, in which order, make a match."""

    model_config = ConfigDict(
        title="Pattern",
        json_schema_extra={
            "examples": [
                {
                    "steps": [
                        {"name": "fail", "where": "action = 'fail'", "times": 3},
                        {"name": "login", "contiguity": "followed_by", "where": "action = 'login'"},
                    ],
                    "within": "10 minutes",
                    "after_match_skip": {"strategy": "skip_past_last_event"},
                }
            ]
        },
    )

    steps: list[ElementDocument] = Field(
        min_length=1,
        description="Steps and groups, in order.",
        examples=[[{"name": "fail", "times": 3}, {"name": "login", "contiguity": "followed_by"}]],
    )
    parameters: ParameterDocuments = {}
    after_match_skip: SkipDocument | None = Field(
        default=None,
        description="What happens to other partial matches. Left out: `no_skip`.",
        examples=[{"strategy": "skip_past_last_event"}],
    )
    flink_quirks: bool = Field(
        default=False, description="Accept patterns that Flink misinterprets."
    )


class RowPatternDocument(_Document):
    """A pattern in SQL: a MATCH_RECOGNIZE clause, alone or in a SELECT."""

    model_config = ConfigDict(
        title="Row pattern",
        json_schema_extra={
            "examples": [
                {
                    "match_recognize": (
                        "MATCH_RECOGNIZE (\n"
                        "  PARTITION BY user\n"
                        "  ORDER BY ts\n"
                        "  MEASURES\n"
                        "    COUNT(FAIL.*) AS failures\n"
                        "  ONE ROW PER MATCH\n"
                        "  AFTER MATCH SKIP PAST LAST ROW\n"
                        "  PATTERN (FAIL{3,} LOGIN) WITHIN INTERVAL '10' MINUTE\n"
                        "  DEFINE\n"
                        "    FAIL AS action = 'fail',\n"
                        "    LOGIN AS action = 'login'\n"
                        ")"
                    )
                }
            ]
        },
    )

    parameters: ParameterDocuments = {}
    match_recognize: str = Field(
        min_length=1,
        max_length=100_000,
        description="The clause.",
        examples=["MATCH_RECOGNIZE (ORDER BY ts PATTERN (A B) DEFINE A AS n = 1, B AS n = 2)"],
    )


AnyPatternDocument: Final = TypeAdapter[PatternDocument | RowPatternDocument](
    PatternDocument | RowPatternDocument
)


def document_json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a pattern document."""
    schema = AnyPatternDocument.json_schema(by_alias=True)
    documents = (schema["$defs"][model.__name__] for model in (PatternDocument, RowPatternDocument))
    examples = [example for document in documents for example in document["examples"]]
    return {"title": "Pattern or row pattern", "examples": examples, **schema}
