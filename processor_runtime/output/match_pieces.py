"""The texts that rows of matches are made of, in one table: for hashes and lines of thousands.

RuleVersions, Matches, outputs ──MatchPieces──► texts to be hashed · lines of JSON
"""

from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from cep.compiling import Ints
from processor_runtime.output.arrow_texts import borders_of, bytes_of, series_texts, texts
from processor_runtime.output.events.unusable_events import EARLIEST_MS, LATEST_MS
from processor_runtime.output.match_ids import Digests
from processor_runtime.output.match_tables import Matches, RuleVersions
from processor_runtime.rows.json_text import plain_json_text

Bytes = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class MatchPieces:
    """Texts, and the times of matches.

    Args:
        data: all texts, one after the other.
        borders: where each begins; one more at the end.
        begins: the number of the first of those of finders: how their lines begin, up to the id.
        keys: the keys of matches.
        times: their times, for the hash.
        events: their events.
        outputs: outputs; empty if they are NULL.
        has_output: whether they are not.
        times_ms: when matches begin and end.
    """

    data: Bytes
    borders: Ints
    begins: int
    keys: int
    times: int
    events: int
    outputs: int
    has_output: NDArray[np.bool_]
    times_ms: Ints

    @classmethod
    def of(
        cls, finders: RuleVersions, matches: Matches, outputs: pa.StringArray, epoch: int
    ) -> "MatchPieces":
        """Return the pieces of rows of an epoch."""
        begins = [
            f'{{"kind":"match","processor_id":{plain_json_text(processor)},"version":{version},'
            f'"epoch":{epoch},"match_id":"'
            for processor, version in finders.pairs()
        ]
        tables = [
            texts(begins),
            matches.keys,
            _times(matches),
            matches.events,
            outputs,
        ]
        firsts = np.cumsum([0, *map(len, tables[:-1])]).tolist()
        begun, keys, times, events, first = firsts
        table = pa.concat_arrays(tables)
        return cls(
            bytes_of(table),
            borders_of(table),
            begun,
            keys,
            times,
            events,
            first,
            outputs.is_valid().to_numpy(zero_copy_only=False),
            np.stack([matches.start_ms, matches.end_ms], axis=1),
        )

    @property
    def fit_in_lines(self) -> bool:
        """Whether lines can be made here: all times have the usual form."""
        times = self.times_ms
        return not len(times) or bool(times.min() >= EARLIEST_MS and times.max() <= LATEST_MS)

    def find_digests(self, finds: Ints) -> Digests:
        """Return the hashes of some matches; see `match_ids.find_digest`."""
        # Only here, as numba is an extra, and takes half a second to import.
        from processor_runtime.output.compiled.blake2b import blake2b_many  # noqa: PLC0415
        from processor_runtime.output.compiled.joining import join_octets, joined_sizes  # noqa: PLC0415

        firsts = self.times, self.keys, self.events
        pieces = np.stack([first + finds for first in firsts], axis=1).ravel()
        begins = joined_sizes(self.borders, pieces, np.arange(len(finds) + 1) * len(firsts))
        return blake2b_many(join_octets(self.data, self.borders, pieces, int(begins[-1])), begins)

    def lines(self, digests: bytes, of_finder: Ints, of_match: Ints, of_output: Ints) -> pa.Buffer:
        """Return the lines of rows; the end of the last line is left out.

        Args:
            digests: their ids, one after the other.
            of_finder: of each row the place of its version.
            of_match: that of its match.
            of_output: that of its output.
        """
        # As above.
        from processor_runtime.output.compiled.match_lines import lines_of  # noqa: PLC0415
        from processor_runtime.output.compiled.pieces import NO_PIECE  # noqa: PLC0415

        pieces = [
            self.begins + of_finder,
            self.keys + of_match,
            np.where(self.has_output[of_output], self.outputs + of_output, NO_PIECE),
            self.events + of_match,
        ]
        lines = lines_of(
            self.data,
            self.borders,
            np.stack(pieces, axis=1),
            self.times_ms[of_match],
            np.frombuffer(digests, np.uint8),
        )
        return pa.py_buffer(lines[:-1])


def _times(matches: Matches) -> pa.StringArray:
    times = pl.DataFrame({"start": matches.start_ms, "end": matches.end_ms})
    return series_texts(times.select(pl.format("{},{},", "start", "end")).to_series())
