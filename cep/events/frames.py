"""Frames of Polars, pandas and Arrow as events: their rows, and the columns they show.

    frame ──rows_of──► mappings
          ──table_of─► EventTable: Schema, rows

Neither pandas nor Arrow is imported: the owner of such a frame has already imported it.
"""

import sys
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import polars as pl

from cep.events.table import EventTable, UnreadableEvents, frame_of
from cep.expression import Schema


def rows_of(events: Any) -> Iterable[Any]:
    """Return the rows of a frame as mappings, in their order; an iterable of events as it is.

    A frame holds its rows: of Polars, of pandas, or whatever hands itself out as an Arrow stream.
    What pandas takes as missing is `None`, and an index with a name is a column, too.

    Raises:
        UnreadableEvents: it is a frame whose rows are not there, or cannot be read; or no iterable
            of events at all.
    """
    if _is_of_pandas(events):
        return _records(events)
    frame = _polars_frame(events)
    return events if frame is None else frame.iter_rows(named=True)


def table_of(events: Any) -> EventTable | None:
    """Return the rows of a frame and its columns, `None` if it is no frame; see `rows_of`."""
    frame = frame_of(_records(events)) if _is_of_pandas(events) else _polars_frame(events)
    if frame is None:
        return None
    if not frame.width:
        raise UnreadableEvents("the frame shows no columns; give a schema")
    return EventTable(Schema.from_polars(frame.schema), frame.rows())


def _polars_frame(events: Any) -> pl.DataFrame | None:
    if isinstance(events, pl.DataFrame):
        return events
    kind = type(events)
    no_events = f"events are a list of mappings or objects, or a frame, not a {kind.__name__}"
    if isinstance(events, Mapping | str | bytes):
        raise UnreadableEvents(no_events)
    name = f"{kind.__module__.partition('.')[0]}.{kind.__name__}"
    for method in ("collect", "compute"):
        if hasattr(kind, method):
            raise UnreadableEvents(
                f"a {name} does not hold its rows; give what its {method}() returns"
            )
    # A series is a list of events, too.
    if not hasattr(kind, "__arrow_c_stream__") or isinstance(events, pl.Series):
        if hasattr(kind, "columns") and not hasattr(kind, "__len__"):
            raise UnreadableEvents(f"a {name} cannot be read; give its rows as mappings")
        if not isinstance(events, Iterable):
            raise UnreadableEvents(no_events)
        return None
    try:
        return pl.DataFrame(events)
    except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
        message = str(error).partition("\n")[0]
        raise UnreadableEvents(f"a {name} cannot be read as a frame: {message}") from error


def _is_of_pandas(events: Any) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(events, pandas.DataFrame)


def _records(frame: Any) -> list[dict[str, Any]]:
    """Return the rows of a frame of pandas, with its index as a column where that has a name."""
    if any(name is not None and name not in frame.columns for name in frame.index.names):
        frame = frame.reset_index()
    if not frame.columns.is_unique:
        twice = ", ".join(map(str, dict.fromkeys(frame.columns[frame.columns.duplicated()])))
        raise UnreadableEvents(f"the frame has several columns called {twice}; rename them")
    values = frame.astype(object).where(frame.notna(), None)
    return [
        {str(name): _plain(value) for name, value in record.items()}
        for record in values.to_dict("records")
    ]


def _plain(value: Any) -> Any:
    """Return a Timestamp of pandas as the datetime that all other events have."""
    is_timestamp = isinstance(value, datetime) and type(value) is not datetime
    return value.to_pydatetime(warn=False) if is_timestamp else value
