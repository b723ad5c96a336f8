"""The values reports of a job are made of: names, numbers and times within bounds, texts that fit.

Texts that are too long or cannot be stored are corrected, never refused: a report must not fail
because of its content.
"""

from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

_MENDED: Final = "\N{REPLACEMENT CHARACTER}"
_DEEPEST: Final = 20
_LONGEST_NUMBER: Final = 100


def _shortened(limit: int, *, keep_end: bool = False) -> BeforeValidator:
    def mended(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        text = storable(value)
        if len(text) <= limit:
            return text
        return f"…{text[1 - limit :]}" if keep_end else f"{text[: limit - 1]}…"

    return BeforeValidator(mended)


def storable(value: Any, depth: int = 0) -> Any:
    """Return a value as the service takes it in a body: what it would refuse is text, or mended.

    Args:
        value: of JSON.
        depth: how many objects and arrays it is in.
    """
    match value:
        case str():
            return value.replace("\x00", _MENDED).encode(errors="replace").decode()
        case int() if not -(2**63) <= value < 2**63:
            return str(value)[:_LONGEST_NUMBER]
        case dict() | list() if depth == _DEEPEST:
            return f"{len(value)} values"
        case dict():
            return {storable(str(name)): storable(each, depth + 1) for name, each in value.items()}
        case list():
            return [storable(each, depth + 1) for each in value]
        case _:
            return value


JobName = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$",
        description="Its name on its stream, the same after every restart.",
        examples=["fraud-job"],
    ),
]
InstanceId = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9_-]{8,64}$",
        description="New at every start of the job, such as a UUID.",
        examples=["6f1c1f0e-5a0b-4a30-9d0f-0d3d3f5f2b11"],
    ),
]
# The years 1 to 9999, which `cep.instants.iso_text` can write.
_EARLIEST_MS: Final = -62_135_510_400_000
_LATEST_MS: Final = 253_402_128_000_000
EventTimeMs = Annotated[int, Field(strict=True, ge=_EARLIEST_MS, le=_LATEST_MS)]
Count = Annotated[int, Field(strict=True, ge=0, lt=2**53)]
Version = Annotated[int, Field(strict=True, ge=1, lt=2**31)]
ErrorText = Annotated[str, _shortened(1_000)]
Traceback = Annotated[str, _shortened(4_000, keep_end=True)]
ShortText = Annotated[str, _shortened(200)]


class Report(BaseModel):
    """Part of a report."""

    # A newer job may add keys; a service that does not know them still reads the rest.
    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


def event_time_or_none(time_ms: int | None) -> int | None:
    """Return an event time as reports can have it; `None` for one that is out of their bounds."""
    is_within = time_ms is not None and _EARLIEST_MS <= time_ms <= _LATEST_MS
    return time_ms if is_within else None
