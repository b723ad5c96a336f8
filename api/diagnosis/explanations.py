"""Why a rule found no match for one key in a span: the question and its answer, as they are shown.

Backtest with a question ──explanation_view──► ExplanationView: state, report, the same in words
"""

import json
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from api.backtests.schemas import BacktestState, Version
from api.backtests.tables import Backtest
from api.diagnosis.partial_matches import LONGEST_KEY
from cep.instants import GivenInstant, Instant
from cep.printable import printable
from cep.trials.explanation import MOST_ATTEMPTS
from cep.trials.reports import SpanReport
from cep.trials.words import span_lines


class ExplanationRequest(BaseModel):
    """What to tell of: a key of a rule, and a span of event time."""

    model_config = ConfigDict(extra="forbid")

    key: str = Field(
        default="",
        max_length=LONGEST_KEY,
        description="The key: the value of its one column, or a JSON array of several such as "
        '["eve", 7]. Left out for a rule without `key_by`.',
    )
    since: GivenInstant = Field(description="The beginning of the span.")
    until: GivenInstant = Field(description="Its end, exclusive.")
    version: Version | None = Field(
        default=None, description="Which version of the rule; left out = the current one."
    )
    attempts: Annotated[int, Field(strict=True, ge=1, le=MOST_ATTEMPTS)] = Field(
        default=3, description="How many attempts are told, those that came farthest first."
    )

    @model_validator(mode="after")
    def _has_a_span(self) -> "ExplanationRequest":
        if self.since >= self.until:
            raise ValueError("`until` does not come after `since`")
        return self


class ExplanationLine(BaseModel):
    """A line of the report in words."""

    text: str
    style: str = Field(
        description="What it tells: bold = a heading, green = events that were taken, red = what "
        "ended it, yellow = what was missing; else empty."
    )


class ExplanationView(BaseModel):
    """Why a rule found no match for a key in a span; without `report` until a worker has told."""

    number: int
    processor_id: str
    stream: str
    version: int
    key: list[Any]
    since: Instant
    until: Instant
    state: BacktestState
    created_at: Instant
    created_by: str
    ended_at: Instant | None
    worker: str = Field(description="Which answers it, or has answered it.")
    error: str = Field(description="Why there is no answer, if it failed.")
    report: SpanReport | None
    not_regarded: list[str] = Field(
        description="What may hold matches of the rule back, of which the report does not tell: "
        "snoozes, and what its `alert` says."
    )
    lines: list[ExplanationLine] = Field(description="The report in words.")


def explanation_view(question: Backtest, not_regarded: Sequence[str]) -> ExplanationView:
    """Return a question and its answer, and what that does not regard."""
    asked = json.loads(question.question or "{}")
    report = None
    if question.report is not None:
        report = SpanReport.model_validate_json(question.report)
    lines: list[tuple[str, str]] = []
    if report is not None:
        lines = [*span_lines(question.processor_id, report)]
        lines += [(f"  not regarded: {text}", "yellow") for text in not_regarded]
    return ExplanationView(
        number=question.number,
        processor_id=question.processor_id,
        stream=question.stream,
        version=question.version or 0,
        key=json.loads(asked["key"]),
        since=question.from_ms or 0,
        until=question.until_ms or 0,
        state=question.state,  # type: ignore[arg-type] # the states of the table
        created_at=question.created_at_ms,
        created_by=question.created_by,
        ended_at=question.ended_at_ms,
        worker=question.worker,
        error=question.error,
        report=report,
        not_regarded=[printable(text) for text in not_regarded],
        lines=[ExplanationLine(text=printable(text), style=style) for text, style in lines],
    )
