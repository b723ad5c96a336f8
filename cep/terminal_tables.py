"""Tables that fit a terminal, and are whole where the output is none."""

from collections.abc import Iterable, Sequence
from typing import Final

from rich.box import HEAVY_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cep.printable import printable

_WIDEST: Final = 100_000


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], *, has_frame: bool = False
) -> int:
    """Print rows, unless there are none, and return how many there were.

    On a terminal the widest columns are folded between words until all fit, or no further: a name
    that is cut cannot be copied. Elsewhere every row is one line. A frame has lines between
    columns, too.
    """
    cells = [[Text(printable(cell).replace("\n", "\\n")) for cell in row] for row in rows]
    headings = [Text(printable(column)) for column in columns]
    table = Table(box=HEAVY_HEAD if has_frame else None, pad_edge=has_frame)
    between = 3 * len(columns) + 1 if has_frame else 2 * (len(columns) - 1)
    console = Console(highlight=False)
    room = (console.width if console.is_terminal else _WIDEST) - between
    widths = _widths([*zip(headings, *cells, strict=True)], room)
    for heading, width in zip(headings, widths, strict=True):
        table.add_column(heading, width=width)
    for row in cells:
        table.add_row(*row)
    if cells:
        Console(highlight=False, width=sum(widths) + between).print(table)
    return len(cells)


def _widths(columns: Sequence[Sequence[Text]], room: int) -> list[int]:
    """Return how wide columns are that fit, or that fit most nearly, if no word is cut."""
    widths = [max(cell.cell_len for cell in column) for column in columns]
    words = [
        max(cell_len(word) for cell in column for word in cell.plain.split(" "))
        for column in columns
    ]
    while sum(widths) > room and widths != words:
        widest = max(
            range(len(widths)), key=lambda each: (widths[each] > words[each], widths[each])
        )
        widths[widest] -= 1
    return widths
