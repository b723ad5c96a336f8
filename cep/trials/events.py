"""Events of a trial: from JSON to the types of the stream's columns, in order of event time."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from cep.events.values import column_readers
from cep.expression import Expression, Schema, compile_scalar, mapping_reader, resolve
from cep.instants import instant_ms
from cep.matching.find_matches import to_time_ms
from cep.trials.misfits import Misfit, Unfit
from cep.trials.plain_values import plain
from cep.trials.rule import Rule

_SHOWN: Final = 20


@dataclass(frozen=True, slots=True)
class TimedEvent:
    """One event: its position in the request, its event time, its typed columns.

    `windows` are the values of windows at this event, by their texts, once it has been traced.
    """

    position: int
    time_ms: int
    columns: dict[str, Any]
    windows: dict[str, Any] = field(default_factory=dict)


def timed_events(events: Sequence[Mapping[str, Any]], rule: Rule) -> list[TimedEvent]:
    """Return events with typed columns in the order in which a job matches them.

    Without a schema their values stay as they are.

    Raises:
        Unfit: a value does not fit its column, an event has no time, or equal times no order.
    """
    misfits: list[Misfit] = []
    timed: list[TimedEvent] = []
    readers = {} if rule.schema is None else column_readers(rule.schema)
    time_column, place = rule.time.column, rule.time.order_reader(rule.schema)
    for position, event in enumerate(events):
        columns = dict(event)
        for name, value in event.items():
            try:
                columns[name] = readers[name](value) if name in readers else value
            except ValueError as error:
                misfits.append(Misfit(("events", position, name), f"{error}."))
        try:
            time_ms = instant_ms(to_time_ms(columns.get(time_column)))
            timed.append(TimedEvent(position, time_ms, columns))
        except ValueError as error:
            detail = f"The event time {time_column} {error}."
            misfits.append(Misfit(("events", position, time_column), detail))
    if misfits:
        raise Unfit("list of events", misfits[:_SHOWN])
    try:
        return sorted(timed, key=lambda event: (event.time_ms, place(event.columns)))
    except TypeError as error:
        detail = f"Events of one time have no order: {error}."
        raise Unfit("list of events", [Misfit(("events",), detail)]) from None


def unknown_fields(events: Sequence[Mapping[str, Any]], schema: Schema | None) -> list[str]:
    """Return the fields of events that are not columns of the stream, each once."""
    if schema is None:
        return []
    names = dict.fromkeys(name for event in events for name in event)
    return [name for name in names if name not in dict(schema.columns)]


def key_function(rule: Rule) -> Callable[[TimedEvent], str]:
    """Return the function for the key of an event: a JSON list, so that any value can be a key."""
    values = key_values(rule)
    return lambda event: json.dumps(values(event))


def key_values(rule: Rule) -> Callable[[TimedEvent], list[Any]]:
    """Return the function for the values of the key of an event, as JSON has them."""
    columns = [
        compile_scalar(resolve(Expression.parse(text), (), rule.schema))
        for text in rule.content.key_by or ()
    ]

    return lambda event: [plain(column(event.columns, ())) for column in columns]


def code_view(schema: Schema | None) -> Callable[[TimedEvent], dict[str, Any]]:
    """Return what makes of an event what a Python condition is given: every column of the stream.

    Without a schema it is what the event has.
    """
    if schema is None:
        return lambda event: dict(event.columns)
    names = [name for name, _ in schema.columns]
    return lambda event: {name: event.columns.get(name) for name in names}


def column_reader(path: tuple[str, ...]) -> Callable[[TimedEvent], Any]:
    """Return what reads a column of an event, a field inside it, or a window."""
    read, name = mapping_reader(path), path[0]
    return lambda event: event.windows[name] if name in event.windows else read(event.columns)
