"""When each version of each processor is active, in event time: resolved once, the same everywhere.

    snapshot + newest event time read ──resolve──► Timeline ──pinned──► key stage, matching stage

A version is active for events in `[active_from_ms, active_until_ms)`. Decisions for events already
read never change: a new snapshot only applies to event times after the newest one read, so that
each event belongs to the same versions in every task, every batch and every replay.

Source: FLIP-200, "Scheduled activation by watermark"; the promises about updates (same version
kept, newer version replaces, partial matches of replaced and deleted processors are dropped).
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from contract.canonical import content_hash
from contract.snapshot import Snapshot, SnapshotProcessor, SnapshotRollout, SnapshotVersion
from processor_runtime.schedule.interval import BEGINNING_MS, END_MS, EndReason, Interval
from processor_runtime.schedule.listed import ListInterval, resolve_lists
from processor_runtime.schedule.rollouts import promoted, sharing
from processor_runtime.schedule.snoozing import Snooze, resolved_snoozes

VersionKey = tuple[str, int, str]
"""A version of a processor with the digest of its definition."""


@dataclass(frozen=True, slots=True)
class Quarantine:
    """Why a version does not run in this job until it is replaced, paused or deleted.

    `since_ms` is the event time from which on it does not run. `by_hand` says that somebody wanted
    it so, rather than that it failed.
    """

    processor_id: str
    version: int
    digest: str
    reason: str
    since_ms: int
    traceback: str = ""
    by_hand: bool = False

    @property
    def of(self) -> VersionKey:
        """The version it is about."""
        return (self.processor_id, self.version, self.digest)


@dataclass(frozen=True, slots=True)
class Timeline:
    """All intervals that are still needed, by processor and time, and the quarantined versions.

    `paused` are the processors that are published as paused, with their newest version, `lists` the
    contents of the lists of the stream, by name and time; `snoozes` say whose finds do not go out.
    `processed_ms` is how far events had been processed when it was resolved: earlier event times
    are the past.
    """

    intervals: tuple[Interval, ...] = ()
    quarantined: tuple[Quarantine, ...] = ()
    paused: tuple[tuple[str, int], ...] = ()
    lists: tuple[ListInterval, ...] = ()
    snoozes: tuple[Snooze, ...] = ()
    processed_ms: int = field(default=BEGINNING_MS, compare=False)


def without_versions(timeline: Timeline, versions: Collection[VersionKey]) -> Timeline:
    """Return a timeline in which these versions have no place.

    What a rollout found for its share of the keys, the published version then finds for them.
    """
    kept, out = [], set[str]()
    for item in timeline.intervals:
        if (item.processor_id, item.version, item.digest) not in versions:
            kept.append(item)
        elif item.share is not None:
            out.add(item.processor_id)
    return replace(
        timeline,
        intervals=tuple(
            replace(item, live_keys=()) if item.processor_id in out and item.share is None else item
            for item in kept
        ),
    )


def resolve(
    previous: Timeline,
    snapshot: Snapshot,
    newest_ms: int | None,
    processed_ms: int = BEGINNING_MS,
    failures: Iterable[Quarantine] = (),
) -> Timeline:
    """Return the timeline that follows from a snapshot and the timeline before.

    `newest_ms`: the newest event time read so far; `None` before the first event. The snapshot
    applies to later events only. `processed_ms`: up to here all events have been processed.
    """
    next_ms = BEGINNING_MS if newest_ms is None else newest_ms + 1
    by_processor = _by_processor(item for item in previous.intervals if item.share is None)
    tried = _by_processor(item for item in previous.intervals if item.share is not None)
    rollouts = {rollout.id: rollout for rollout in snapshot.rollouts}
    quarantined = _still_quarantined([*previous.quarantined, *failures], snapshot)
    barred_by_processor: defaultdict[str, set[VersionKey]] = defaultdict(set)
    for item in quarantined:
        key = item.processor_id, item.version, item.digest
        barred_by_processor[item.processor_id].add(key)
    published = {processor.id: processor for processor in snapshot.processors}
    intervals: list[Interval] = []
    ids = by_processor.keys() | published.keys() | tried.keys() | rollouts.keys()
    for processor_id in sorted(ids):
        processor, rollout = published.get(processor_id), rollouts.get(processor_id)
        begun = by_processor.get(processor_id, ())
        barred = barred_by_processor.get(processor_id, set())
        live = _resolved(processor, begun, next_ms, barred, keeps_last_good=True)
        live, beside = promoted(live, tried.get(processor_id, ()), next_ms)
        is_paused = processor is not None and processor.paused
        beside = _resolved(_as_processor(rollout, paused=is_paused), beside, next_ms, barred)
        share = 0 if rollout is None else rollout.share
        intervals += sharing(live, beside, share, next_ms, processed_ms)
    oldest_ms = min((item.active_from_ms for item in intervals), default=END_MS)
    return Timeline(
        intervals=tuple(intervals),
        quarantined=tuple(quarantined),
        paused=tuple(
            (processor.id, processor.versions[-1].version)
            for processor in snapshot.processors
            if processor.paused
        ),
        lists=resolve_lists(previous.lists, snapshot, next_ms, processed_ms, oldest_ms),
        snoozes=resolved_snoozes(previous.snoozes, snapshot, next_ms, processed_ms),
        processed_ms=processed_ms,
    )


def _resolved(
    processor: SnapshotProcessor | None,
    known: Iterable[Interval],
    next_ms: int,
    barred: set[VersionKey],
    *,
    keeps_last_good: bool = False,
) -> list[Interval]:
    """Return the intervals of one processor that follow from those before and its versions."""
    wanted = list(_wanted(processor, barred))
    begun = [item for item in known if item.active_from_ms < next_ms]
    if keeps_last_good and begun and processor is not None and not processor.paused:
        wanted = _with_last_good(begun[-1], wanted, processor, barred, next_ms)
    reason = _end_reason(processor, begun, barred)
    is_stopped = processor is None or processor.paused
    joined = list(_joined(begun, wanted, next_ms, reason))
    return list(limit_draining(joined, next_ms, is_stopped=is_stopped, barred=barred))


def _as_processor(rollout: SnapshotRollout | None, *, paused: bool) -> SnapshotProcessor | None:
    """Return a rollout as if it were all that there is of its processor."""
    if rollout is None:
        return None
    return SnapshotProcessor(id=rollout.id, paused=paused, versions=[rollout.version])


def _with_last_good(
    last: Interval,
    wanted: list[Interval],
    processor: SnapshotProcessor,
    barred: set[tuple[str, int, str]],
    next_ms: int,
) -> list[Interval]:
    """Keep the current version running if the one that should replace it cannot run at all."""
    is_replaced_by_barred = any(
        _is_barred(processor.id, version, barred) for version in processor.versions
    )
    is_barred = (last.processor_id, last.version, last.digest) in barred
    begins_ms = min((item.active_from_ms for item in wanted), default=END_MS)
    if not is_replaced_by_barred or is_barred or last.active_until_ms <= next_ms:
        return wanted
    if begins_ms <= next_ms:
        return wanted
    goes_on = replace(last, active_from_ms=next_ms)
    if begins_ms < last.active_until_ms:
        goes_on = replace(
            goes_on, active_until_ms=begins_ms, end_reason=EndReason.REPLACED, drains=False
        )
    return [goes_on, *wanted]


def _digest(version: SnapshotVersion) -> str:
    return content_hash(version.definition)[:16]


def _is_barred(processor_id: str, version: SnapshotVersion, barred: set[VersionKey]) -> bool:
    # Few processors have any, and to hash ten thousand definitions takes a third of a second.
    return bool(barred) and (processor_id, version.version, _digest(version)) in barred


def _by_processor(intervals: Iterable[Interval]) -> dict[str, list[Interval]]:
    found: dict[str, list[Interval]] = {}
    for interval in intervals:
        found.setdefault(interval.processor_id, []).append(interval)
    return found


def _wanted(
    processor: SnapshotProcessor | None, barred: set[tuple[str, int, str]]
) -> Iterator[Interval]:
    """Yield when each published version would be active if the snapshot had always applied.

    The highest working version whose start has passed is active. Each version therefore ends where
    a higher one begins, and never begins if a higher one began earlier.
    """
    if processor is None or processor.paused:
        return
    versions = [
        version for version in processor.versions if not _is_barred(processor.id, version, barred)
    ]
    for position, version in enumerate(versions):
        begin_ms = _or(version.effective_from_ms, BEGINNING_MS)
        until_ms = _or(version.effective_until_ms, END_MS)
        reason = EndReason.EXPIRED if until_ms < END_MS else None
        drains = version.definition.get("on_update") == "drain"
        for higher in versions[position + 1 :]:
            replaced_ms = _or(higher.effective_from_ms, BEGINNING_MS)
            if replaced_ms <= until_ms:
                until_ms, reason = replaced_ms, EndReason.REPLACED
                drains = higher.definition.get("on_update") == "drain"
        if begin_ms < until_ms:
            yield _interval(processor.id, version, begin_ms, until_ms, reason, drains=drains)


def _interval(  # noqa: PLR0913 - the parts of one interval
    processor_id: str,
    version: SnapshotVersion,
    begin_ms: int,
    until_ms: int,
    reason: EndReason | None,
    *,
    drains: bool,
) -> Interval:
    return Interval(
        processor_id=processor_id,
        version=version.version,
        active_from_ms=begin_ms,
        active_until_ms=until_ms,
        digest=_digest(version),
        definition=version.definition,
        end_reason=reason,
        drains=drains and reason is not None,
    )


def _joined(
    begun: list[Interval], wanted: list[Interval], next_ms: int, reason: EndReason
) -> Iterator[Interval]:
    """Yield started intervals up to now and wanted ones from now on; continuing ones are kept."""
    future = [
        replace(interval, active_from_ms=max(interval.active_from_ms, next_ms))
        for interval in wanted
        if interval.active_until_ms > next_ms
    ]
    current = next((item for item in future if item.active_from_ms == next_ms), None)
    for interval in begun:
        if interval.active_until_ms <= next_ms:
            yield interval
        elif current is not None and interval.is_same_version(current):
            yield replace(
                interval,
                active_until_ms=current.active_until_ms,
                end_reason=current.end_reason,
                drains=current.drains,
            )
            future.remove(current)
        else:
            drains = reason is EndReason.REPLACED and (
                current is not None and current.definition.get("on_update") == "drain"
            )
            yield replace(interval, active_until_ms=next_ms, end_reason=reason, drains=drains)
    yield from future


def _end_reason(
    processor: SnapshotProcessor | None, begun: list[Interval], barred: set[tuple[str, int, str]]
) -> EndReason:
    """Return why the last interval that has begun would end now, if it does."""
    if begun and (begun[-1].processor_id, begun[-1].version, begun[-1].digest) in barred:
        return EndReason.QUARANTINED
    if processor is None:
        return EndReason.REMOVED
    return EndReason.PAUSED if processor.paused else EndReason.REPLACED


def _still_quarantined(items: Iterable[Quarantine], snapshot: Snapshot) -> list[Quarantine]:
    """Keep those whose version is still published as it was; pausing it lifts the quarantine."""
    items = list(items)
    named = {(item.processor_id, item.version) for item in items}
    paused = {processor.id for processor in snapshot.processors if processor.paused}
    published = {
        (processor_id, version.version, _digest(version))
        for processor_id, version in snapshot.versions
        if processor_id not in paused and (processor_id, version.version) in named
    }
    kept: dict[tuple[str, int, str], Quarantine] = {}
    for item in items:
        key = (item.processor_id, item.version, item.digest)
        if key in published:
            kept.setdefault(key, item)
    return [kept[key] for key in sorted(kept)]


def _or(value_ms: int | None, default_ms: int) -> int:
    return default_ms if value_ms is None else value_ms


def limit_draining(
    intervals: Sequence[Interval],
    next_ms: int,
    *,
    is_stopped: bool,
    barred: set[tuple[str, int, str]],
) -> Iterator[Interval]:
    """Yield the intervals of one processor with the end of their draining as it is known now.

    A pause, a deletion and a version that begins with `on_update: drop` drop all partial matches of
    earlier versions, those that drain among them. An end in the past does not change; an end after
    the newest event read is decided again.

    Args:
        intervals: in the order of time.
        next_ms: the first event time for which anything can still be decided.
        is_stopped: whether the processor is paused or deleted.
        barred: versions that have failed.
    """
    for position, interval in enumerate(intervals):
        if not interval.drains or interval.drains_until_ms <= next_ms:
            yield interval
            continue
        has_failed = (interval.processor_id, interval.version, interval.digest) in barred
        until_ms = (
            next_ms
            if is_stopped or has_failed
            else _dropped_ms(interval, intervals[position + 1 :])
        )
        at_least_ms = max(next_ms, interval.active_until_ms)
        yield replace(interval, drains_until_ms=max(until_ms, at_least_ms))


def _dropped_ms(interval: Interval, later: Iterable[Interval]) -> int:
    return min(
        (
            other.published_from_ms
            for other in later
            if not other.is_same_version(interval) and other.definition.get("on_update") != "drain"
        ),
        default=END_MS,
    )
