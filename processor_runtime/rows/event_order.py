"""Which of several events of one millisecond comes first.

stream, order_by ──order_of_equal_times──► columns to sort by, after the time in milliseconds

Time has a resolution of one millisecond, as in Flink. If the event time column is finer than that,
it orders events of the same millisecond before `order_by` does.
"""

from collections.abc import Iterable

from cep.expression import Kind, Schema

_FINER: frozenset[Kind] = frozenset({Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ})


def order_of_equal_times(
    schema: Schema, event_time_column: str, order_by: Iterable[str]
) -> list[str]:
    """Return the columns that order events of the same millisecond, the first counting most.

    Args:
        schema: the columns of the stream.
        event_time_column: one of them.
        order_by: the columns set by the stream or the job.
    """
    given = list(order_by)
    is_finer = dict(schema.columns)[event_time_column].kind in _FINER
    return [event_time_column, *given] if is_finer and event_time_column not in given else given
