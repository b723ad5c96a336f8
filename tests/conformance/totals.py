"""Totals over many judged cases: one line per vector file, whoever ran them.

The end of the conformance suite; pytest and the command line print the same table.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from tests.conformance.outcome import Agreement


@dataclass(frozen=True, slots=True)
class Verdict:
    """How one case of one vector file was answered."""

    file: str
    agreement: Agreement
    counts_agree: bool


def table(verdicts: Iterable[Verdict]) -> list[str]:
    """Return one line per file: cases equal as lists, in first-event order, as multisets."""
    by_file = defaultdict(list)
    for verdict in verdicts:
        by_file[verdict.file].append(verdict)
    return [_line(file, of_file) for file, of_file in by_file.items()]


def _line(file: str, verdicts: list[Verdict]) -> str:
    total = len(verdicts)

    def reached(level: Agreement) -> str:
        return f"{sum(verdict.agreement >= level for verdict in verdicts)}/{total}"

    counts = sum(verdict.counts_agree for verdict in verdicts)
    return (
        f"{file + '.jsonl':<20} "
        f"as lists {reached(Agreement.LIST):>9}   "
        f"by first event {reached(Agreement.FIRST_EVENT_ORDER):>9}   "
        f"as multisets {reached(Agreement.MULTISET):>9}   "
        f"counts {counts}/{total}"
    )
