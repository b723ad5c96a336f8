"""Found processors → the snapshot that is handed on: checked, completed, numbered.

    FoundProcessors + Reading before ──► Reading now ──► discoverer

* A processor of which something is wrong stays as it was last good; without a last good one it is
  left out. So does one that is missing while the origin it came from cannot be read in full.
* Of several versions of one processor the newest that is effective at once counts, and all that
  are scheduled after it, as in the service's snapshots.
* A source that does not number gets numbers here. An epoch is greater than every number before it,
  and the number of a new version is the epoch it came with (or the next, of versions that came
  together). Numbers thus grow, are never used twice, and need no memory but the last snapshot,
  which a job keeps in its checkpoint. They belong to that job; `snapshot.content_hash` is the same
  everywhere.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise
from typing import Any

from cep.expression import DataType, Kind, Schema
from cep.expression.lists import ValueList
from contract.snapshot import (
    FORMAT,
    Snapshot,
    SnapshotList,
    SnapshotProcessor,
    SnapshotRollout,
    SnapshotVersion,
    StreamDefinition,
)
from discoverers.found import (
    FoundProcessors,
    FoundVersion,
    ProcessorProblem,
    definition_problems,
    document_problems,
    label_problems,
    of_rollout,
)


@dataclass(frozen=True, slots=True)
class Reading:
    """A snapshot and how it came about.

    `origins` says where each processor was found; `passed` holds the versions that were checked
    against the columns of `snapshot.stream`, by processor.
    """

    snapshot: Snapshot
    problems: tuple[ProcessorProblem, ...] = ()
    origins: Mapping[str, str] = field(default_factory=dict)
    passed: Mapping[str, Sequence[FoundVersion]] = field(default_factory=dict)


def assemble(found: FoundProcessors, before: Reading | None) -> Reading:
    """Return the snapshot of what was found.

    Args:
        found: the full set of a source.
        before: the reading before, which has the last good processors; `None` at the first.

    Raises:
        ExpressionError: the stream's columns are no Spark DDL.
    """
    schema = _schema(found.stream, found.lists)
    is_same_schema = before is not None and _schema_before(before) == schema
    passed = before.passed if before is not None and is_same_schema else {}
    last = {each.id: each for each in before.snapshot.processors} if before else {}
    good, problems = _checked(found, schema, passed, last)
    lost = _lost(good, problems, before, last)
    kept = {each.id: each for each in lost if is_same_schema or _fits(each, schema)}
    last_snapshot = before.snapshot if before else None
    epoch = _next_epoch(found, last_snapshot)
    processors = kept | {
        name: _processor(versions, last.get(name), epoch) for name, versions in good.items()
    }
    rollouts, wrong = _rollouts(found, schema)
    origins = {name: versions[0].origin for name, versions in good.items()}
    for name in kept:
        if before is not None and name in before.origins:
            origins[name] = before.origins[name]
    return Reading(
        snapshot=_snapshot(found, processors, rollouts, last_snapshot),
        problems=(*(_with_kept_versions(problem, kept) for problem in problems), *wrong),
        origins=origins,
        passed=good,
    )


# --- checks


def _checked(
    found: FoundProcessors,
    schema: Schema,
    passed: Mapping[str, Sequence[FoundVersion]],
    last: Mapping[str, SnapshotProcessor],
) -> tuple[dict[str, list[FoundVersion]], list[ProcessorProblem]]:
    """Return the processors that can run, and what is wrong with the others.

    Those that have `passed` on this schema are not looked at again.
    """
    good: dict[str, list[FoundVersion]] = {}
    problems = [_in_full(problem, schema) for problem in found.problems]
    unreadable = {problem.processor_id for problem in problems}
    in_order = sorted(found.versions, key=lambda version: version.processor_id)
    for name, group in groupby(in_order, key=lambda version: version.processor_id):
        versions = _current(group)
        wrong = list(_group_problems(versions))
        if found.epoch is None and name in last:
            wrong += _rewritten_versions(versions, last[name])
        if versions != passed.get(name):
            wrong += _definition_problems(versions, schema)
        problems += wrong
        if not wrong and name not in unreadable:
            good[name] = versions
    return good, problems


def _rollouts(
    found: FoundProcessors, schema: Schema
) -> tuple[list[SnapshotRollout], list[ProcessorProblem]]:
    """Return the rollouts that can run, by id, and what is wrong with the others."""
    good: dict[str, SnapshotRollout] = {}
    problems: list[ProcessorProblem] = []
    for rollout in found.rollouts:
        version = FoundVersion(
            processor_id=rollout.id,
            definition=rollout.version.definition,
            origin="the snapshot",
            version=rollout.version.version,
            effective_from_ms=rollout.version.effective_from_ms,
            effective_until_ms=rollout.version.effective_until_ms,
        )
        wrong = list(_definition_problems([version], schema))
        problems += map(of_rollout, wrong)
        if not wrong:
            good.setdefault(rollout.id, rollout)
    return [good[name] for name in sorted(good)], problems


def _in_full(problem: ProcessorProblem, schema: Schema) -> ProcessorProblem:
    """Return a problem with everything that is wrong with its document on these columns."""
    if problem.document is None:
        return problem
    return replace(problem, message=document_problems(problem.document, schema), document=None)


def _current(versions: Iterable[FoundVersion]) -> list[FoundVersion]:
    """Return the newest version that is effective at once and those scheduled after it."""
    in_order = sorted(versions, key=_place_in_order)
    if in_order[0].version is None:
        return in_order
    immediate = [i for i, each in enumerate(in_order) if each.effective_from_ms is None]
    return in_order[immediate[-1] if immediate else 0 :]


def _place_in_order(version: FoundVersion) -> tuple[int, bool, int]:
    begin_ms = version.effective_from_ms
    return version.version or 0, begin_ms is not None, begin_ms or 0


def _group_problems(versions: Sequence[FoundVersion]) -> Iterator[ProcessorProblem]:
    for earlier, later in pairwise(versions):
        if _place_in_order(earlier) != _place_in_order(later):
            continue
        if later.version is None:
            what = "has the same id and the same effective_from. Change one."
        else:
            what = f"has the same id and version {later.version}. Change one."
        yield ProcessorProblem(later.origin, f"{earlier.origin} {what}", later.processor_id)


def _rewritten_versions(
    versions: Iterable[FoundVersion], last: SnapshotProcessor
) -> Iterator[ProcessorProblem]:
    """Yield the versions that had another content under the same number.

    To run them would drop the partial matches of a version that is still in effect, and matches of
    both would have the same ids.
    """
    contents = {each.version: each.definition for each in last.versions}
    for version in versions:
        content = contents.get(version.version) if version.version is not None else None
        if content is not None and content != version.definition:
            message = (
                f"version {version.version} has another content than before. "
                "Give what is new another number."
            )
            yield ProcessorProblem(version.origin, message, version.processor_id)


def _definition_problems(
    versions: Iterable[FoundVersion], schema: Schema
) -> Iterator[ProcessorProblem]:
    for version in versions:
        if wrong := label_problems(version) or definition_problems(version, schema):
            yield ProcessorProblem(version.origin, wrong, version.processor_id)


def _schema_before(before: Reading) -> Schema:
    return _schema(before.snapshot.stream, before.snapshot.lists)


def _schema(stream: StreamDefinition, lists: Iterable[SnapshotList]) -> Schema:
    """Return what expressions can name: the columns, and the lists with their types."""
    named = (ValueList(each.name, DataType(Kind(each.data_type))) for each in lists)
    return Schema.from_ddl(stream.ddl, tuple(named))


# --- the last good


def _lost(
    good: Mapping[str, Any],
    problems: Iterable[ProcessorProblem],
    before: Reading | None,
    last: Mapping[str, SnapshotProcessor],
) -> Iterator[SnapshotProcessor]:
    """Yield the processors that were there and cannot be read now: they stay if they fit."""
    names_wrong = {problem.processor_id for problem in problems}
    origins_wrong = {problem.origin for problem in problems if problem.processor_id is None}
    for name, processor in last.items():
        if name in good or before is None:
            continue
        origin = before.origins.get(name)
        # Without an origin it came from a checkpoint: it may be in whatever could not be read.
        is_lost = origin in origins_wrong if origin is not None else None in names_wrong
        if name in names_wrong or is_lost:
            yield processor


def _fits(processor: SnapshotProcessor, schema: Schema) -> bool:
    return not any(
        definition_problems(
            FoundVersion(processor_id=processor.id, definition=version.definition, origin=""),
            schema,
        )
        for version in processor.versions
    )


def _with_kept_versions(
    problem: ProcessorProblem, kept: Mapping[str, SnapshotProcessor]
) -> ProcessorProblem:
    processor = kept.get(problem.processor_id or "")
    if processor is None:
        return problem
    return replace(problem, kept_versions=tuple(each.version for each in processor.versions))


# --- numbers


def _next_epoch(found: FoundProcessors, last: Snapshot | None) -> int:
    if found.epoch is not None:
        return found.epoch
    if last is None:
        return 1
    numbers = (version.version for each in last.processors for version in each.versions)
    return 1 + max(last.epoch, last.stream.version, *numbers)


def _snapshot(
    found: FoundProcessors,
    processors: Mapping[str, SnapshotProcessor],
    rollouts: list[SnapshotRollout],
    last: Snapshot | None,
) -> Snapshot:
    """Return the snapshot, under a new epoch only if anything in it is new."""
    epoch = _next_epoch(found, last)
    stream = found.stream
    in_order = [processors[name] for name in sorted(processors)]
    lists = list(found.lists)
    if found.epoch is None:
        known = {} if last is None else {each.name: each for each in last.lists}
        lists = [_numbered_list(each, known.get(each.name), epoch) for each in found.lists]
        before = last.stream if last is not None else stream
        same = stream.model_copy(update={"version": before.version})
        stream = same if same == before else stream.model_copy(update={"version": epoch})
        if last is not None and (stream, in_order, lists) == (
            last.stream,
            last.processors,
            last.lists,
        ):
            return last
    return Snapshot(
        format=FORMAT,
        epoch=epoch,
        stream=stream,
        processors=in_order,
        rollouts=rollouts,
        lists=lists,
        snoozes=list(found.snoozes),
    )


def _numbered_list(found: SnapshotList, last: SnapshotList | None, epoch: int) -> SnapshotList:
    """Return a list under the number it had, if it holds the same, or else under the epoch's."""
    if len(found.versions) > 1:
        return found  # a source that knows of versions has given them numbers
    (version,) = found.versions
    newest = last.versions[-1] if last is not None and last.data_type == found.data_type else None
    is_same = newest is not None and newest.digest == version.digest
    number = newest.version if newest is not None and is_same else epoch
    return found.model_copy(update={"versions": [version.model_copy(update={"version": number})]})


def _processor(
    versions: Sequence[FoundVersion], last: SnapshotProcessor | None, epoch: int
) -> SnapshotProcessor:
    numbered: list[SnapshotVersion] = []
    for found in versions:
        version = SnapshotVersion(
            version=epoch if found.version is None else found.version,
            effective_from_ms=found.effective_from_ms,
            effective_until_ms=found.effective_until_ms,
            definition=dict(found.definition),
        )
        if found.version is None:
            least = numbered[-1].version + 1 if numbered else 1
            version = _numbered(version, last.versions if last else [], least)
        numbered.append(version)
    return SnapshotProcessor(
        id=versions[0].processor_id,
        paused=any(each.paused for each in versions),
        versions=numbered,
    )


def _numbered(
    version: SnapshotVersion, known: Iterable[SnapshotVersion], least: int
) -> SnapshotVersion:
    """Return a version under the number it had, or else under its own; `least` is the smallest."""
    for each in known:
        if each.version >= least and version.model_copy(update={"version": each.version}) == each:
            return each
    return version.model_copy(update={"version": max(version.version, least)})
