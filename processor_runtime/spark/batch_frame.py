"""Groups and budgets on the rows of a batch in Spark: finds the matches in question, and tells.

rows ──tagged──► Grouper ──gather──► rows ──candidates──► settle ──settle──► rows as they go out
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final, cast

import polars as pl
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as all of Spark's documentation has it
from pyspark.sql.window import Window as Partition

from processor_runtime.alerting.budgets import Candidate, Cutoff, Overrun
from processor_runtime.alerting.groups import COLUMNS, GroupingResult
from processor_runtime.alerting.match_tags import REST, SEPARATOR, WINDOW_DIGITS
from processor_runtime.rows.output_rows import SCHEMA, OutputRow

_OF: Final = "rule STRING, of_version INT, from_ms BIGINT, until_ms BIGINT"
_MOST_SENT_TO_ALL: Final = 100_000
"""Tables of so many ids are sent to every task; larger ones are joined by a shuffle."""
_SLICE_ERROR: Final = 0.01


class BatchFrame:
    """The rows of a batch as a frame; see `alerting.alert_decisions.BatchRows`.

    `frame`: the rows, evaluated and persisted.
    """

    def __init__(self, frame: DataFrame) -> None:
        self.frame = frame

    def tagged(self, count: int, most: int) -> Iterator[pl.DataFrame]:
        """Return matches that are in a group; see `BatchRows`."""
        found = self.frame.where(_is_match() & (_group_id() != "")).select(*COLUMNS)
        bounds: list[float] = []
        if count > most:
            parts = -(-count // most)
            shares = [number / parts for number in range(1, parts)]
            bounds = sorted(set(found.approxQuantile("end_ms", shares, _SLICE_ERROR)))
        after = None
        for bound in [*bounds, None]:
            part = found if after is None else found.where(F.col("end_ms") > after)
            part = part if bound is None else part.where(F.col("end_ms") <= bound)
            yield cast("pl.DataFrame", pl.from_arrow(part.toArrow()))
            after = bound

    def gather(self, gathered: GroupingResult) -> None:
        """Let what is in a group be of kind `grouped` unless it goes out; see `BatchRows`."""
        columns = self.frame.columns
        leaders = self._ids(gathered.leaders, "leader")
        frame = self.frame.join(leaders, _first_id() == F.col("leader"), "left")
        group_id = _group_id()
        if gathered.overflowing:
            frame = frame.join(
                self._ids(pl.Series(sorted(gathered.assigned)), "placed"),
                group_id == F.col("placed"),
                "left",
            )
            window = F.substring(group_id, 1, WINDOW_DIGITS)
            is_rest = window.isin(*sorted(gathered.overflowing)) & F.col("placed").isNull()
            group_id = F.when(is_rest, F.concat(window, F.lit(REST))).otherwise(group_id)
        is_in_group = _is_match() & (_group_id() != "")
        goes = F.col("leader").isNotNull()
        kept = F.concat(group_id, F.lit(SEPARATOR), _part(1), F.lit(SEPARATOR * 2))
        tag = F.when(is_in_group, F.when(goes, kept).otherwise(group_id)).otherwise(F.col("tag"))
        kind = F.when(is_in_group & ~goes, F.lit("grouped")).otherwise(F.col("kind"))
        self.frame = _with(frame, columns, kind=kind, tag=tag)

    def candidates(self, overruns: Sequence[Overrun]) -> Iterator[Candidate]:
        """Yield the first `left + 1` matches of each overrun."""
        firsts = self.frame.where(_is_match() & (F.coalesce(_part(1), F.lit("")) == "")).select(
            "processor_id", "version", "end_ms", "match_id"
        )
        joined = _joined(firsts, overruns, f"{_OF}, left INT", how="inner")
        order = Partition.partitionBy("rule", "of_version", "from_ms").orderBy("end_ms", "match_id")
        ranked = joined.withColumn("place", F.row_number().over(order))
        for row in ranked.where(F.col("place") <= F.col("left") + 1).collect():
            yield Candidate(row.processor_id, row.version, row.end_ms, row.match_id)

    def settle(self, cutoffs: Sequence[Cutoff]) -> int:
        """Let matches be suppressed from a cutoff on; see `BatchRows`."""
        columns = self.frame.columns
        group_id = F.nullif(_group_id(), F.lit(""))
        tag = F.when(_is_match(), group_id).otherwise(F.col("tag"))
        if not cutoffs:
            self.frame = _with(self.frame, columns, tag=tag)
            return 0
        joined = _joined(self.frame, cutoffs, f"{_OF}, cut_ms BIGINT, cut_id STRING", how="left")
        is_over = _is_match() & (
            (F.col("end_ms") > F.col("cut_ms"))
            | ((F.col("end_ms") == F.col("cut_ms")) & (_first_id() >= F.col("cut_id")))
        )
        kind = F.when(is_over, F.lit("suppressed")).otherwise(F.col("kind"))
        self.frame = _with(joined, columns, kind=kind, tag=tag)
        return joined.where(is_over).count()

    def add(self, rows: Sequence[OutputRow]) -> None:
        """Add rows."""
        if rows:
            schema = self.frame.select(*SCHEMA.names()).schema
            more = self.frame.sparkSession.createDataFrame(list(rows), schema)
            self.frame = self.frame.unionByName(more, allowMissingColumns=True)

    def _ids(self, ids: pl.Series, name: str) -> DataFrame:
        table = pl.DataFrame({name: ids.cast(pl.String)}).to_arrow()
        frame = self.frame.sparkSession.createDataFrame(table)
        return F.broadcast(frame) if len(ids) <= _MOST_SENT_TO_ALL else frame


def _is_match() -> Column:
    return F.col("kind") == "match"


def _part(number: int) -> Column:
    """Return a part of the tag of a match, see `MatchTag`; NULL if it has none."""
    return F.get(F.split("tag", SEPARATOR, 4), F.lit(number))


def _group_id() -> Column:
    return F.coalesce(_part(0), F.lit(""))


def _first_id() -> Column:
    return F.coalesce(F.nullif(_part(1), F.lit("")), F.col("match_id"))


def _with(frame: DataFrame, columns: Sequence[str], **written: Column) -> DataFrame:
    """Return these columns, some of them written anew."""
    return frame.select(
        *(written[name].alias(name) if name in written else F.col(name) for name in columns)
    )


def _joined(rows: DataFrame, windows: Sequence[Any], ddl: str, how: str) -> DataFrame:
    """Join rows with the windows of their versions, of which a row is in one at most."""
    table = F.broadcast(rows.sparkSession.createDataFrame(list(windows), ddl))
    return rows.join(table, _is_in_window(), how)


def _is_in_window() -> Column:
    return (
        (F.col("processor_id") == F.col("rule"))
        & (F.col("version") == F.col("of_version"))
        & (F.col("end_ms") >= F.col("from_ms"))
        & (F.col("end_ms") < F.col("until_ms"))
    )
