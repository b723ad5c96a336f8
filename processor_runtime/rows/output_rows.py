"""The output rows of a job: matches, timeouts, side outputs, shadows, groups, late events, errors.

Detection ──process function──► OutputRow ──► frame ──► outputs of the job file, by kind
"""

import traceback
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, get_args

import polars as pl
from pydantic_core import from_json

from cep.nfa.errors import error_message
from processor_runtime.rows.json_text import json_text

RowKind = Literal[
    "match", "timeout", "side", "shadow", "suppressed", "grouped", "group", "late", "error"
]
ROW_KINDS: Final[tuple[RowKind, ...]] = get_args(RowKind)

SCHEMA: Final = pl.Schema(
    {
        "kind": pl.String(),
        "tag": pl.String(),
        "processor_id": pl.String(),
        "version": pl.Int32(),
        "epoch": pl.Int64(),
        "key": pl.String(),
        "match_id": pl.String(),
        "start_ms": pl.Int64(),
        "end_ms": pl.Int64(),
        "output": pl.String(),
        "events": pl.String(),
        "error": pl.String(),
    }
)


class OutputRow(NamedTuple):
    """One row of output; `key`, `output`, `events` and `error` are JSON, or `None`.

    `tag` names a side output, or the group of a match. `start_ms` and `end_ms` are event times,
    milliseconds since 1970.
    """

    kind: RowKind
    tag: str | None = None
    processor_id: str | None = None
    version: int | None = None
    epoch: int | None = None
    key: str | None = None
    match_id: str | None = None
    start_ms: int | None = None
    end_ms: int | None = None
    output: str | None = None
    events: str | None = None
    error: str | None = None

    def columns(self) -> Mapping[str, Any]:
        """Return the columns of the output; none if it has no columns, or cannot be read again."""
        try:
            output: Any = None if self.output is None else from_json(self.output)
        except ValueError:  # code may give what is nested more deeply than is read
            output = None
        return output if isinstance(output, Mapping) else {}


def rows_frame(rows: Sequence[OutputRow]) -> pl.DataFrame:
    """Return rows as a frame of `SCHEMA`."""
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def error_json(reason: str, error: BaseException | None = None, **more: Any) -> str:
    """Return an error as JSON: its reason, its message, and where it arose."""
    content: dict[str, Any] = {"reason": reason, **more}
    if error is not None:
        content |= {"message": error_message(error), "traceback": traceback_text(error)}
    return json_text(content)


def traceback_text(error: BaseException) -> str:
    """Return where an error arose: the end of its traceback, at most 4,000 characters.

    Of a condition that raised it is the traceback of what it raised.
    """
    cause = getattr(error, "cause", None) or error
    text = "".join(traceback.format_exception(cause, limit=-20))[-4_000:]
    return text.encode(errors="replace").decode()
