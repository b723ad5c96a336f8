"""Rules in files, ready to run over history.

documents ──rules_in──► stream, rules as a job would have them ──ready──► RuleSet
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from cep.definition.rule_files import FileDocument
from cep.events.order import EventTime
from cep.expression import Schema
from contract.snapshot import Snapshot, StreamDefinition
from discoverers.assembly import assemble
from discoverers.found import DocumentRefused, FoundProcessors, FoundVersion, found_version
from discoverers.stream_options import StreamOptions
from processor_runtime.backtest.given_lists import NO_LISTS, GivenLists
from processor_runtime.rules.loading import RuleDefaults
from processor_runtime.rules.rule_set import RuleSet, compile_rules
from processor_runtime.schedule.timeline import Timeline, resolve


class NothingToRun(Exception):
    """The files hold no rule that could run; says why."""


@dataclass(frozen=True, slots=True)
class RulesInFiles:
    """The rules of one stream by its `name`, and its definition where a document has it."""

    name: str
    versions: tuple[FoundVersion, ...]
    stream: StreamDefinition | None
    problems: tuple[str, ...] = ()


def rules_in(
    documents: Iterable[FileDocument], stream: str | None, streams: Mapping[str, StreamDefinition]
) -> RulesInFiles:
    """Return the rules in documents.

    Args:
        documents: of files; documents of streams among them are `streams`.
        stream: the stream whose rules are wanted; by default that of all of them.
        streams: known streams, by name.

    Raises:
        NothingToRun: there is no rule, or there are rules of several streams.
    """
    versions: list[FoundVersion] = []
    problems: list[str] = []
    names: dict[str, None] = {}
    for document in documents:
        if "pattern" not in document.data:
            continue
        name = document.data.get("stream", stream or "")
        if stream is not None and name != stream:
            continue
        names[str(name)] = None
        whole = {"stream": name or "events"} | document.data
        try:
            versions.append(found_version(whole, str(document.file), text=document.source))
        except DocumentRefused as error:
            problems.append(f"{document.file}: {error}")
    if len(names) > 1:
        raise NothingToRun(f"there are rules of several streams ({', '.join(names)}); choose one")
    if not versions:
        message = "; ".join(problems) or "no document with `pattern` and `id`"
        raise NothingToRun(f"there is no rule to run: {message}")
    (name,) = names
    # A schedule is of the time in which the rule is published, not of history.
    always = [replace(each, effective_from_ms=None, effective_until_ms=None) for each in versions]
    running = [replace(each, paused=False) for each in always]
    return RulesInFiles(name, tuple(running), streams.get(name), tuple(problems))


def streams_in(documents: Iterable[FileDocument]) -> dict[str, StreamDefinition]:
    """Return the streams that documents define, by name; the first definition of each.

    Raises:
        pydantic.ValidationError: a definition is malformed.
    """
    found: dict[str, StreamDefinition] = {}
    for document in filter(is_stream, documents):
        name = str(document.data["name"])
        if name not in found:
            written = {key: value for key, value in document.data.items() if key != "name"}
            found[name] = StreamOptions.model_validate(written).definition(name)
    return found


def is_stream(document: FileDocument) -> bool:
    """Whether a document defines a stream."""
    return {"schema", "name"} <= document.data.keys() and "pattern" not in document.data


@dataclass(frozen=True, slots=True)
class ReadyRules:
    """Rules compiled as in a job, with the ids of those that can run, and what is wrong."""

    rules: RuleSet
    ids: tuple[str, ...]
    problems: tuple[str, ...]


def ready(
    versions: Sequence[FoundVersion],
    stream: StreamDefinition,
    defaults: RuleDefaults,
    lists: GivenLists = NO_LISTS,
) -> ReadyRules:
    """Return rules ready to run over all of time; what cannot run is reported and left out.

    Raises:
        NothingToRun: that is so for all of them.
    """
    time = EventTime(stream.event_time_column, tuple(stream.order_by))
    # As in a job: of equal milliseconds the finer part of the event time decides first.
    order_by = list(time.order(Schema.from_ddl(stream.ddl)))
    stream = stream.model_copy(update={"order_by": order_by})
    found = FoundProcessors(stream=stream, versions=tuple(versions), lists=lists.lists)
    reading = assemble(found, None)
    snapshot: Snapshot = reading.snapshot
    timeline = resolve(Timeline(), snapshot, None)
    rules = compile_rules(timeline, snapshot.stream, defaults, contents=lists.content)
    refused = [f"{item.interval.processor_id}: {item.error}" for item in rules.refused]
    ids = {
        item.processor_id for group in rules.groups.values() for item in group.intervals.values()
    }
    problems = (*map(str, reading.problems), *refused)
    if not ids:
        raise NothingToRun("\n".join(problems))
    return ReadyRules(rules, tuple(sorted(ids)), problems)
