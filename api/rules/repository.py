"""All SQL of the list of rules: processors joined with what one job holds of them.

Order and filter need one value per rule from the job's reports, so both databases group its held
versions once; everything else is read only for the rules of a page.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, get_args

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    FromClause,
    Select,
    and_,
    case,
    cast,
    desc,
    func,
    or_,
    select,
    tuple_,
    union,
)
from sqlalchemy.orm import InstrumentedAttribute, Session, outerjoin

from api.jobs.history_repository import newest_buckets
from api.jobs.repository import SUPERSEDED
from api.jobs.tables import HeldVersion, Job, LastMatch, ProcessorBucket
from api.processors import repository as processors
from api.processors.filters import ProcessorFilter
from api.processors.tables import Processor, ProcessorTag, ProcessorVersion, Publication
from api.rules.filters import RuleFilter, RuleSort
from api.running.comparison import TELLING
from api.triage.repository import rates
from contract.service.processors import DELETED
from contract.service.rules import LabelCount, RuleProblem, Standing

_NEVER_MS: Final = -(2**62)
_NOT_LOOKED_AT: Final = -1
_SEVERITIES: Final = ("", "info", "low", "medium", "high", "critical")
_MOST_LABELS: Final = 200


@dataclass(frozen=True, slots=True)
class After:
    """The start of a page: after the rule with this sort value and id."""

    value: str | int
    id: str


@dataclass(frozen=True, slots=True)
class Tally:
    """The number of rules with equal standing (its index in `TELLING`) and problems."""

    rank: int
    problems: frozenset[RuleProblem]
    count: int


def find_rules(  # noqa: PLR0913, PLR0917 - the parts of a list
    session: Session,
    stream: str,
    wanted: RuleFilter,
    job: Job | None,
    sort: RuleSort,
    after: After | None,
    limit: int,
    now_ms: int,
) -> list[tuple[Processor, str | int]]:
    """Return rules that meet a filter, with their sort value, starting after `after`."""
    held, matched, triaged = _held(job), _matched(job, now_ms), rates(stream)
    value = _sort_value(sort, held, matched, triaged)
    source = _beside(held)
    if sort.field == "matches_last_hour":
        source = source.outerjoin(matched, matched.c.processor_id == Processor.id)
    if sort.field == "false_positive_rate":
        source = source.outerjoin(triaged, triaged.c.processor_id == Processor.id)
    if sort.field == "last_match":
        is_of_job = LastMatch.job_id == (job.id if job else "")
        source = source.outerjoin(LastMatch, is_of_job & (LastMatch.processor_id == Processor.id))
    query = (
        select(Processor, value.label("sort_value"))
        .select_from(source)
        .where(*_labelled(stream, wanted), *_found(wanted, held, job))
    )
    if after is not None:
        position, behind = tuple_(value, Processor.id), tuple_(after.value, after.id)
        query = query.where(position < behind if sort.is_descending else position > behind)
    order = (value.desc(), Processor.id.desc()) if sort.is_descending else (value, Processor.id)
    rows = session.execute(query.order_by(*order).limit(limit))
    return [(processor, sort_value) for processor, sort_value in rows]


def tallies(session: Session, stream: str, wanted: RuleFilter, job: Job | None) -> list[Tally]:
    """Count rules by standing and problem, ignoring both in the filter."""
    held = _held(job)
    names: tuple[RuleProblem, ...] = ("errors", "behind", "warnings")
    flags = [case((_has(name, held, job), 1), else_=0) for name in names]
    columns = [_rank(held), *flags]
    labelled = [column.label(f"tallied_{index}") for index, column in enumerate(columns)]
    query: Select[Any] = (
        select(*labelled, func.count())
        .select_from(_beside(held))
        .where(*_labelled(stream, wanted))
        .group_by(*labelled)
    )
    return [
        Tally(
            rank,
            frozenset(name for name, is_set in zip(names, flags_set, strict=True) if is_set),
            count,
        )
        for rank, *flags_set, count in session.execute(query)
    ]


def newest_definitions(session: Session, found: Sequence[Processor]) -> dict[str, str]:
    """Return the definition of the newest version of each of these processors, by id."""
    newest = [(processor.id, processor.current_version) for processor in found]
    key = tuple_(ProcessorVersion.processor_id, ProcessorVersion.version)
    query = select(ProcessorVersion.processor_id, ProcessorVersion.definition)
    rows = session.execute(query.where(key.in_(newest)))
    return {processor_id: definition for processor_id, definition in rows}  # noqa: C416 - rows are no pairs to mypy


def published_versions(session: Session, ids: Sequence[str]) -> dict[str, list[ProcessorVersion]]:
    """Return the versions of these processors that are published, by id, lowest first."""
    query = _published(select(ProcessorVersion), ids)
    found: dict[str, list[ProcessorVersion]] = {}
    for version in session.scalars(query.order_by(ProcessorVersion.version)):
        found.setdefault(version.processor_id, []).append(version)
    return found


def published_characters(session: Session, ids: Sequence[str]) -> dict[str, int]:
    """Return how long the documents of `published_versions` are together, by id; without 0."""
    length = func.length(ProcessorVersion.definition) + func.length(ProcessorVersion.examples)
    query = _published(select(ProcessorVersion.processor_id, func.sum(length)), ids)
    rows = session.execute(query.group_by(ProcessorVersion.processor_id))
    return {processor_id: int(total) for processor_id, total in rows}


def _published(query: Select[*tuple[Any, ...]], ids: Sequence[str]) -> Select[*tuple[Any, ...]]:
    joined = query.join(
        Publication,
        (ProcessorVersion.processor_id == Publication.processor_id)
        & (ProcessorVersion.version == Publication.version),
    )
    return joined.where(
        Publication.processor_id.in_(ids),
        Publication.until_epoch.is_(None),
        Publication.share.is_(None),
    )


def owners(session: Session, stream: str, text: str | None) -> list[LabelCount]:
    """Return the owners of a stream's rules that contain a text, the most frequent first."""
    query = (
        select(Processor.owner.label("value"), func.count().label("count"))
        .where(*_of_stream(stream), Processor.owner != "")
        .group_by(Processor.owner)
    )
    return _counted(session, query, Processor.owner, text)


def tags(session: Session, stream: str, text: str | None) -> list[LabelCount]:
    """Return the tags of a stream's rules that contain a text, the most frequent first."""
    query = (
        select(ProcessorTag.tag.label("value"), func.count().label("count"))
        .join(Processor, Processor.id == ProcessorTag.processor_id)
        .where(*_of_stream(stream))
        .group_by(ProcessorTag.tag)
    )
    return _counted(session, query, ProcessorTag.tag, text)


def _counted(
    session: Session, query: Select[str, int], label: InstrumentedAttribute[str], text: str | None
) -> list[LabelCount]:
    if text:
        query = query.where(func.lower(label).contains(text.lower(), autoescape=True))
    ordered = query.order_by(desc("count"), "value").limit(_MOST_LABELS)
    return [LabelCount(value=value, count=count) for value, count in session.execute(ordered)]


def _held(job: Job | None) -> FromClause:
    """Return what a job holds, one row per processor."""
    rank = case({state: place for place, state in enumerate(TELLING)}, value=HeldVersion.state)
    # What a version that no longer runs has counted does not say how the rule fares now.
    errors = case((HeldVersion.state == SUPERSEDED, 0), else_=HeldVersion.errors)
    query = (
        select(
            HeldVersion.processor_id,
            func.min(rank).label("rank"),
            _whole(func.sum(HeldVersion.partial_matches)).label("partial_matches"),
            _whole(func.sum(errors)).label("errors"),
        )
        .where(HeldVersion.job_id == (job.id if job else ""))
        .group_by(HeldVersion.processor_id)
    )
    return query.subquery("held")


def _beside(held: FromClause) -> FromClause:
    return outerjoin(Processor, held, held.c.processor_id == Processor.id)


def _whole(total: ColumnElement[Any]) -> ColumnElement[int]:
    return cast(total, BigInteger)  # PostgreSQL's sum of BIGINT is NUMERIC


def _rank(held: FromClause) -> ColumnElement[int]:
    return func.coalesce(held.c.rank, TELLING.index("superseded"))


def _sort_value(
    sort: RuleSort, held: FromClause, matched: FromClause, triaged: FromClause
) -> ColumnElement[Any]:
    severities = {severity: place for place, severity in enumerate(_SEVERITIES)}
    values: dict[str, ColumnElement[Any]] = {
        "id": Processor.id.expression,
        "owner": Processor.owner.expression,
        "updated_at": Processor.updated_at_ms.expression,
        "severity": case(severities, value=Processor.severity, else_=0),
        "standing": _rank(held),
        "partial_matches": func.coalesce(held.c.partial_matches, 0),
        "errors": func.coalesce(held.c.errors, 0),
        "last_match": func.coalesce(LastMatch.end_ms, _NEVER_MS),
        "matches_last_hour": func.coalesce(matched.c.total, 0),
        "false_positive_rate": func.coalesce(triaged.c.rate, _NOT_LOOKED_AT),
    }
    return values[sort.field]


def _matched(job: Job | None, now_ms: int) -> FromClause:
    query = (
        select(
            ProcessorBucket.processor_id,
            _whole(func.sum(ProcessorBucket.matches)).label("total"),
        )
        .where(
            ProcessorBucket.job_id == (job.id if job else ""),
            ProcessorBucket.start_ms >= newest_buckets(now_ms).start,
        )
        .group_by(ProcessorBucket.processor_id)
    )
    return query.subquery("matched")


def _of_stream(stream: str) -> tuple[ColumnElement[bool], ...]:
    return Processor.stream == stream, Processor.state != DELETED


def standing_of(state: str | None) -> Standing:
    """Return the standing of a rule whose telling version is in a state; `None` = in none."""
    same: dict[str | None, Standing] = {standing: standing for standing in get_args(Standing)}
    return same.get("active" if state == "canary" else state, "absent")


def _labelled(stream: str, wanted: RuleFilter) -> list[ColumnElement[bool]]:
    by_label = ProcessorFilter(stream=stream, owner=wanted.owner, text=wanted.text)
    found = processors.conditions(by_label)
    found += [processors.has_tag(tag) for tag in wanted.tag or ()]
    if wanted.severity is not None:
        found.append(Processor.severity == wanted.severity)
    return found


def _found(wanted: RuleFilter, held: FromClause, job: Job | None) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = []
    if wanted.standing is not None:
        ranks = [
            rank for rank, state in enumerate(TELLING) if standing_of(state) == wanted.standing
        ]
        found.append(_rank(held).in_(ranks))
    if wanted.problem is not None:
        found.append(_has(wanted.problem, held, job))
    return found


def _has(problem: RuleProblem, held: FromClause, job: Job | None) -> ColumnElement[bool]:
    match problem:
        case "errors":
            is_quarantined = _rank(held) == TELLING.index("quarantined")
            return or_(is_quarantined, func.coalesce(held.c.errors, 0) > 0)
        case "behind":
            return Processor.id.in_(_changed_after(job))
        case "warnings":
            return Processor.warning_count > 0


def _changed_after(job: Job | None) -> Any:
    # A stream without a job has nothing that could be behind.
    stream = job.stream if job else ""
    epoch = (job.epoch or 0) if job else 0
    begun, ended = (
        select(Publication.processor_id).where(and_(Publication.stream == stream, at > epoch))
        for at in (Publication.from_epoch, Publication.until_epoch)
    )
    return union(begun, ended)
