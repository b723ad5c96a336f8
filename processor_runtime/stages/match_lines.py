"""Rows of matches as lines of JSON, thousands at a time: what Spark makes of them, to the byte.

    Finders, Matches, outputs ──match_lines──► MatchLines ──ids of rows──► lines

Source: `spark.sinks.row_columns.row_json`, which writes all other rows.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
import pyarrow as pa

from cep.compiling import Ints
from processor_runtime.rows.arrow_texts import TooLarge, byte_sizes, joined, series_texts, texts
from processor_runtime.rows.json_text import plain_json_text
from processor_runtime.stages.match_tables import Finders, Matches
from processor_runtime.stages.unusable_events import EARLIEST_MS, LATEST_MS

_TIME: Final = "%Y-%m-%dT%H:%M:%S%.3fZ"


@dataclass(frozen=True, slots=True)
class MatchLines:
    """Pieces of lines: one of each of these tables, with the id of the row after the first.

    The last has the end of the line.

    Args:
        finders: up to the id.
        matches: from behind the id to the key.
        outputs: the output, empty without any.
        events: the rest.
    """

    finders: pa.StringArray
    matches: pa.StringArray
    outputs: pa.StringArray
    events: pa.StringArray

    def of(
        self, match_ids: pa.StringArray, of_finder: Ints, of_match: Ints, of_output: Ints
    ) -> pa.Buffer:
        """Return the lines of rows, which are told by places in the tables, as one text.

        The end of the last line is left out.
        """
        tables = [self.finders, match_ids, self.matches, self.outputs, self.events]
        places = [of_finder, np.arange(len(match_ids)), of_match, of_output, of_match]
        begins = np.cumsum([0, *map(len, tables)])[:-1].tolist()
        pieces = [begin + place for begin, place in zip(begins, places, strict=True)]
        borders = np.array([0, len(tables) * len(match_ids)])
        lines = joined(pa.concat_arrays(tables), np.stack(pieces, axis=1).ravel(), borders)
        return lines.buffers()[2].slice(0, int(byte_sizes(lines)[0]) - 1)


def match_lines(
    finders: Finders, matches: Matches, outputs: pa.StringArray, epoch: int
) -> MatchLines | None:
    """Return what lines are made of; `None` where Spark has to make them.

    That is so where times have no usual form, or texts are very large.
    """
    times = np.concatenate([matches.start_ms, matches.end_ms])
    if times.min() < EARLIEST_MS or times.max() > LATEST_MS:
        return None
    versions = zip(finders.processors.to_pylist(), finders.versions.to_pylist(), strict=True)
    begins = [
        f'{{"kind":"match","processor_id":{plain_json_text(processor)},"version":{version},'
        f'"epoch":{epoch},"match_id":"'
        for processor, version in versions
    ]
    frame = pl.DataFrame(
        {
            "start_ms": matches.start_ms,
            "end_ms": matches.end_ms,
            "key": pl.Series(matches.keys),
            "events": pl.Series(matches.events),
        }
    )
    of_matches = frame.select(
        pl.format(
            '","start_time":"{}","end_time":"{}","start_ms":{},"end_ms":{},"key":{}',
            _written("start_ms"),
            _written("end_ms"),
            "start_ms",
            "end_ms",
            "key",
        ).alias("match"),
        pl.format(',"events":{}}}\n', "events").alias("events"),
    )
    of_outputs = pl.DataFrame({"output": pl.Series(outputs)}).select(
        pl.format(',"output":{}', "output").fill_null("")
    )
    try:
        return MatchLines(
            texts(begins),
            series_texts(of_matches.get_column("match")),
            series_texts(of_outputs.to_series()),
            series_texts(of_matches.get_column("events")),
        )
    except TooLarge:
        return None


def _written(name: str) -> pl.Expr:
    return pl.col(name).cast(pl.Datetime("ms")).dt.strftime(_TIME)
