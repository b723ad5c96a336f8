"""Backtests that the service keeps and workers run: the task, its progress, and what was found.

    request ──► service ── BacktestTask ──► worker ── BacktestProgress, BacktestOutcome ──► service

The service has the rules, a worker the events of the past; neither has to reach what the other has.
A report is also what `percept backtest --json` prints. Times are ISO 8601 in reports, milliseconds
in tasks.
"""

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from cep.definition.document import StreamName
from cep.list_content import ListType
from cep.trials.reports import SpanReport
from contract.snapshot import StreamDefinition

REPORT_BYTES: Final = 1_000_000
"""The largest report that the service takes."""
ERROR_LENGTH: Final = 4_000

WorkerName = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$",
        description="Its name: the same after a restart, another for each worker.",
        examples=["backtests-1"],
    ),
]
_Count = Annotated[int, Field(strict=True, ge=0, lt=2**53)]
CountedBy = Literal["hour", "day", "month", "year"]


class _Part(BaseModel):
    # Service and worker may be of different releases; what one does not know it leaves out.
    model_config = ConfigDict(frozen=True, extra="ignore")


class FoundExample(_Part):
    """One match with its events by step."""

    match_id: str
    key: str = Field(description="Its values, joined by a comma and a space.")
    start: str
    end: str
    output: Any
    events: dict[str, list[dict[str, Any]]]


class PlacedMatch(_Part):
    """Where a match is: its key, and when it was found."""

    key: str
    end: str


class BacktestDifference(_Part):
    """How many matches both versions find, or one of them alone, by the identity of matches."""

    is_complete: bool = Field(
        default=True,
        description="Whether all of them are compared; the first 2,000,000 of a version are.",
    )
    before: str | None = Field(
        default=None, description="Where not all are compared, only those before this time are."
    )
    both: _Count
    gained: _Count
    lost: _Count
    first_gained: list[PlacedMatch]
    first_lost: list[PlacedMatch]


class BacktestScores(_Part):
    """How many matches are right and wrong, as far as it is known; a rate is null without any."""

    true_positives: _Count
    false_positives: _Count
    unlabelled: _Count
    bad_keys: _Count
    bad_keys_found: _Count
    precision: float | None
    recall: float | None
    is_complete: bool = Field(
        default=True,
        description="Whether all labels in the time of the events count; the newest 10,000 do.",
    )


class RuleReport(_Part):
    """What one rule has found."""

    rule: str
    matches: _Count
    undecided_at_the_end: _Count = Field(
        default=0,
        description="Absences that later events could have undone: no matches, as the data ends "
        "before their windows do.",
    )
    timeouts: _Count
    suppressed: _Count
    grouped: _Count = Field(
        default=0, description="Matches for which another one of their group stands."
    )
    left_out: _Count
    partial_matches_at_most: _Count = Field(description="Open at once, after a batch of events.")
    partial_matches_at_the_end: _Count
    error: str | None = Field(description="Why it stopped.")
    by_hour: dict[str, _Count] = Field(
        description="Matches by the beginning of the hour in which they were found, or of the day, "
        "month or year: see `counted_by`."
    )
    counted_by: CountedBy = Field(
        default="hour", description="Longer than an hour where hours are too many for a report."
    )
    keys: _Count
    top_keys: dict[str, _Count]
    samples: list[FoundExample]
    against: BacktestDifference | None = None
    labels: BacktestScores | None = None


class BacktestReport(_Part):
    """What a backtest has found, by rule."""

    events: _Count
    unusable_events: _Count
    first_event: str | None = Field(description="The time of the first event.")
    last_event: str | None = Field(description="The time of the last event.")
    seconds: float
    events_per_second: _Count
    peak_state_bytes: _Count
    problems: list[str]
    rules: list[RuleReport]


class KnownLabel(_Part):
    """What people have decided about a match of any version of a rule."""

    match_id: str
    key: list[Any]
    start_ms: int
    end_ms: int
    is_true: bool


class KnownList(_Part):
    """A list of the stream, and what it held when the worker began; `digest` as in snapshots."""

    name: str
    data_type: ListType = Field(alias="type")
    digest: str


class KeyQuestion(_Part):
    """Why a rule found no match for a key in the time of a task; `key` is a JSON array."""

    key: str
    attempts: int = Field(description="How many attempts are told, the farthest first.")


class BacktestTask(_Part):
    """A backtest that a worker is to run, or a question that it is to answer from its archive.

    `document` and `against` are processor documents, `lists` those that they name; `attempt` counts
    how often it was given out and not given back. `labels` are the newest of that time.
    """

    stream: StreamDefinition
    number: int
    attempt: int
    document: dict[str, Any]
    against: dict[str, Any] | None
    from_ms: int | None
    until_ms: int | None
    closes_windows: bool
    labels: list[KnownLabel]
    labels_are_complete: bool = True
    lists: list[KnownList] = []
    question: KeyQuestion | None = Field(
        default=None, description="What to tell of instead: the outcome is then a SpanReport."
    )


class BacktestClaim(BaseModel):
    """A worker asks for a backtest on one of the streams whose events it has."""

    model_config = ConfigDict(extra="forbid")

    worker: WorkerName
    streams: list[StreamName] = Field(min_length=1, max_length=100)


class BacktestTurn(_Part):
    """The answer: a backtest, or none that waits."""

    task: BacktestTask | None


class BacktestProgress(BaseModel):
    """How far a worker is."""

    model_config = ConfigDict(extra="forbid")

    worker: WorkerName
    attempt: int = Field(strict=True, ge=1, lt=2**31)
    events_done: _Count
    events_total: _Count = Field(description="0 = they are still being read.")


class BacktestRelease(BaseModel):
    """A worker that is to stop gives a backtest back."""

    model_config = ConfigDict(extra="forbid")

    worker: WorkerName
    attempt: int = Field(strict=True, ge=1, lt=2**31)


class BacktestGoesOn(_Part):
    """The answer: whether the worker is to go on."""

    goes_on: bool


class BacktestOutcome(BaseModel):
    """How a backtest has ended: with a report, or with an error."""

    model_config = ConfigDict(extra="forbid")

    worker: WorkerName
    attempt: int = Field(strict=True, ge=1, lt=2**31)
    report: BacktestReport | SpanReport | None = None
    error: str = Field(default="", max_length=ERROR_LENGTH)
