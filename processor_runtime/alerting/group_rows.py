"""What has become of groups, in the rows of a batch, in its counts, and in rows of kind `group`.

rows of matches, tagged ──► Grouper ──► GroupingResult ──► rows as they go out, and what groups were
"""

from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import Any

import polars as pl
from pydantic_core import from_json, to_json

from processor_runtime.alerting.budgets import move_counts, version_of
from processor_runtime.alerting.groups import COLUMNS, Group, GroupingResult, window_of
from processor_runtime.alerting.key_sketch import keys_in
from processor_runtime.alerting.match_tags import REST, MatchTag
from processor_runtime.rows.output_rows import SCHEMA, OutputRow
from processor_runtime.rows.shard_status import ShardStatus
from processor_runtime.rules.alerts import Budget


def tell_counts(
    statuses: Iterable[ShardStatus], gathered: GroupingResult, budgets: Mapping[str, Budget]
) -> None:
    """Let statuses tell of matches as they go out: fewer of them, and what they spend."""
    move_counts(statuses, gathered.grouped, "grouped")
    going = dict(gathered.going)
    for status in statuses:
        for rule_id, counts in status.rules.items():
            if counts.gathered and rule_id in budgets:
                counts.spent = dict(going.pop(version_of(rule_id), {}))


def group_rows(groups: Iterable[Group], epoch: int) -> list[OutputRow]:
    """Return the rows that tell how many matches groups have had."""
    return [_group_row(group, epoch) for group in groups]


def gathered_rows(rows: Iterable[OutputRow], gathered: GroupingResult) -> Iterator[OutputRow]:
    """Yield rows with their groups: matches that do not go out as of kind `grouped`."""
    leaders = frozenset(gathered.leaders)
    for row in rows:
        tag = MatchTag.from_text(row.tag) if row.kind == "match" else MatchTag()
        if not tag.group_id:
            yield row
            continue
        group_id = tag.group_id
        if window_of(group_id) in gathered.overflowing and group_id not in gathered.assigned:
            group_id = window_of(group_id) + REST
        if (tag.first_id or row.match_id) in leaders:
            yield row._replace(tag=MatchTag(group_id, tag.first_id).to_text())
        else:
            yield row._replace(kind="grouped", tag=group_id)


def tagged_matches(rows: Iterable[OutputRow]) -> pl.DataFrame:
    """Return the rows of matches that are in a group, as `Grouper` takes them."""
    found = [
        (row.processor_id, row.version, row.end_ms, row.match_id, row.tag)
        for row in rows
        if row.kind == "match" and MatchTag.from_text(row.tag).group_id
    ]
    schema = {name: SCHEMA[name] for name in COLUMNS}
    return pl.DataFrame(found, schema, orient="row")


def _group_row(group: Group, epoch: int) -> OutputRow:
    keys, is_estimated = keys_in(group.keys)
    told: dict[str, Any] = {
        "group": dict(zip(group.by, from_json(group.values), strict=not group.is_rest)),
        **({"is_rest": True} if group.is_rest else {}),
        "matches": group.matches,
        "keys": min(keys, group.matches),
        **({"keys_are_estimated": True} if is_estimated else {}),
        "versions": group.versions,
        "from_ms": group.from_ms,
        "until_ms": group.until_ms,
        "match_ids": group.match_ids,
    }
    # A job that has closed all windows may go on in the middle of one, whose group begins anew.
    name = blake2b(f"{group.id}{group.match_ids[0]}".encode(), digest_size=16).hexdigest()
    return OutputRow(
        "group",
        group.id,
        group.processor_id,
        group.version,
        epoch,
        None,
        name,
        group.first_ms,
        group.last_ms,
        to_json(told).decode(),
    )
