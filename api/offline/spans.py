"""Why a rule of a file found no match for one key in a span of time, from the files of an archive.

files ──read here──► events of the key ──process of a trial──► SpanReport ──► words
"""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from api.offline.trying import (
    NotTried,
    key_expressions,
    rule_to_try,
    stream_of,
    tried_in_process,
)
from cep.definition.given_lists import GivenList
from cep.definition.one_rule import FileRule
from cep.events.files import event_files
from cep.events.table import EVENT_SUFFIXES, EventRows, UnreadableEvents, event_rows
from cep.expression import Schema
from cep.file_trouble import file_trouble
from cep.trials.key_history import (
    BadQuestion,
    BeyondReading,
    KeySpan,
    ReadingLimits,
    key_history,
)
from cep.trials.plain_values import exact
from cep.trials.reports import SpanReport
from cep.trials.rule import read_rule


@dataclass(frozen=True, slots=True)
class AskedSpan:
    """A key and a span, how many attempts are told, and what reading and matching may take."""

    span: KeySpan
    attempts: int
    most_events: int
    seconds: float
    megabytes: int


@dataclass(frozen=True, slots=True)
class OfTheRule:
    """What decides how a rule of a file is tried; see `rule_to_try`."""

    rule: FileRule
    source: Path
    streams: Sequence[Path]
    key: Sequence[str] | None
    time: str | None
    lists: Mapping[str, GivenList]


def why_in_span(asked: AskedSpan, of: OfTheRule, place: str) -> SpanReport:
    """Return why a rule found no match for a key in a span.

    Args:
        asked: what is asked, and its limits.
        of: the rule.
        place: the archive: a file, a folder, or a pattern of names; `-` = standard input.

    Raises:
        NotTried: the rule or the events do not fit, or it takes too much.
        UnreadableEvents: there is no archive, or a file is none of events.
    """
    stream = stream_of(of.rule, of.source, of.streams)
    files = _events(place, None if stream is None else stream.schema)
    first = next(files)
    shown = () if first.schema is None else first.schema.columns
    tried = rule_to_try(
        of.rule,
        source=of.source,
        stream=stream,
        seen=first.schema,
        key=key_expressions(of.key or (), dict(shown)),
        time=of.time,
        lists=of.lists,
    )
    rule = read_rule(tried.written)
    if rule.content.key_by and not asked.span.key:
        columns = ", ".join(rule.content.key_by)
        raise NotTried(f"--only is missing: the key to tell of, which is {columns}")
    limits = ReadingLimits(read=asked.most_events)
    try:
        history = key_history(rule, chain((first,), files), asked.span, limits)
    except (BadQuestion, BeyondReading) as error:
        raise NotTried(f"{error}") from None
    arguments = {
        "rule": asdict(tried.written),
        "history": asdict(history) | {"events": [exact(each) for each in history.events]},
        "span": asdict(asked.span),
        "attempts": asked.attempts,
    }
    answer = tried_in_process(
        "why_in_span", arguments, asked.seconds, asked.megabytes, "Shorten the span."
    )
    return SpanReport.model_validate_json(answer)


def _events(place: str, schema: Schema | None) -> Iterator[EventRows]:
    """Yield the events of each file of an archive."""
    if place == "-":
        yield event_rows(sys.stdin.buffer.read(), place, schema)
        return
    files = event_files(place)
    if not files:
        raise UnreadableEvents(
            f"{place} has no files of events ({', '.join(EVENT_SUFFIXES)}, each also with .gz); "
            "give a file, a folder or a quoted pattern, such as '/data/logins/**/*.parquet'"
        )
    for path in files:
        try:
            events = event_rows(path.read_bytes(), path.name, schema)
        except OSError as error:
            raise UnreadableEvents(f"{path}: cannot read: {file_trouble(error)}") from None
        except UnreadableEvents as error:
            raise UnreadableEvents(f"{path}: {error}") from None
        yield replace(events, rows=_of_file(path, events.rows))


def _of_file(path: Path, events: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    try:
        yield from events
    except UnreadableEvents as error:
        raise UnreadableEvents(f"{path}: {error}") from None
