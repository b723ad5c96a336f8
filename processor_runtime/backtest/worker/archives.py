"""Archives: where the events of the past of each stream are kept, as files.

NAME=PATH ──read_archives──► Archive ──files──► read_history
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cep.events.files import event_files
from cep.events.table import EVENT_SUFFIXES


class BadArchive(ValueError):
    """What was given is no archive; says how to write one."""


@dataclass(frozen=True, slots=True)
class Archive:
    """The files with the events of one stream: a file, a folder, or a pattern with `*` and `**`."""

    stream: str
    place: str

    def files(self) -> tuple[Path, ...]:
        """Return the files that are there now, by name.

        Raises:
            BadArchive: there is none.
        """
        if not (files := event_files(self.place)):
            raise BadArchive(
                f"{self.place} of the stream '{self.stream}' has no files of events "
                f"({', '.join(EVENT_SUFFIXES)}, each also with .gz)"
            )
        return files


def read_archives(given: Iterable[str]) -> dict[str, Archive]:
    """Return archives by stream, written as `NAME=PATH`; a folder may still be empty.

    Raises:
        BadArchive: one is not written so, a stream has two, or there is nothing at a place.
    """
    archives: dict[str, Archive] = {}
    for text in given:
        stream, is_both, place = text.partition("=")
        if not (is_both and stream and place):
            raise BadArchive(f"--archive {text}: write the stream and its files, as logins=/data/*")
        if stream in archives:
            raise BadArchive(f"--archive {text}: '{stream}' has one; write a pattern for several")
        archives[stream] = Archive(stream, place)
        if not Path(place).is_dir():
            archives[stream].files()
    return archives
