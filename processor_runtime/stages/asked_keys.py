"""Keys that somebody asks about: found by the first stage, answered by the shard that holds them.

    AskedKey ──questions──► KeyQuestion, to its shard ──answer──► KeyAnswer, in its status

A question changes nothing of what is matched: its key is restored as if it had an event, and kept
as it was. A key is asked for as people and matches have it (`["eve", "2026-03-01"]`), and read back
as the values of its columns; the other way round is `rows.json_text`.
"""

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import polars as pl
from pydantic import TypeAdapter, ValidationError

from cep.matching.open_matches import OpenMatch, OpenMatches
from contract.asked_keys import (
    PARTIAL_MATCHES_TOLD,
    STEPS_TOLD,
    AskedKey,
    KeyAnswer,
    OpenPartialMatch,
    TakenStep,
)
from contract.report_values import event_time_or_none
from processor_runtime.rows.key_hashing import key_bytes, key_hash, shard_of
from processor_runtime.rules.compiled_group import CompiledGroup
from processor_runtime.rules.rule_set import RuleSet
from processor_runtime.schedule.batch_clock import NO_WATERMARK_MS, BatchClock

_NOT_HERE: Final = "the job runs no version of this rule"


@dataclass(frozen=True, slots=True)
class KeyQuestion:
    """A key that is asked about, as the shard knows it.

    `key` are its bytes in the selector group `group`; with a `problem` there is no such key.
    """

    id: str
    processor_id: str
    group: str = ""
    key: bytes = b""
    problem: str = ""


def questions(
    rules: RuleSet, asked: Iterable[AskedKey], shards: int
) -> Iterator[tuple[int, KeyQuestion]]:
    """Yield what to ask which shard: one question for each key selector that a rule has now."""
    for each in asked:
        groups = [
            group.compiled
            for group in rules.groups.values()
            if _rules_of(group.compiled, each.processor_id)
        ]
        for group in groups:
            try:
                key = key_bytes(_key_as_written(each.key, group.key_types))
            except _NoKey as problem:
                yield 0, KeyQuestion(each.id, each.processor_id, problem=f"{problem}")
                continue
            shard = shard_of(key_hash(group.id, key), shards)
            yield shard, KeyQuestion(each.id, each.processor_id, group.id, key)
        if not groups:
            yield 0, KeyQuestion(each.id, each.processor_id, problem=_NOT_HERE)


def answer(
    question: KeyQuestion,
    group: CompiledGroup | None,
    found: Mapping[str, OpenMatches],
    clock: BatchClock,
) -> KeyAnswer:
    """Return what a shard tells of a key.

    `group`: its rules; `None` if the question is about no key. `found`: what is open for the key
    after the batch, by rule.
    """
    told: list[OpenPartialMatch] = []
    own = {} if group is None else _rules_of(group, question.processor_id)
    held = [(own[rule], of_rule) for rule, of_rule in found.items() if rule in own]
    for version, of_rule in sorted(held, key=lambda each: -each[0]):
        told += [_open_partial_match(version, each) for each in of_rule.farthest]
    is_known = clock.complete_ms != NO_WATERMARK_MS
    return KeyAnswer(
        id=question.id,
        batch_id=clock.batch_id,
        watermark_ms=event_time_or_none(clock.complete_ms) if is_known else None,
        open=sum(of_rule.count for _, of_rule in held),
        held_back=sum(of_rule.held_back for _, of_rule in held),
        partial_matches=told[:PARTIAL_MATCHES_TOLD],
        problem=question.problem,
    )


def merge_answers(answers: Iterable[KeyAnswer]) -> list[KeyAnswer]:
    """Return one answer per question, of which several shards may know a part."""
    by_id: dict[str, KeyAnswer] = {}
    for each in answers:
        known = by_id.get(each.id)
        by_id[each.id] = each if known is None else _both(known, each)
    return list(by_id.values())


def _both(one: KeyAnswer, other: KeyAnswer) -> KeyAnswer:
    told = sorted(
        [*one.partial_matches, *other.partial_matches], key=lambda partial: -partial.version
    )
    return one.model_copy(
        update={
            "open": one.open + other.open,
            "held_back": one.held_back + other.held_back,
            "partial_matches": told[:PARTIAL_MATCHES_TOLD],
            # A version with another key selector may have this key.
            "problem": one.problem and other.problem,
        }
    )


def _rules_of(group: CompiledGroup, processor_id: str) -> dict[str, int]:
    """Return the version of each rule of a group that is one of a processor, by rule."""
    return {
        rule.id: rule.version for rule in group.rules.values() if rule.processor_id == processor_id
    }


def _open_partial_match(version: int, partial: OpenMatch) -> OpenPartialMatch:
    return OpenPartialMatch(
        version=version,
        steps=[
            TakenStep(
                name=step.name, count=step.count, first_ms=step.first_ms, last_ms=step.last_ms
            )
            for step in partial.steps[:STEPS_TOLD]
        ],
        started_ms=partial.started_ms,
        last_ms=partial.last_ms,
        # A window of a million years never closes.
        expires_ms=event_time_or_none(partial.expires_ms),
        awaited=list(partial.awaited[:STEPS_TOLD]),
        forbidden=list(partial.forbidden[:STEPS_TOLD]),
    )


class _NoKey(ValueError):
    """These values cannot be a key of the rule; says why."""


def _key_as_written(values: Sequence[Any], types: Sequence[pl.DataType]) -> tuple[Any, ...]:
    """Return a key as the matcher has it.

    `values`: as JSON has them; a number, a truth value or a time may also be a text.

    Raises:
        _NoKey: there are more or fewer than columns, or one is not of its type.
    """
    if len(values) != len(types):
        wanted = f"{len(types)} values" if len(types) != 1 else "one value"
        given = f"{len(values)} are given" if len(values) != 1 else "one is given"
        raise _NoKey(f"the key of the rule has {wanted}, and {given}")
    return tuple(
        _key_value(value, of, place)
        for place, (value, of) in enumerate(zip(values, types, strict=True))
    )


def _key_value(value: Any, data_type: pl.DataType, place: int) -> Any:
    if value is None:
        return None
    read: Any
    try:
        if data_type == pl.Binary:
            read = base64.urlsafe_b64decode(value)
        else:
            read = TypeAdapter(data_type.to_python()).validate_python(value)
        # As a column has it: so many bits of a number, so many digits of a decimal.
        column = pl.Series([read], dtype=data_type, strict=True)
    except (ValidationError, ValueError, TypeError, pl.exceptions.PolarsError):
        shown = str(value)[:100]
        raise _NoKey(f"value {place + 1} of the key, {shown!r}, is no {data_type}") from None
    if data_type.is_float():
        column = column.fill_nan(None).replace(0.0, 0.0)
    return column.to_list()[0]
