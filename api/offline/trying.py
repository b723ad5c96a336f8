"""A rule and a file of events → why it found no match there, worked out by a worker of a trial.

What that takes cannot be told before: the worker ends at its limits of time and memory.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from api.code.verification import holds_code
from api.offline.streams import StreamAtHand, streams_at_hand
from api.trials.processes import BeyondLimit, TrialFailed, TrialProcesses
from cep.definition.checking import check_definition
from cep.definition.document import ProcessorContent
from cep.definition.given_lists import GivenList
from cep.definition.one_rule import FileRule
from cep.events.order import EventTime
from cep.expression import Kind, Schema
from cep.expression.sql import quoted_name
from cep.trials.lists import written_list
from cep.trials.misfits import Unfit
from cep.trials.near_misses import Wanted
from cep.trials.plain_values import exact
from cep.trials.reports import WhyReport
from cep.trials.rule import WrittenRule


class NotTried(Exception):
    """A rule cannot be tried on events; the message says why."""


@dataclass(frozen=True, slots=True)
class TriedRule:
    """A rule as it is tried; `stream` is the name of its stream, empty if that is not known."""

    written: WrittenRule
    stream: str


def stream_of(rule: FileRule, source: Path, streams: Iterable[Path]) -> StreamAtHand | None:
    """Return the stream of a rule, whose columns and order its events have; `None` if not at hand.

    Args:
        rule: the rule.
        source: its file, beside which its stream may be.
        streams: files and folders to look for documents of streams in.
    """
    if rule.content is None:
        return None
    found, _ = streams_at_hand(rule.documents, [source], streams)
    stream = found.get(rule.content.stream)
    return stream if stream is not None and stream.schema is not None else None


def rule_to_try(  # noqa: PLR0913 - what decides how a rule is tried
    rule: FileRule,
    *,
    source: Path,
    stream: StreamAtHand | None,
    seen: Schema | None,
    key: Sequence[str] | None,
    time: str | None,
    lists: Mapping[str, GivenList],
) -> TriedRule:
    """Return a rule with the columns of its stream, else of the events.

    Args:
        rule: the rule.
        source: its file, beside which lists may be.
        stream: its stream, if that is at hand.
        seen: the columns that the events show, `None` if they say nothing of them.
        key: the key, instead of that of the rule.
        time: the column of the event time, instead of that of the stream.
        lists: lists that were given by name.

    Raises:
        NotTried: it does not fit the columns, has Python conditions, or names other lists.
    """
    ddl = _ddl(seen) if stream is None else stream.place.data["schema"]
    definition: dict[str, Any] = {"pattern": rule.pattern.to_document()}
    if keys := list(key or rule.key_by):
        definition["key_by"] = keys
    if rule.pattern.query is not None and not key:
        definition.pop("key_by", None)  # the clause says it
    if holds_code(definition):
        raise NotTried("the pattern has Python conditions, which are not run here")
    try:
        known = rule.lists(source, lists)
    except ValueError as error:
        raise NotTried(f"{error}") from None
    values = tuple(each.value_list() for each in known)
    schema = None if ddl is None else Schema.from_ddl(ddl, values)
    checked = check_definition(definition, schema, ProcessorContent)
    if checked.problems:
        message = "\n".join(map(str, checked.problems))
        of = f"stream {rule.content.stream}" if stream and rule.content else "the events"
        raise NotTried(f"it does not fit the columns of {of}:\n{message}")
    order = EventTime("ts") if stream is None else stream.time
    order = EventTime(time or order.column, order.order_by)
    name = "" if stream is None else str(stream.place.data["name"])
    written = WrittenRule(definition, ddl, order, tuple(map(written_list, known)))
    return TriedRule(written, name)


def key_expressions(keys: Iterable[str], names: Container[str]) -> list[str]:
    """Return keys of the command line as a rule has them: names of columns are quoted if need be.

    Args:
        keys: the keys.
        names: the columns of the events, as far as they are known.
    """
    return [quoted_name(key) if key in names else key for key in keys]


def why(
    rule: WrittenRule,
    events: Sequence[dict[str, Any]],
    wanted: Wanted,
    *,
    seconds: float,
    megabytes: int,
) -> WhyReport:
    """Return why a rule found no match in events.

    Args:
        rule: the rule.
        events: in any order.
        wanted: how much is told.
        seconds: how long it may take.
        megabytes: how much memory it may take.

    Raises:
        NotTried: the events do not fit, or it takes too much.
    """
    arguments = {
        "rule": asdict(rule),
        "events": [exact(event) for event in events],
        "wanted": asdict(wanted),
    }
    remedy = "Give fewer events, or only one key: --only."
    return WhyReport.model_validate_json(
        tried_in_process("why", arguments, seconds, megabytes, remedy)
    )


def tried_in_process(
    task: str, arguments: Mapping[str, Any], seconds: float, megabytes: int, remedy: str
) -> bytes:
    """Return the answer of a task of `api.trials.tasks`, done in a process of its own.

    Args:
        task: its name.
        arguments: what it takes.
        seconds: how long it may take.
        megabytes: how much memory it may take.
        remedy: what to do if it takes more.

    Raises:
        NotTried: the events do not fit, or it takes too much.
    """
    processes = TrialProcesses(seconds, megabytes)
    try:
        return processes.run(task, arguments)
    except Unfit as unfit:
        message = "\n".join(f"{_place(each.place)}{each.detail}" for each in unfit.misfits)
        raise NotTried(message) from None
    except BeyondLimit as beyond:
        raise NotTried(f"{beyond} {remedy}") from None
    except TrialFailed as failure:
        raise NotTried(str(failure).strip().rpartition("\n")[2]) from None
    finally:
        processes.close()


def _ddl(schema: Schema | None) -> str | None:
    """Return columns as DDL; one without a type known there is text."""
    if schema is None:
        return None
    unknown = {Kind.NULL, Kind.OTHER, Kind.UNKNOWN, Kind.INTERVAL}
    return ", ".join(
        f"{quoted_name(name)} {'STRING' if data_type.kind in unknown else data_type}"
        for name, data_type in schema.columns
    )


def _place(place: Sequence[str | int]) -> str:
    match place:
        case ["events", int(position), *_]:
            return f"event {position + 1}: "
        case _:
            return ""
