"""Makes one alert of the matches that a rule says are one, whatever keys and shards they are of.

    matches of a batch, tagged ──Grouper.add──► which go out · which are of kind `grouped`
    groups that were open ──┘          └──done──► groups that are open now · rows of kind `group`

A window of event time has its groups, and the first match of each goes out: the first in the order
of event time, and at one instant by the ids of matches. A batch has all matches of its span of
event time, so what goes out is the same for any number of shards, split into batches, restart and
replay.

Source: Alertmanager, `group_by`; Elastic, alert suppression.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import polars as pl

from processor_runtime.alerting.budgets import Version, version_of
from processor_runtime.alerting.key_sketch import KEYS_HELD, merged
from processor_runtime.alerting.match_tags import REST, SEPARATOR, WINDOW_DIGITS
from processor_runtime.rules.alerts import Budget, Grouping, window_from

MOST_GROUPS: Final = 10_000
"""So many groups a rule has in a window; all others are one more, the rest."""
IDS_TOLD: Final = 5
COLUMNS: Final = ("processor_id", "version", "end_ms", "match_id", "tag")
"""What is to be known of the rows of matches."""
_TAG_PARTS: Final = ("group_id", "first_id", "key", "values")


@dataclass(frozen=True, slots=True)
class Group:
    """The matches of a group so far.

    `values` are those of the columns `by`, a list as JSON; `keys` is the sketch of its keys.
    `version` is that of its first match, `match_ids` are the ids of its first matches.
    """

    id: str
    processor_id: str
    version: int
    by: tuple[str, ...]
    values: str
    from_ms: int
    until_ms: int
    first_ms: int
    last_ms: int
    matches: int
    versions: tuple[int, ...]
    match_ids: tuple[str, ...]
    keys: tuple[str, ...]

    @property
    def is_rest(self) -> bool:
        """Whether it is of all groups for which there was no place."""
        return self.id.endswith(REST)

    def plus(self, later: "Group") -> "Group":
        """Return it with more matches, all later than its own."""
        return replace(
            self,
            last_ms=later.last_ms,
            matches=self.matches + later.matches,
            versions=tuple(sorted({*self.versions, *later.versions})),
            match_ids=(self.match_ids + later.match_ids)[:IDS_TOLD],
            keys=merged(self.keys, later.keys),
        )


@dataclass(frozen=True, slots=True)
class GroupingResult:
    """What a batch has brought.

    Attributes:
        open: the groups that may have more matches, by id.
        done: those that cannot, of more than one match.
        leaders: the ids of the matches that go out, of those that are in a group.
        assigned: groups with a place of their own, of windows that have no place for all.
        overflowing: the beginnings of the ids of these windows.
        grouped: how many matches do not go out.
        grouped_rows: how many rows these have.
        going: of rules with a budget, how many go out by the beginning of its window.
    """

    open: Mapping[str, Group] = field(default_factory=dict)
    done: tuple[Group, ...] = ()
    leaders: pl.Series = field(default_factory=lambda: pl.Series("match_id", [], pl.String))
    assigned: frozenset[str] = frozenset()
    overflowing: frozenset[str] = frozenset()
    grouped: Mapping[Version, int] = field(default_factory=dict)
    grouped_rows: int = 0
    going: Mapping[Version, Counter[int]] = field(default_factory=dict)


class Grouper:
    """Gathers the matches of a batch, in any number of parts, one after the other in event time.

    `groupings`: which matches are one group, by rule id. `budgets`: by rule id. `until_ms`: no
    match is found any more before this event time; `None` = none at all.
    """

    def __init__(
        self,
        groupings: Mapping[str, Grouping],
        budgets: Mapping[str, Budget],
        before: Mapping[str, Group],
        until_ms: int | None,
    ) -> None:
        self._groupings = {version_of(rule_id): each for rule_id, each in groupings.items()}
        self._budgets = {version_of(rule_id): each for rule_id, each in budgets.items()}
        self._groups = dict(before)
        self._until_ms = until_ms
        self._leaders = [pl.Series("match_id", [], pl.String)]
        self._assigned: set[str] = set()
        self._overflowing: set[str] = set()
        self._grouped = Counter[Version]()
        self._grouped_rows = 0
        self._going: dict[Version, Counter[int]] = defaultdict(Counter)

    def add(self, matches: pl.DataFrame) -> None:
        """Take the rows of matches: `COLUMNS`, tagged.

        All of an instant are in one part, and no part is earlier than one before it.
        """
        if matches.is_empty():
            return
        rows = _parted(matches)
        firsts = rows.filter(pl.col("first_id") == "").join(_lengths(self._groupings), on=_VERSION)
        firsts = firsts.sort("end_ms", "match_id")
        firsts = firsts.with_columns(from_ms=pl.col("end_ms") - pl.col("end_ms") % pl.col("for_ms"))
        firsts = firsts.join(self._placed_heads(firsts), on="group_id", maintain_order="left")
        found = _groups_in(firsts)
        is_known = pl.col("group_id").is_in(list(self._groups))
        leaders = found.filter(~is_known)
        self._leaders.append(leaders["match_id"])
        self._count(rows, firsts, leaders)
        # Of most, nothing is to be known later: they have gone out alone, and their time is over.
        is_over = pl.col("from_ms") + pl.col("for_ms") <= pl.col("last_ms").max() + 1
        for row in found.filter(~is_over | is_known | (pl.col("matches") > 1)).iter_rows(
            named=True
        ):
            later = self._group(row)
            known = self._groups.get(later.id)
            self._groups[later.id] = later if known is None else known.plus(later)

    def done(self) -> GroupingResult:
        """Return what came of it."""
        over = {
            group.id
            for group in self._groups.values()
            if self._until_ms is None or group.until_ms <= self._until_ms
        }
        told = (self._groups[each] for each in over if self._groups[each].matches > 1)
        return GroupingResult(
            {name: group for name, group in self._groups.items() if name not in over},
            tuple(sorted(told, key=lambda group: (group.last_ms, group.id))),
            pl.concat(self._leaders),
            frozenset(self._assigned),
            frozenset(self._overflowing),
            self._grouped,
            self._grouped_rows,
            self._going,
        )

    def _placed_heads(self, firsts: pl.DataFrame) -> pl.DataFrame:
        """Return `group_id`, in which matches would be, and `of`: itself, or the rest."""
        heads = firsts.select("group_id").unique(maintain_order=True)
        heads = heads.with_columns(
            window=pl.col("group_id").str.head(WINDOW_DIGITS),
            is_new=~pl.col("group_id").is_in(list(self._groups)),
        )
        # Those that are left out of the groups are of a time that is over.
        taken = Counter(window_of(each.id) for each in self._groups.values() if not each.is_rest)
        places = pl.DataFrame(
            list(taken.items()), {"window": pl.String, "taken": pl.Int64}, orient="row"
        )
        heads = heads.join(places, on="window", how="left", maintain_order="left")
        number = pl.col("is_new").cast(pl.Int64).cum_sum().over("window")
        has_place = ~pl.col("is_new") | (number + pl.col("taken").fill_null(0) <= MOST_GROUPS)
        own, rest = pl.col("group_id"), pl.col("window") + pl.lit(REST)
        heads = heads.with_columns(of=pl.when(has_place).then(own).otherwise(rest))
        self._overflowing |= set(heads.filter(pl.col("of") != own)["window"])
        if self._overflowing:
            assigned = heads.filter(pl.col("of") == own)["group_id"]
            known = (*assigned, *self._groups)
            self._assigned |= {each for each in known if window_of(each) in self._overflowing}
        return heads.select("group_id", "of")

    def _count(self, rows: pl.DataFrame, firsts: pl.DataFrame, leaders: pl.DataFrame) -> None:
        going = leaders.select("match_id")
        held_back = firsts.join(going, on="match_id", how="anti").group_by(_VERSION).len()
        for processor_id, version, count in held_back.iter_rows():
            self._grouped[processor_id, version] += count
        first_id = pl.when(pl.col("first_id") == "").then("match_id").otherwise("first_id")
        places = rows.select(first_id.alias("match_id"))
        self._grouped_rows += places.join(going, on="match_id", how="anti").height
        for processor_id, version, time_ms in leaders.select(*_VERSION, "first_ms").iter_rows():
            budget = self._budgets.get((processor_id, version))
            if budget is not None:
                self._going[processor_id, version][window_from(time_ms, budget.for_ms)] += 1

    def _group(self, row: Mapping[str, Any]) -> Group:
        processor_id, version = row["processor_id"], row["version"]
        is_rest = row["group_id"].endswith(REST)
        return Group(
            row["group_id"],
            processor_id,
            version,
            self._groupings[processor_id, version].by,
            "[]" if is_rest else row["values"],
            row["from_ms"],
            row["from_ms"] + row["for_ms"],
            row["first_ms"],
            row["last_ms"],
            row["matches"],
            tuple(row["versions"]),
            tuple(row["match_ids"]),
            tuple(row["keys"]),
        )


_VERSION: Final = ["processor_id", "version"]


def window_of(group_id: str) -> str:
    """Return the part of an id that is the same for all groups of a window."""
    return group_id[:WINDOW_DIGITS]


def _parted(matches: pl.DataFrame) -> pl.DataFrame:
    parts = pl.col("tag").str.splitn(SEPARATOR, len(_TAG_PARTS)).struct.rename_fields(_TAG_PARTS)
    return matches.select(*COLUMNS[:-1], parts.alias("parts")).unnest("parts")


def _lengths(groupings: Mapping[Version, Grouping]) -> pl.DataFrame:
    lengths = [(*version, each.for_ms) for version, each in groupings.items()]
    schema = {"processor_id": pl.String, "version": pl.Int32, "for_ms": pl.Int64}
    return pl.DataFrame(lengths, schema, orient="row")


def _groups_in(firsts: pl.DataFrame) -> pl.DataFrame:
    """Return the groups of first rows, which are in order."""
    return firsts.group_by(pl.col("of").alias("group_id"), maintain_order=True).agg(
        pl.col("processor_id", "version", "values", "from_ms", "for_ms", "match_id").first(),
        first_ms=pl.col("end_ms").first(),
        last_ms=pl.col("end_ms").last(),
        matches=pl.len(),
        versions=pl.col("version").unique().sort(),
        match_ids=pl.col("match_id").head(IDS_TOLD),
        keys=pl.col("key").unique().sort().head(KEYS_HELD),
    )
