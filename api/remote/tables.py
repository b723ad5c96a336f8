"""Tables that fit a terminal, and are whole where the output is none."""

from collections.abc import Iterable, Sequence
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cep.printable import printable

_WIDEST: Final = 100_000


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> int:
    """Print rows and return how many there were.

    On a terminal the widest columns are folded until all fit; elsewhere every row is one line.

    Args:
        columns: the headings.
        rows: one text for each column.
    """
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=_WIDEST)
    table = Table(box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(cell).replace("\n", "\\n")) for cell in row))
    if table.row_count:
        console.print(table)
    return table.row_count
