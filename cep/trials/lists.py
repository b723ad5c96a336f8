"""Lists of a stream with their values, as they are sent to a worker and read there."""

import base64
import gzip
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import cast

from cep.definition.given_lists import GivenList
from cep.expression.lists import DATA_TYPES, ListContent, Member, ValueList
from cep.list_content import ListType, list_values


@dataclass(frozen=True, slots=True)
class WrittenList:
    """A list as data that JSON can hold; `content` is compressed by gzip and written in base64."""

    name: str
    data_type: str
    digest: str
    content: str


def written_list(given: GivenList) -> WrittenList:
    """Return a list of a file as it is sent to a worker."""
    text = base64.b64encode(gzip.compress(given.content, 1, mtime=0)).decode()
    return WrittenList(given.name, given.data_type, given.digest, text)


def read_lists(written: Iterable[WrittenList]) -> tuple[ValueList, ...]:
    """Return lists that have one version each, for all time."""
    return tuple(map(_list, written))


def _list(written: WrittenList) -> ValueList:
    data_type = DATA_TYPES[written.data_type]
    content = ListContent(written.digest, data_type, partial(_values, written))
    return ValueList(written.name, data_type, ((0, content),))


def _values(written: WrittenList) -> Iterable[Member]:
    content = gzip.decompress(base64.b64decode(written.content))
    return list_values(cast(ListType, written.data_type), content)
