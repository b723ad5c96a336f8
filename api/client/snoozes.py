"""The snoozes of one processor, from Python: begun, listed, ended.

client.snoozes("failed-logins").begin(for_time="1 hour", key="eve") ──► ….list() · ….end(7)
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from api.client.connection import Connection
from api.client.documents import Moment
from cep.instants import epoch_ms
from contract.service.snoozes import Snoozes, SnoozeView


@dataclass(frozen=True, slots=True)
class SnoozeClient:
    """What can be done with the snoozes of one processor. Every call raises `ServiceError`."""

    connection: Connection
    path: str

    def list(self) -> list[SnoozeView]:
        """Return its snoozes, by key; some may be over."""
        return self.connection.read(Snoozes, "GET", self.path).items

    def begin(
        self,
        *,
        until: Moment | None = None,
        for_time: str | int | None = None,
        key: str | None = None,
        comment: str = "",
    ) -> SnoozeView:
        """Hold its matches back until a time; one for the same key takes the place of that before.

        Args:
            until: the first event time that it is not for; or give `for_time`.
            for_time: how long from now on, as "1 hour" or in milliseconds.
            key: the key, as lists of matches have it; `None` = all.
            comment: why; kept in the log.
        """
        body: dict[str, Any] = {"key": key, "for": for_time}
        if until is not None:
            body["until"] = epoch_ms(until) if isinstance(until, datetime) else until
        body = {name: value for name, value in body.items() if value is not None}
        return self.connection.read(
            SnoozeView, "POST", self.path, body=body, query={"comment": comment}
        )

    def end(self, number: int, *, comment: str = "") -> None:
        """End one before its time.

        Raises:
            NotFound: there is none of this number.
        """
        self.connection.send("DELETE", f"{self.path}/{number}", query={"comment": comment})
