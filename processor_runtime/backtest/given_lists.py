"""The lists that rules name, given to a backtest: of files, or of the service.

GivenList, of files or of what the service has in effect ──known_lists──► GivenLists ──► rules
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final, cast

from cep.definition.given_lists import GivenList
from cep.expression import DataType
from cep.expression.lists import ListContent
from cep.list_content import ListType, list_values
from contract.snapshot import SnapshotList, SnapshotListVersion


@dataclass(frozen=True, slots=True)
class GivenLists:
    """Lists with one content each, for all of history; `contents` by digest."""

    lists: tuple[SnapshotList, ...] = ()
    contents: Mapping[str, bytes] = field(default_factory=dict)

    def content(self, digest: str, data_type: DataType) -> ListContent:
        """Return the content of a digest, as rules ask for it."""
        read = partial(list_values, cast(ListType, str(data_type)), self.contents[digest])
        return ListContent(digest, data_type, read)


NO_LISTS: Final = GivenLists()


def known_lists(given: Iterable[GivenList]) -> GivenLists:
    """Return lists as a job is given them."""
    lists, contents = [], {}
    for each in sorted(given, key=lambda each: each.name):
        version = SnapshotListVersion(
            version=1,
            effective_from_ms=None,
            digest=each.digest,
            count=len(list_values(each.data_type, each.content)),
        )
        lists.append(SnapshotList(name=each.name, type=each.data_type, versions=[version]))
        contents[each.digest] = each.content
    return GivenLists(tuple(lists), contents)
