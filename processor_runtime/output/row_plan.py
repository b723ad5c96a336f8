"""Rows of matches that are only planned: what is in them, and where to take it from.

finds of each shape ──► RowPlan ──merged──► in order ──rows──► RowColumns, some thousand rows each
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from cep.compiling import Ints
from processor_runtime.output.arrow_texts import byte_sizes, hexadecimal
from processor_runtime.output.match_ids import (
    DIGEST_BYTES,
    MatchIds,
    as_numbers,
    rule_digest,
)
from processor_runtime.output.match_pieces import MatchPieces
from processor_runtime.output.match_tables import Matches, RuleVersions
from processor_runtime.output.row_chunks import CHARACTERS_PER_CHUNK, ROWS_PER_CHUNK
from processor_runtime.output.row_columns import RowColumns, RowLines, batch_of


@dataclass(frozen=True, slots=True)
class RowPlan:
    """Rows in order, by places in tables.

    Args:
        finders: the versions.
        matches: the matches.
        outputs: outputs as JSON, or NULL.
        of_finder: of each row the place of its version.
        of_match: that of its match.
        of_output: that of its output.
        ranks: the order of rows of one moment.
    """

    finders: RuleVersions
    matches: Matches
    outputs: pa.StringArray
    of_finder: Ints
    of_match: Ints
    of_output: Ints
    ranks: Ints

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.of_match)

    @property
    def emit_order(self) -> Ints:
        """When each row came out, ascending."""
        moments: Ints = self.matches.emit_order[self.of_match]
        return moments

    def byte_sizes(self) -> Ints:
        """Return how many bytes key, output and events of each row have."""
        of_matches = byte_sizes(self.matches.keys) + byte_sizes(self.matches.events)
        sizes: Ints = of_matches[self.of_match] + byte_sizes(self.outputs)[self.of_output]
        return sizes

    def rows(
        self, epoch: int, ids: MatchIds, *, as_lines: bool = False
    ) -> Iterator[RowColumns | RowLines]:
        """Yield the rows, as many at a time as a chunk has.

        Args:
            epoch: that of the batch.
            ids: gives the ids of what was found in it.
            as_lines: whether rows are to be lines of JSON, as far as these can be made here.
        """
        sizes = self.byte_sizes()
        ends = np.cumsum(sizes)
        pieces = MatchPieces.of(self.finders, self.matches, self.outputs, epoch)
        of_rules = as_numbers(
            rule_digest(processor, version, "match") for processor, version in self.finders.pairs()
        )
        as_lines = as_lines and pieces.fit_in_lines and sizes.max(initial=0) < CHARACTERS_PER_CHUNK
        begin = 0
        while begin < len(self):
            before = int(ends[begin - 1]) if begin else 0
            large = int(np.searchsorted(ends, before + CHARACTERS_PER_CHUNK)) + 1
            end = min(begin + ROWS_PER_CHUNK, large, len(self))
            part = slice(begin, end)
            places = self.of_finder[part], self.of_match[part]
            finds, find_places = np.unique(self.of_match[part], return_inverse=True)
            of_finds = pieces.find_digests(finds)
            digests = ids.ids(of_rules[self.of_finder[part]], of_finds[find_places])
            if as_lines:
                lines = pieces.lines(digests, *places, self.of_output[part])
                yield RowLines("match", end - begin, lines)
            else:
                yield self._columns(part, epoch, digests)
            begin = end

    def _columns(self, part: slice, epoch: int, digests: bytes) -> RowColumns:
        finders, matches = self.finders, self.matches
        of_match = self.of_match[part]
        count = len(of_match)
        by_finder, by_match = pa.array(self.of_finder[part]), pa.array(of_match)
        columns = {
            "kind": pa.repeat(pa.scalar("match", pa.string()), count),
            "processor_id": finders.processors.take(by_finder),
            "version": finders.versions.take(by_finder),
            "epoch": pa.repeat(pa.scalar(epoch, pa.int64()), count),
            "key": matches.keys.take(by_match),
            "match_id": hexadecimal(digests, DIGEST_BYTES),
            "start_ms": pa.array(matches.start_ms[of_match]),
            "end_ms": pa.array(matches.end_ms[of_match]),
            "output": self.outputs.take(pa.array(self.of_output[part])),
            "events": matches.events.take(by_match),
        }
        return RowColumns(batch_of(columns, count))


def merged(plans: Sequence[RowPlan]) -> RowPlan:
    """Return the rows of several plans in order; at one moment in that of their ranks."""
    if len(plans) == 1:
        return plans[0]
    moments, ranks = (
        np.concatenate([getattr(plan, name) for plan in plans]) for name in ("emit_order", "ranks")
    )
    order = np.lexsort((ranks, moments))
    finders = [plan.finders for plan in plans]
    matches = [plan.matches for plan in plans]

    def places(name: str, sizes: Sequence[int]) -> Ints:
        shifts = np.cumsum([0, *sizes[:-1]]).tolist()
        parts = [getattr(plan, name) + by for plan, by in zip(plans, shifts, strict=True)]
        in_order: Ints = np.concatenate(parts)[order]
        return in_order

    def texts(tables: Sequence[Any], name: str) -> Any:
        return pa.concat_arrays([getattr(each, name) for each in tables])

    def numbers(name: str) -> Ints:
        return np.concatenate([getattr(each, name) for each in matches])

    return RowPlan(
        RuleVersions(
            texts(finders, "processors"),
            texts(finders, "versions"),
        ),
        Matches(
            numbers("emit_order"),
            texts(matches, "keys"),
            numbers("start_ms"),
            numbers("end_ms"),
            texts(matches, "events"),
        ),
        texts(plans, "outputs"),
        places("of_finder", [len(each.versions) for each in finders]),
        places("of_match", [len(each) for each in matches]),
        places("of_output", [len(plan.outputs) for plan in plans]),
        ranks[order],
    )
