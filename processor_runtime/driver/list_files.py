"""The contents of lists in a checkpoint: there before a record names them, for every later try.

discoverer ──content──► keep_lists ──► <checkpoint>/rules/list-<digest>.json ──► workers
"""

from collections.abc import Callable, Collection

from contract.snapshot import Snapshot
from processor_runtime.driver.batch_record import BatchRecords, list_file
from processor_runtime.schedule.timeline import Timeline

ListContent = Callable[[str], bytes]
"""Returns the content of a digest; raises `LookupError` if there is none."""


def no_content(digest: str) -> bytes:
    """Tell that the source of rules has no lists.

    Raises:
        LookupError: always.
    """
    raise LookupError(f"the content {digest} of a list has not been given")


def keep_lists(
    records: BatchRecords, timeline: Timeline, kept: Collection[str], content: ListContent
) -> tuple[str, ...]:
    """Return the files with the contents that a timeline names, once all of them are there.

    `kept`: the files that the batch before has.

    Raises:
        LookupError: a new one is not to be had.
    """
    digests = {list_file(each.digest): each.digest for each in timeline.lists}
    for name in sorted(digests.keys() - set(kept)):
        records.keep("list", content(digests[name]))
    return tuple(sorted(digests))


def types_of_lists(snapshot: Snapshot) -> list[tuple[str, str]]:
    """Return the lists that conditions can name, with their types."""
    return [(each.name, each.data_type) for each in snapshot.lists]
