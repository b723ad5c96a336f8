"""One version of a rule made ready to run: pattern parsed and checked, code verified and loaded.

    Interval ──load_rules──► LoadedRule, to be compiled with others into a rule set · RefusedRule

The driver finds out so which versions cannot run at all; on the workers it comes before compiling.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from pydantic_core import from_json

from cep.bounded_cache import BoundedCache
from cep.definition.document import ProcessorContent, ProcessorLimits
from cep.definition.keys import written_key
from cep.expression import Schema, row_reader
from cep.expression.lists import ValueList
from cep.nfa.limits import Limits
from cep.pattern import Pattern
from cep.processor import PatternProcessFunction, SelectExpressions
from cep.row_pattern.analysis.analyse import analyse
from cep.row_search.output import RowOutput
from cep.signing.code import CodePlace, CodeRefused, CodeUse, verify_and_load
from cep.signing.keys import SigningKeys
from contract.canonical import canonical_json
from contract.snapshot import StreamDefinition
from processor_runtime.rows.event_block import TIME
from processor_runtime.rows.key_columns import key_columns
from processor_runtime.rows.row_limits import RowLimits
from processor_runtime.rules.alerts import (
    Budget,
    Grouping,
    Suppression,
    budget_in,
    grouping_in,
    suppression_in,
)
from processor_runtime.schedule.interval import Interval
from processor_runtime.watch.code_watch import CodeCall
from processor_runtime.watch.note import RuleCode


@dataclass(frozen=True, slots=True)
class RuleDefaults:
    """What the job says for all its rules.

    `signing_keys` verify Python code; without any, code is refused. `limits`, how many partial
    matches there may be in a shard (`None` = any number), and `row_limits` hold for rules that say
    nothing else.
    """

    signing_keys: SigningKeys | None = None
    limits: Limits = field(default_factory=Limits)
    partial_matches_per_shard: int | None = None
    row_limits: RowLimits = field(default_factory=RowLimits)


@dataclass(frozen=True, slots=True)
class WrittenLimits:
    """What a rule itself says it may hold for one key; `None` = as the job says."""

    partial_matches: int | None = None
    events: int | None = None

    def effective(self, defaults: Limits) -> Limits:
        """Return the limits that hold."""
        return Limits(
            self.partial_matches or defaults.partial_matches, self.events or defaults.events
        )


@dataclass(frozen=True, slots=True)
class LoadedRule:
    """One version for one interval: its pattern, and what is done with its matches.

    `id` is the `rule_id` of the interval, `digest` its digest. Without a `function` a match is
    output as its events alone. `shard_limit` is how many partial matches all keys of a shard may
    hold, `None` = any number. `key_by` are the expressions of the key, none for one global key.
    `row_limits` is how much it may output, `suppression` and `budget` how often, `grouping`
    which matches are reported as one. `row_output` makes the rows of a MATCH_RECOGNIZE clause.
    `lists` are those that its conditions name, `list_names` their names, known to the schema or
    not.
    """

    id: str
    processor_id: str
    version: int
    digest: str
    pattern: Pattern
    function: PatternProcessFunction | None
    limits: WrittenLimits
    shard_limit: int | None = None
    key_by: tuple[str, ...] = ()
    row_limits: RowLimits = field(default_factory=RowLimits)
    row_output: RowOutput | None = None
    suppression: Suppression | None = None
    lists: tuple[ValueList, ...] = ()
    budget: Budget | None = None
    grouping: Grouping | None = None
    list_names: tuple[str, ...] = ()

    @property
    def goes_through_driver(self) -> bool:
        """Whether the driver has a say in which of its matches go out."""
        return self.budget is not None or self.grouping is not None

    def code_call(self, what: str) -> CodeCall:
        """Return what its code for something runs in."""
        return CodeCall(RuleCode(self.processor_id, self.version, self.digest, what))


@dataclass(frozen=True, slots=True)
class RefusedRule:
    """A version that cannot run here, and why."""

    interval: Interval
    error: Exception


def load_rules(
    intervals: Iterable[Interval],
    stream: StreamDefinition,
    schema: Schema,
    defaults: RuleDefaults,
    loaded: Mapping[tuple[str, str], LoadedRule] = MappingProxyType({}),
) -> tuple[list[LoadedRule], list[RefusedRule]]:
    """Return the versions that can run, ready, and those that cannot; each by itself, in order.

    Args:
        intervals: the versions.
        stream: what they are on.
        schema: its columns and lists.
        defaults: what the job says for all its rules.
        loaded: rules that are ready already, by id and digest, for the same columns and defaults.
    """
    rules: list[LoadedRule] = []
    refused: list[RefusedRule] = []
    for interval in intervals:
        try:
            known = loaded.get((interval.rule_id, interval.digest))
            if known is None or known.lists != named_lists(known.list_names, schema):
                known = _load(interval, stream, schema, defaults)
            rules.append(known)
        except Exception as error:  # noqa: BLE001 - one bad rule never stops the others
            refused.append(RefusedRule(interval, error))
    return rules, refused


def _load(
    interval: Interval, stream: StreamDefinition, schema: Schema, defaults: RuleDefaults
) -> LoadedRule:
    if not has_code(interval.definition):
        return _made(interval, stream, schema, defaults)
    code = RuleCode(interval.processor_id, interval.version, interval.digest, "its code, loaded")
    with CodeCall(code):
        return _made(interval, stream, schema, defaults)


def has_code(definition: Mapping[str, Any]) -> bool:
    """Whether a version holds Python code."""
    return definition.get("function") is not None or _holds_code(definition.get("pattern"))


def _holds_code(value: Any) -> bool:
    match value:
        case Mapping():
            return "python" in value or any(map(_holds_code, value.values()))
        case list() | tuple():
            return any(map(_holds_code, value))
        case _:
            return False


def _made(
    interval: Interval, stream: StreamDefinition, schema: Schema, defaults: RuleDefaults
) -> LoadedRule:
    content = ProcessorContent.model_validate(interval.definition)
    pattern = _pattern(interval.definition["pattern"], schema)
    list_names = pattern.list_names
    lists = named_lists(list_names, schema)
    key_by = tuple(written_key(content.key_by, pattern) or ())
    key_columns(key_by, schema)
    given, keys = content.limits or ProcessorLimits(), defaults.signing_keys
    place = CodePlace(stream=stream.name, processor=interval.processor_id)
    return LoadedRule(
        interval.rule_id,
        interval.processor_id,
        interval.version,
        interval.digest,
        pattern.load_code(keys, place),
        _function(content, pattern, keys, place),
        WrittenLimits(given.partial_matches_per_key, given.events_per_key),
        given.partial_matches_per_shard or defaults.partial_matches_per_shard,
        key_by,
        row_limits(given, defaults.row_limits),
        row_output(pattern, replace(schema, lists=lists)),
        suppression_in(content.alert),
        lists,
        budget_in(content.alert),
        grouping_in(content.alert),
        list_names,
    )


def row_output(pattern: Pattern, schema: Schema) -> RowOutput | None:
    """Return what makes rows of the matches of a clause; `None` for a pattern of steps."""
    if pattern.query is None:
        return None
    columns = (TIME, *(name for name, _ in schema.columns))
    return RowOutput(analyse(pattern.query.clause, schema), row_reader(columns))


def row_limits(given: ProcessorLimits, otherwise: RowLimits) -> RowLimits:
    """Return how much a rule may output: as it says, or as is said otherwise."""
    return RowLimits(
        given.rows_per_event or otherwise.per_event,
        given.rows_per_key or otherwise.per_key,
        given.rows_per_shard or otherwise.per_shard,
        given.bytes_per_row or otherwise.row_bytes,
    )


def named_lists(names: Collection[str], schema: Schema) -> tuple[ValueList, ...]:
    """Return the lists of a schema with these names, in order of name."""
    return tuple(each for each in schema.lists or () if each.name in names)


def _pattern(document: Mapping[str, Any], schema: Schema) -> Pattern:
    pattern = _patterns[canonical_json(document), replace(schema, lists=None)]
    return pattern.validate(schema) if pattern.list_names else pattern


def _parsed(key: tuple[str, Schema]) -> Pattern:
    document, schema = key
    return Pattern.from_document(from_json(document), schema=schema)


_patterns = BoundedCache(_parsed, capacity=4_000_000, size_of=lambda key, _pattern: len(key[0]))
"""Each pattern once per process, by its document: so many characters, which make some 100 MB."""


def _function(
    content: ProcessorContent, pattern: Pattern, keys: SigningKeys | None, place: CodePlace
) -> PatternProcessFunction | None:
    if content.function is not None:
        loaded = verify_and_load(content.function, keys, CodeUse.FUNCTION, place)
        function = loaded() if isinstance(loaded, type) else loaded
        if not isinstance(function, PatternProcessFunction):
            raise CodeRefused(f"{content.function.name} is no PatternProcessFunction")
        return function
    return SelectExpressions(content.select, pattern) if content.select else None
