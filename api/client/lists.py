"""The lists of one stream, from Python: created, filled, searched, rolled back, deleted.

client.lists("logins").put("vip", ["ana", "eve"]) ──► …change("vip", add=["bob"]) · …values("vip")
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

import httpx2

from api.client.connection import Connection
from api.client.errors import Unreachable
from cep.list_content import ListType, ListValue
from contract.connections import connection_trouble
from contract.service.lists import ListChangeView, ListSummary, ListVersionView, ListView

_PAGE: Final = 500
_SILENCE_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class ListClient:
    """What can be done with the lists of one stream. Every call raises `ServiceError`.

    `if_match` is as in `Client`. A change with `effective_from` (ISO 8601) takes effect at that
    event time; `dry_run` tells what would change and writes nothing.
    """

    connection: Connection
    path: str

    def all(self) -> Iterator[ListSummary]:
        """Yield the lists by name."""
        return self.connection.pages(ListSummary, self.path)

    def read(self, name: str) -> ListView:
        """Return a list, what jobs are given of it, and the rules that name it."""
        return self.connection.read(ListView, "GET", self._of(name))

    def create(
        self,
        name: str,
        data_type: ListType = "STRING",
        *,
        description: str = "",
        comment: str = "",
    ) -> ListView:
        """Add a list without values.

        Raises:
            Conflict: the name is taken, or there are too many.
        """
        body = {"name": name, "type": data_type, "description": description}
        query = {"comment": comment}
        return self.connection.read(ListView, "POST", self.path, body=body, query=query)

    def describe(
        self, name: str, description: str, *, if_match: str = "*", comment: str = ""
    ) -> ListView:
        """Say what a list is for; no version is made."""
        return self.connection.read(
            ListView,
            "PATCH",
            self._of(name),
            body={"description": description},
            query={"comment": comment},
            if_match=if_match,
        )

    def put(  # noqa: PLR0913 - keyword options with defaults
        self,
        name: str,
        values: Iterable[ListValue] | bytes,
        *,
        has_header: bool = False,
        effective_from: str = "",
        if_match: str = "*",
        comment: str = "",
        dry_run: bool = False,
    ) -> ListChangeView:
        """Give a list these values instead of those it has.

        Args:
            name: the list.
            values: all of them; bytes are CSV, one value on each line.
            has_header: whether the first line of CSV is the name of the column.
            effective_from: first event time they are for; left out = at once.
            if_match: the ETag of the state this replaces.
            comment: why; kept in the log.
            dry_run: only tell what would change.

        Raises:
            Invalid: some are wrong; `flaws` says which lines, and nothing is taken.
        """
        is_csv = isinstance(values, bytes)
        body = (
            {"content": values} if isinstance(values, bytes) else {"body": list(map(str, values))}
        )
        return self.connection.read(
            ListChangeView,
            "PUT",
            f"{self._of(name)}/values",
            query=_query(effective_from, comment, dry_run=dry_run)
            | ({"header": "true"} if is_csv and has_header else {}),
            if_match=if_match,
            is_upload=True,
            **body,
        )

    def change(  # noqa: PLR0913 - keyword options with defaults
        self,
        name: str,
        *,
        add: Iterable[ListValue] = (),
        remove: Iterable[ListValue] = (),
        effective_from: str = "",
        if_match: str | None = None,
        comment: str = "",
        dry_run: bool = False,
    ) -> ListChangeView:
        """Add values to a list and remove some, up to 10,000 each; others stay.

        Whether they are there already does not matter, so no `if_match` is needed.
        """
        return self.connection.read(
            ListChangeView,
            "POST",
            f"{self._of(name)}/changes",
            body={"add": list(map(str, add)), "remove": list(map(str, remove))},
            query=_query(effective_from, comment, dry_run=dry_run),
            if_match=if_match,
        )

    def roll_back(
        self,
        name: str,
        version: int,
        *,
        if_match: str = "*",
        comment: str = "",
        dry_run: bool = False,
    ) -> ListChangeView:
        """Give a list the values of an old version, at once, as a new one.

        Raises:
            Conflict: its values are kept no longer.
        """
        return self.connection.read(
            ListChangeView,
            "POST",
            f"{self._of(name)}/rollback",
            body={"version": version},
            query=_query("", comment, dry_run=dry_run),
            if_match=if_match,
        )

    def cancel(
        self, name: str, version: int, *, if_match: str = "*", comment: str = ""
    ) -> ListView:
        """Take back a scheduled version; what was published before it goes on."""
        path = f"{self._of(name)}/versions/{version}/cancel"
        query = {"comment": comment}
        return self.connection.read(ListView, "POST", path, query=query, if_match=if_match)

    def delete(self, name: str, *, if_match: str = "*", comment: str = "") -> None:
        """Take a list and its values away.

        Raises:
            Conflict: a rule names it.
        """
        self.connection.send(
            "DELETE", self._of(name), query={"comment": comment}, if_match=if_match
        )

    def versions(self, name: str) -> Iterator[ListVersionView]:
        """Yield the log of a list: its versions, newest first."""
        return self.connection.pages(ListVersionView, f"{self._of(name)}/versions")

    def values(
        self, name: str, *, prefix: str = "", contains: str = "", version: int | None = None
    ) -> Iterator[str]:
        """Yield values of a list in order, as texts, asking for page after page.

        Args:
            name: the list.
            prefix: only those that begin with this text.
            contains: only those with this text in them.
            version: of this version; left out = the newest.
        """
        asked = {"prefix": prefix, "contains": contains, "version": version, "limit": _PAGE}
        return self.connection.items(f"{self._of(name)}/values", asked, lambda value: value)

    @contextmanager
    def csv(self, name: str, *, version: int | None = None) -> Iterator[Iterator[bytes]]:
        """Yield all values as CSV, in pieces, as they come."""
        path = f"{self._of(name)}/values"
        query = {"format": "csv", "version": version}
        try:
            with self.connection.streaming(
                path, query=query, silence_seconds=_SILENCE_SECONDS
            ) as answer:
                yield answer.iter_bytes()
        except httpx2.HTTPError as error:
            url = self.connection.url
            said = connection_trouble(error, url, "the environment variable SSL_CERT_FILE")
            raise Unreachable(said) from error

    def _of(self, name: str) -> str:
        return f"{self.path}/{quote(name, safe='')}"


def _query(
    effective_from: str, comment: str, *, dry_run: bool
) -> dict[str, str | int | bool | None]:
    return {
        "effective_from": effective_from,
        "comment": comment,
        "dry_run": "true" if dry_run else None,
    }
