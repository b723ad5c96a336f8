"""A rule and a file of events → why it found no match there, worked out by a worker of a trial.

What that takes cannot be told before: the worker ends at its limits of time and memory.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from api.code.verification import holds_code
from api.offline.streams import StreamAtHand, streams_at_hand
from api.trials.misfits import Unfit
from api.trials.near_misses import Wanted
from api.trials.plain_values import plain
from api.trials.processes import BeyondLimit, TrialFailed, TrialProcesses
from api.trials.reports import WhyReport
from api.trials.rule import WrittenRule
from cep.definition.checking import check_definition
from cep.definition.document import ProcessorContent
from cep.definition.one_rule import FileRule
from cep.expression import Kind, Schema
from cep.expression.sql import quoted_name


class NotTried(Exception):
    """A rule cannot be tried on events; the message says why."""


@dataclass(frozen=True, slots=True)
class TriedRule:
    """A rule as it is tried, with the columns it is tried on.

    `stream` is the name of the stream they are of, empty if they come from the events.
    """

    written: WrittenRule
    stream: str


def rule_to_try(  # noqa: PLR0913 - what decides how a rule is tried
    rule: FileRule,
    *,
    source: Path,
    streams: Iterable[Path],
    seen: Schema | None,
    key: Sequence[str] | None,
    time: str | None,
) -> TriedRule:
    """Return a rule with the columns of its stream, else of the events.

    Args:
        rule: the rule.
        source: its file, beside which its stream may be.
        streams: files and folders to look for documents of streams in.
        seen: the columns of the events, `None` if they say nothing of them.
        key: the key, instead of that of the rule.
        time: the column of the event time, instead of that of the stream.

    Raises:
        NotTried: it does not fit the columns, or has Python conditions.
    """
    stream = _stream(rule, source, streams)
    ddl = _ddl(seen) if stream is None else stream.place.data["schema"]
    definition: dict[str, Any] = {"pattern": rule.pattern.to_document()}
    if keys := list(key or rule.key_by):
        definition["key_by"] = keys
    if rule.pattern.query is not None and not key:
        definition.pop("key_by", None)  # the clause says it
    if holds_code(definition):
        raise NotTried("the pattern has Python conditions, which are not run here")
    schema = None if ddl is None else Schema.from_ddl(ddl)
    checked = check_definition(definition, schema, ProcessorContent)
    if checked.problems:
        told = "\n".join(map(str, checked.problems))
        of = f"stream {rule.content.stream}" if stream and rule.content else "the events"
        raise NotTried(f"it does not fit the columns of {of}:\n{told}")
    column = time or (stream.event_time_column if stream else "ts")
    name = "" if stream is None else str(stream.place.data["name"])
    return TriedRule(WrittenRule(definition, ddl, column), name)


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
    processes = TrialProcesses(seconds, megabytes)
    arguments = {
        "rule": asdict(rule),
        "events": [plain(event) for event in events],
        "wanted": asdict(wanted),
    }
    try:
        return WhyReport.model_validate_json(processes.run("why", arguments))
    except Unfit as unfit:
        told = "\n".join(f"{_place(each.place)}{each.detail}" for each in unfit.misfits)
        raise NotTried(told) from None
    except BeyondLimit as beyond:
        told = f"{beyond} Give fewer events, or only one key: --only."
        raise NotTried(told) from None
    except TrialFailed as failure:
        raise NotTried(str(failure).strip().rpartition("\n")[2]) from None
    finally:
        processes.close()


def _stream(rule: FileRule, source: Path, streams: Iterable[Path]) -> StreamAtHand | None:
    if rule.content is None:
        return None
    found, _ = streams_at_hand(rule.documents, [source], streams)
    stream = found.get(rule.content.stream)
    return stream if stream is not None and stream.schema is not None else None


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
            return f"row {position + 1}: "
        case _:
            return ""
