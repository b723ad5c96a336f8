"""Rows as text of CSV, for answers that are sent piece by piece. Source: RFC 4180."""

import csv
import io
from collections.abc import Iterable, Sequence


def csv_text(rows: Iterable[Sequence[str | int]]) -> str:
    r"""Return rows as lines of CSV, each ended by `\r\n`."""
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue()
