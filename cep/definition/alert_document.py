"""How a rule reports its matches: the key `alert` of its document.

document ──► ProcessorAlert: suppress, group, budget ──► checks, and the job
"""

from typing import Annotated, Any, Final

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from cep.pattern.durations import duration_ms

LONGEST_GROUP_MS: Final = 7 * 24 * 3_600_000
LONGEST_SUPPRESSION_MS: Final = 30 * 24 * 3_600_000


def _as_duration(value: Any) -> Any:
    """Let pass what is a length of time, as it is written."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        # Pydantic tells of no other error where it stands.
        message = f"'{value}' is no length of time. Write it like '1 hour'."
        raise ValueError(message)  # noqa: TRY004
    if duration_ms(value) <= 0:
        raise ValueError(f"'{value}' is no time at all. Write it like '1 hour'.")
    return value


Duration = Annotated[
    str | int,
    BeforeValidator(_as_duration),
    WithJsonSchema({"type": ["string", "integer"], "minimum": 1}),
]


def _is_no_longer_than_a_month(value: str | int) -> str | int:
    if duration_ms(value) > LONGEST_SUPPRESSION_MS:
        raise ValueError(f"'{value}' is too long: matches are suppressed for '30 days' at most.")
    return value


class AlertSuppression(BaseModel):
    """How many matches go out in a period; others are counted, and rows of kind `suppressed`."""

    model_config = ConfigDict(extra="forbid", frozen=True, serialize_by_alias=True)

    by: list[Annotated[str, Field(min_length=1, max_length=200)]] = Field(
        default=[],
        max_length=20,
        description="Output columns that must be equal as well as the key.",
        examples=[["country"]],
    )
    for_time: Annotated[Duration, AfterValidator(_is_no_longer_than_a_month)] = Field(
        alias="for",
        description="The period from the first match, in event time, at most 30 days.",
        examples=["1 hour"],
    )
    at_most: int = Field(
        default=1,
        ge=1,
        le=1_000_000,
        strict=True,
        description="How many matches go out in the period.",
        examples=[3],
    )


class AlertBudget(BaseModel):
    """How many matches of all keys go out in each period; beyond that, the rule is throttled."""

    model_config = ConfigDict(extra="forbid", frozen=True, serialize_by_alias=True)

    at_most: int = Field(
        ge=1,
        le=100_000,
        strict=True,
        description="How many matches go out in each period.",
        examples=[100],
    )
    for_time: Duration = Field(
        alias="for",
        description="The period, in event time: '1 hour' is from each full hour to the next, UTC.",
        examples=["1 hour"],
    )


def _is_no_longer_than_a_week(value: str | int) -> str | int:
    if duration_ms(value) > LONGEST_GROUP_MS:
        raise ValueError(f"'{value}' is too long: a group gathers for '7 days' at most.")
    return value


class AlertGroup(BaseModel):
    """Which matches of all keys are one alert: the first goes out, and at the end how many."""

    model_config = ConfigDict(extra="forbid", frozen=True, serialize_by_alias=True)

    by: list[Annotated[str, Field(min_length=1, max_length=200)]] = Field(
        default=[],
        max_length=20,
        description="Output columns; matches with equal values are one group. Left out: all.",
        examples=[["country"]],
    )
    for_time: Annotated[Duration, AfterValidator(_is_no_longer_than_a_week)] = Field(
        alias="for",
        description="The period, in event time, at most 7 days: '1 hour' is from each full hour to "
        "the next, UTC.",
        examples=["10 minutes"],
    )


class ProcessorAlert(BaseModel):
    """Which matches become alerts."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    suppress: AlertSuppression | None = Field(
        default=None,
        description="How many matches of one key go out in a period.",
        examples=[{"by": ["country"], "for": "1 hour"}],
    )
    group: AlertGroup | None = Field(
        default=None,
        description="Which matches of all keys are one alert.",
        examples=[{"by": ["country"], "for": "10 minutes"}],
    )
    budget: AlertBudget | None = Field(
        default=None,
        description="How many matches of all keys go out in a period.",
        examples=[{"at_most": 100, "for": "1 hour"}],
    )
