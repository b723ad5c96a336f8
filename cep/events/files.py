"""Where many events are kept: a file, a folder of files, or a pattern of their names.

place ──event_files──► files by name ──► `cep.events.table`
"""

import glob
from pathlib import Path

from cep.events.table import EVENT_SUFFIXES


def event_files(place: str) -> tuple[Path, ...]:
    """Return the files of events at a place that are there now, by name.

    A place is a file, a folder that is searched with those in it, or a pattern with `*` and `**`.
    """
    folder = Path(place)
    if folder.is_dir():
        found = [each for each in folder.rglob("*") if _is_of_events(each)]
    else:
        found = [Path(each) for each in glob.glob(place, recursive=True)]  # noqa: PTH207
    return tuple(sorted(each for each in found if each.is_file()))


def _is_of_events(path: Path) -> bool:
    # What a writer has not finished, and what Spark writes beside its files, begins like that.
    is_hidden = path.name.startswith((".", "_"))
    return not is_hidden and path.name.lower().removesuffix(".gz").endswith(EVENT_SUFFIXES)
