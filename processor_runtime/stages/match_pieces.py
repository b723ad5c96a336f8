"""The texts that rows of matches are made of, in one table: ids and lines of JSON of thousands.

RuleVersions, Matches, outputs ──MatchPieces──► ids as bytes · lines of JSON
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cep.compiling import Ints
from processor_runtime.rows.arrow_texts import borders_of, bytes_of, texts
from processor_runtime.rows.json_text import plain_json_text
from processor_runtime.stages.match_tables import Matches, RuleVersions
from processor_runtime.stages.unusable_events import EARLIEST_MS, LATEST_MS

Bytes = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class MatchPieces:
    """Texts, and the times of matches.

    Args:
        data: all texts, one after the other.
        borders: where each begins; one more at the end.
        heads: the number of the first of those of finders: how identities begin.
        begins: how lines of finders begin, up to the id.
        keys: the keys of matches.
        key_reprs: `repr` of them.
        events: their events.
        outputs: outputs; empty if they are NULL.
        has_output: whether they are not.
        times_ms: when matches begin and end.
    """

    data: Bytes
    borders: Ints
    heads: int
    begins: int
    keys: int
    key_reprs: int
    events: int
    outputs: int
    has_output: NDArray[np.bool_]
    times_ms: Ints

    @classmethod
    def of(
        cls, finders: RuleVersions, matches: Matches, outputs: pa.StringArray, epoch: int
    ) -> "MatchPieces":
        """Return the pieces of rows of an epoch."""
        versions = zip(finders.processors.to_pylist(), finders.versions.to_pylist(), strict=True)
        begins = [
            f'{{"kind":"match","processor_id":{plain_json_text(processor)},"version":{version},'
            f'"epoch":{epoch},"match_id":"'
            for processor, version in versions
        ]
        tables = [
            finders.heads,
            texts(begins),
            matches.keys,
            matches.key_repr,
            matches.events,
            outputs,
        ]
        heads, begun, keys, reprs, events, first = np.cumsum([0, *map(len, tables[:-1])]).tolist()
        table = pa.concat_arrays(tables)
        return cls(
            bytes_of(table),
            borders_of(table),
            heads,
            begun,
            keys,
            reprs,
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

    def digests(self, of_finder: Ints, of_match: Ints) -> Bytes:
        """Return the ids of rows, as if there were no equal ones; 16 bytes each.

        Args:
            of_finder: of each row the place of its version.
            of_match: that of its match.
        """
        # Only here, as numba is an extra, and takes half a second to import.
        from cep.nfa_kernel.match_digests import digests_of  # noqa: PLC0415

        pieces = [self.heads + of_finder, self.key_reprs + of_match, self.events + of_match]
        return digests_of(
            self.data,
            self.borders,
            np.stack(pieces, axis=1),
            self.times_ms[of_match],
        )

    def identity(self, of_finder: Ints, of_match: Ints, row: int) -> bytes:
        """Return the text of which the id of a row is a hash; see `match_ids.MatchIds`."""
        match = int(of_match[row])
        places = self.heads + int(of_finder[row]), self.key_reprs + match, self.events + match
        head, key_repr, events = (
            self.data[self.borders[place] : self.borders[place + 1]].tobytes() for place in places
        )
        return b"%b%b, %d, %d)%b" % (head, key_repr, *self.times_ms[match].tolist(), events)

    def lines(self, digests: Bytes, of_finder: Ints, of_match: Ints, of_output: Ints) -> pa.Buffer:
        """Return the lines of rows; the end of the last line is left out.

        Args:
            digests: their ids.
            of_finder: of each row the place of its version.
            of_match: that of its match.
            of_output: that of its output.
        """
        # As above.
        from cep.nfa_kernel.match_lines import lines_of  # noqa: PLC0415
        from cep.nfa_kernel.text_pieces import NO_PIECE  # noqa: PLC0415

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
            digests,
        )
        return pa.py_buffer(lines[:-1])
