"""Contents of lists: compressed in the store, decoded for whoever looks into them.

values ─► canonical JSON ─► digest, gzip ─► store ─► jobs, as they are
                                              └────► decoded, the last few kept ─► pages, checks
"""

import gzip
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Final, cast

from sqlalchemy.orm import Session

from api.list_store import repository
from api.list_store.tables import ListContent, ListVersion
from cep.list_content import (
    MOST_VALUES,
    ListType,
    ListValue,
    list_content,
    list_digest,
    list_values,
)

_GZIP_LEVEL: Final = 5


@dataclass(frozen=True, slots=True)
class PackedContent:
    """A content as it is stored: its name, its bytes compressed by gzip, their size before."""

    digest: str
    compressed: bytes
    size_bytes: int
    count: int


class ContentGone(Exception):
    """The content of an old version is kept no longer."""


def packed(values: Iterable[ListValue]) -> PackedContent:
    """Return the content of a list as it is stored.

    Raises:
        ValueError: there are too many values, or they are too long together.
    """
    distinct = set(values)
    content = list_content(distinct)
    # Without a time in it, so that equal contents have equal bytes.
    compressed = gzip.compress(content, _GZIP_LEVEL, mtime=0)
    return PackedContent(list_digest(content), compressed, len(content), len(distinct))


def unpacked(content: ListContent) -> bytes:
    """Return the canonical bytes of a stored content."""
    return gzip.decompress(content.compressed)


def store(session: Session, stream: str, content: PackedContent) -> None:
    """Store a content, unless it is there."""
    if not repository.has_content(session, stream, content.digest):
        session.add(
            ListContent(
                stream=stream,
                digest=content.digest,
                compressed=content.compressed,
                size_bytes=content.size_bytes,
            )
        )
        session.flush()


class DecodedContents:
    """The values of contents that were looked into lately, up to a number of values in all."""

    def __init__(self, most_values: int = 2 * MOST_VALUES) -> None:
        self._most_values = most_values
        self._kept: OrderedDict[tuple[str, str, str], Sequence[ListValue]] = OrderedDict()
        self._lock = Lock()
        self._decoding = Lock()

    def values(self, session: Session, version: ListVersion) -> Sequence[ListValue]:
        """Return the values of a version of a list, in order.

        Raises:
            ContentGone: they are kept no longer.
        """
        if not version.has_content:
            raise ContentGone
        key = (version.stream, version.digest, version.data_type)
        if (known := self._known(key)) is not None:
            return known
        # One at a time: a content takes some hundred megabytes while it is decoded.
        with self._decoding:
            if (known := self._known(key)) is not None:
                return known
            content = repository.content_of(session, version.stream, version.digest)
            if content is None:
                raise ContentGone
            values = list_values(cast(ListType, version.data_type), unpacked(content))
            session.expunge(content)
            self._keep(key, values)
            return values

    def _known(self, key: tuple[str, str, str]) -> Sequence[ListValue] | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def _keep(self, key: tuple[str, str, str], values: Sequence[ListValue]) -> None:
        with self._lock:
            self._kept[key] = values
            while len(self._kept) > 1 and sum(map(len, self._kept.values())) > self._most_values:
                self._kept.popitem(last=False)
