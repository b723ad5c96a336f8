"""Prints a table of the newest rows of every batch, for people who watch a job."""

import json
from typing import Final

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 - how PySpark's functions are named everywhere
from rich.console import Console
from rich.table import Table
from rich.text import Text

from processor_runtime.job_file.outputs import ConsoleOutput
from processor_runtime.spark.sinks.row_columns import instant

_TEXT_LENGTH: Final = 200
_LONG_TEXT_LENGTH: Final = 10_000
_TAGGED: Final = ("side", "shadow")
_STYLES: Final = {
    "match": "green",
    "timeout": "yellow",
    "shadow": "dim",
    "suppressed": "dim",
    "grouped": "dim",
    "group": "green",
    "late": "cyan",
    "error": "red",
}


class ConsoleSink:
    """Prints the newest rows of a batch; the rest are counted.

    `terminal`: where to print; standard output if left out.
    """

    remedy = "Look at where the job's standard output goes."
    secrets: frozenset[str] = frozenset()

    def __init__(self, output: ConsoleOutput, terminal: Console | None = None) -> None:
        self._rows_per_batch = output.rows_per_batch
        self._terminal = terminal or Console()

    def write(self, rows: DataFrame, batch_id: int, row_count: int) -> None:
        """Print a batch; nothing if it is empty."""
        if row_count == 0:
            return
        newest = (
            rows.orderBy(F.col("end_ms").desc_nulls_last(), "kind", "match_id")
            .limit(self._rows_per_batch)
            .select(
                *("kind", "tag", "processor_id", "version", "end_ms", "key"),
                # Texts are cut before they are sent; one character more than shown marks them as
                # cut.
                *(_beginning(name, _TEXT_LENGTH + 1) for name in ("output", "events")),
                _beginning("error", _LONG_TEXT_LENGTH),
            )
            .collect()
        )
        table = Table(title=f"batch {batch_id}: {row_count} {'row' if row_count == 1 else 'rows'}")
        for heading in ("kind", "time (UTC)", "processor", "key", "content"):
            table.add_column(heading, overflow="fold")
        for row in newest:
            table.add_row(*_cells(row))
        if row_count > len(newest):
            table.caption = f"and {row_count - len(newest)} more"
        self._terminal.print(table)

    def close(self) -> None:
        """Do nothing: no resources are held."""


def _beginning(name: str, length: int) -> Column:
    return F.substring(name, 1, length).alias(name)


def _cells(row: Row) -> list[Text]:
    # The tag of a match is the id of its group, which tells people nothing.
    kind = f"{row['kind']} {row['tag']}" if row["tag"] and row["kind"] in _TAGGED else row["kind"]
    processor = row["processor_id"] or ""
    if processor:
        processor += f" v{row['version']}"
    if row["error"] is not None:
        content = _error_text(row["error"])
    else:
        content = row["output"] if row["output"] not in {None, "null"} else row["events"] or ""
    texts = (kind, _time_text(row["end_ms"]), processor, _key_text(row["key"]), content)
    cells = [_plain(text) for text in texts]
    cells[0].stylize(_STYLES.get(row["kind"], ""))
    return cells


def _plain(text: str) -> Text:
    # Events are untrusted: neither rich markup nor terminal escapes may take effect.
    shown = "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in text)
    return Text(shown if len(shown) <= _TEXT_LENGTH else f"{shown[:_TEXT_LENGTH]}…")


def _time_text(value_ms: int | None) -> str:
    moment = instant(value_ms)
    return "" if moment is None else moment.replace(tzinfo=None).isoformat(" ", "milliseconds")


def _key_text(key: str | None) -> str:
    values = json.loads(key) if key else []
    return ", ".join(
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for value in values
    )


def _error_text(error: str) -> str:
    try:
        told = json.loads(error)
        return f"{told['reason']}: {told['message']}"
    except (ValueError, LookupError, TypeError):
        return error
