"""The report of a rule that fails in a shard: an error row, a count, and why it has stopped.

RuleFailure, Exception ──RuleErrors──► OutputRow of kind `error` · StoppedRule · RuleFailed
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cep.expression import EvaluationError
from cep.keyed.shapes import RuleFailure
from cep.nfa.errors import (
    ConditionFailed,
    KeyFailed,
    LimitExceeded,
    SkipTargetMissing,
    error_message,
)
from processor_runtime.output.row_chunks import RowChunks
from processor_runtime.rows.event_block import EventTuple, event_fields, event_time_ms
from processor_runtime.rows.json_text import json_text
from processor_runtime.rows.output_rows import OutputRow, error_json, traceback_text
from processor_runtime.rows.shard_status import ShardStatus, StoppedRule
from processor_runtime.schedule.batch_clock import BatchClock
from processor_runtime.schedule.interval import Interval
from processor_runtime.watch.code_watch import CodeCall
from processor_runtime.watch.note import RuleCode


class RuleFailed(RuntimeError):
    """A rule failed in a job that is set to fail then (`on_error: fail`)."""


@dataclass(frozen=True, slots=True)
class FailureSite:
    """Where a rule failed: on which key and event, and when in event time."""

    key: Any
    time_ms: int
    event: EventTuple | None = None


@dataclass(frozen=True, slots=True)
class RuleErrors:
    """Tells of failures in one batch of one shard.

    `rows`: where error rows go; `None` if no output wants them. `end_job`: whether the first
    failure ends the job.
    """

    clock: BatchClock
    columns: Sequence[str]
    rows: RowChunks | None
    status: ShardStatus
    end_job: bool

    def failure(self, interval: Interval, failure: RuleFailure) -> StoppedRule:
        """Tell of a rule that the matcher has stopped."""
        event = failure.event
        time_ms = self.clock.complete_ms if event is None else event_time_ms(event)
        site = FailureSite(failure.key, time_ms, event)
        return self.failed(interval, reason_of(failure.error), failure.error, site)

    def failed(
        self, interval: Interval, reason: str, error: Exception, site: FailureSite | None = None
    ) -> StoppedRule:
        """Tell of a rule that is to be stopped; without a site it failed as a whole.

        Raises:
            RuleFailed: the job is set to fail then.
        """
        # What code has raised is code as well, and is asked what it says.
        code = RuleCode(interval.processor_id, interval.version, interval.digest, "its error")
        with CodeCall(code):
            self.tell(interval, reason, error, site)
            text = f"{type(error).__name__}: {error_message(error)}"
            trace = traceback_text(error)
        time_ms = self.clock.complete_ms if site is None else site.time_ms
        return StoppedRule(interval.rule_id, text, time_ms, trace)

    def tell(
        self, interval: Interval, reason: str, error: Exception, site: FailureSite | None
    ) -> None:
        """Count an error of a rule and make a row of it; the rule may go on.

        Raises:
            RuleFailed: the job is set to fail then.
        """
        if self.end_job:
            raise RuleFailed(
                f"rule {interval.processor_id}, version {interval.version}: {error_message(error)}"
            ) from error
        self.status.rule(interval.rule_id).errors += 1
        if self.rows is None:
            return
        event = None if site is None else site.event
        row = OutputRow(
            kind="error",
            processor_id=interval.processor_id,
            version=interval.version,
            epoch=self.clock.epoch,
            key=None if site is None or site.key is None else json_text(site.key),
            end_ms=self.clock.complete_ms if site is None else site.time_ms,
            events=None if event is None else json_text(event_fields(event, self.columns)),
            error=error_json(reason, error),
        )
        self.rows.add([row])


def reason_of(error: Exception) -> str:
    """Return in one word why a rule has failed."""
    match error:
        case LimitExceeded():
            return "limit"
        case ConditionFailed() | EvaluationError():
            return "condition"
        case KeyFailed():
            return "key"
        case SkipTargetMissing():
            return "skip"
        case _:
            return "matching"
