"""Why a rule found no match for a key in a span, found out from the archive.

KeyQuestion, files ──► events of the key ──the matcher, traced──► SpanReport that the service takes
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from cep.definition.given_lists import GivenList
from cep.events.order import EventTime
from cep.events.table import EventRows, UnreadableEvents, event_rows
from cep.expression import Schema
from cep.file_trouble import file_trouble
from cep.signing.code import CodePlace
from cep.signing.keys import SigningKeys
from cep.trials.explanation import explained
from cep.trials.key_history import KeySpan, ReadingLimits, key_history
from cep.trials.lists import written_list
from cep.trials.reports import SpanReport
from cep.trials.rule import Rule, WrittenRule, read_rule
from contract.backtests import REPORT_BYTES, BacktestTask, KeyQuestion
from processor_runtime.backtest.given_lists import GivenLists


def asked_rule(task: BacktestTask, lists: GivenLists, signing_keys: SigningKeys | None) -> Rule:
    """Return the rule that a question is about, ready to run.

    `signing_keys`: that Python code in it is signed with; without any, code is refused.

    Raises:
        PatternError: code of the rule is refused: it is not signed for it with one of the keys.
    """
    rule = read_rule(_written(task, lists))
    place = CodePlace(stream=task.stream.name, processor=str(task.document["id"]))
    return replace(rule, pattern=rule.pattern.load_code(signing_keys, place))


def explanation(
    task: BacktestTask, question: KeyQuestion, rule: Rule, files: Sequence[Path], most_events: int
) -> SpanReport:
    """Return the answer to a question.

    `most_events`: how many events that bear on the span may be read.

    Raises:
        UnreadableEvents: a file is none of events.
        BadQuestion: the key is not one of the rule, or there is no span.
        BeyondReading: there are too many events.
        Unfit: the events do not fit the stream, or cannot be matched.
    """
    span = KeySpan(question.key, task.from_ms or 0, task.until_ms or 0)
    every = (_events(path, rule.schema) for path in files)
    limits = ReadingLimits(read=most_events)
    history = key_history(rule, every, span, limits)
    attempts = question.attempts
    while True:
        report = explained(rule, history, span, attempts)
        if attempts == 1 or len(report.model_dump_json().encode()) <= REPORT_BYTES:
            return report
        attempts //= 2


def _written(task: BacktestTask, lists: GivenLists) -> WrittenRule:
    definition = {"pattern": task.document["pattern"]}
    # The key of a clause is its PARTITION BY.
    if "match_recognize" not in task.document["pattern"] and task.document.get("key_by"):
        definition["key_by"] = task.document["key_by"]
    given = (
        GivenList(each.name, each.data_type, lists.contents[version.digest])
        for each in lists.lists
        for version in each.versions
    )
    time = EventTime(task.stream.event_time_column, tuple(task.stream.order_by))
    return WrittenRule(definition, task.stream.ddl, time, tuple(map(written_list, given)))


def _events(path: Path, schema: Schema | None) -> EventRows:
    try:
        events = event_rows(path.read_bytes(), path.name, schema)
    except OSError as error:
        raise UnreadableEvents(f"cannot read {path}: {file_trouble(error)}") from None
    except UnreadableEvents as error:
        raise UnreadableEvents(f"{path}: {error}") from None
    return replace(events, rows=_of_file(path, events.rows))


def _of_file(path: Path, events: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    try:
        yield from events
    except UnreadableEvents as error:
        raise UnreadableEvents(f"{path}: {error}") from None
