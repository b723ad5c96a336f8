"""Matches and their triage, from Python: the part of `Client` that is about them."""

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, TypedDict, Unpack
from urllib.parse import quote

from pydantic import ValidationError

from api.client.connection import Connection, Query
from api.client.documents import Moment
from api.client.errors import ServiceError, answer_not_understood
from api.client.following import followed
from cep.instants import Instant, iso_text
from contract.service.bases import Answer
from contract.service.matches import MatchSummary, MatchView
from contract.service.triage import NoteView, RuleTriage, TriageResult, TriageView


class MatchFilter(TypedDict, total=False):
    """Which matches are wanted; what is left out may be any.

    `key` has its values joined by a comma and a space, and `key_prefix` is how such texts begin;
    `group` is the `group_id` of a match, whose others have the kind `grouped`; `since` and `until`
    are event times of the end; `status` is open, acknowledged, false_positive
    or resolved.
    """

    processor: str
    version: int
    job: str
    kind: str
    key: str
    key_prefix: str
    group: str
    since: Moment
    until: Moment
    text: str
    status: str
    assignee: str
    unassigned: bool


class Label(Answer):
    """What was decided about one match; times are milliseconds."""

    match_id: str
    rule: str
    version: int
    kind: str
    key: list[Any]
    start: Instant
    end: Instant
    label: str
    labelled_at: Instant


class MatchCalls:
    """What a client does with matches; see `Client`."""

    _connection: Connection

    def matches(self, stream: str, **wanted: Unpack[MatchFilter]) -> Iterator[MatchSummary]:
        """Yield the recent matches of a stream that meet a filter, newest first."""
        return self._connection.pages(MatchSummary, f"{_stream(stream)}/matches", _query(wanted))

    def follow_matches(
        self,
        stream: str,
        *,
        after: int | None = None,
        on_trouble: Callable[[ServiceError], None] = lambda _trouble: None,
        **wanted: Unpack[MatchFilter],
    ) -> Iterator[MatchSummary]:
        """Yield the matches of a stream that meet a filter as they come, without end.

        A connection that is lost is opened again; no match is missed and none comes twice, as long
        as the service keeps it.

        Args:
            stream: the stream.
            after: begin behind the match of this number; by default with the next that comes.
            on_trouble: told whenever the connection was lost.
            wanted: which matches.

        Raises:
            ServiceError: the first connection fails, or the service refuses a later one, as when
                the token is revoked.
        """
        path = f"{_stream(stream)}/matches/stream"
        return followed(self._connection, path, _query(wanted), after, on_trouble)

    def match(self, stream: str, match_id: str) -> MatchView:
        """Return a match with its events."""
        return self._connection.read(MatchView, "GET", _match(stream, match_id))

    def triage(self, stream: str, match_id: str) -> TriageView:
        """Return the triage of a match; also of one that has been removed since it was triaged."""
        return self._connection.read(TriageView, "GET", f"{_match(stream, match_id)}/triage")

    def triage_match(  # noqa: PLR0913 - keyword options with defaults
        self,
        stream: str,
        match_id: str,
        *,
        status: str | None = None,
        assignee: str | None = None,
        note: str | None = None,
        if_match: str = "*",
        comment: str = "",
    ) -> TriageView:
        """Change the triage of a match and return it; needs the role author.

        Args:
            stream: the stream.
            match_id: the match.
            status: open, acknowledged, false_positive or resolved; `None` = as it is.
            assignee: a name; "" = nobody, `None` = as it is.
            note: a note to be added.
            if_match: the `etag` of the triage this was decided from.
            comment: why; kept in the log.

        Raises:
            Outdated: status or assignee have been changed since.
            Conflict: the match has too many notes.
        """
        return self._connection.read(
            TriageView,
            "PATCH",
            f"{_match(stream, match_id)}/triage",
            body=_change(status, assignee, note),
            query={"comment": comment},
            if_match=if_match,
        )

    def triage_matches(  # noqa: PLR0913 - keyword options with defaults
        self,
        stream: str,
        matches: Sequence[MatchSummary | TriageView | str],
        *,
        status: str | None = None,
        assignee: str | None = None,
        note: str | None = None,
        comment: str = "",
    ) -> TriageResult:
        """Change the triage of up to 500 matches, of all or of none; needs the role author.

        Of an id the state does not matter; a match that was read must not have changed since.

        Raises:
            Conflict: one of them has been changed since it was read, or has too many notes.
            Invalid: the stream does not have one of them, or there are too many.
        """
        body = {"matches": [_selected(each) for each in matches]}
        return self._connection.read(
            TriageResult,
            "POST",
            f"{_stream(stream)}/triage",
            body=body | _change(status, assignee, note),
            query={"comment": comment},
        )

    def triage_found(  # noqa: PLR0913 - keyword options with defaults
        self,
        stream: str,
        wanted: MatchFilter,
        *,
        status: str | None = None,
        assignee: str | None = None,
        note: str | None = None,
        up_to: int | None = None,
        comment: str = "",
    ) -> TriageResult:
        """Change the triage of all recent matches that meet a filter; needs the role author.

        They are changed 500 at a time, newest first; if it breaks off, those before are changed.
        Matches that come while it goes on are not, nor any with a `number` above `up_to`.

        Raises:
            Invalid: the filter is empty.
            Conflict: a match has too many notes.
        """
        total = TriageResult(changed=0, unchanged=0)
        cursor = None
        limit = {} if up_to is None else {"up_to": up_to}
        while True:
            page = self._connection.read(
                TriageResult,
                "POST",
                f"{_stream(stream)}/triage",
                body=limit | _change(status, assignee, note),
                query={**_query(wanted), "comment": comment, "cursor": cursor},
            )
            total = TriageResult(
                changed=total.changed + page.changed, unchanged=total.unchanged + page.unchanged
            )
            cursor = page.next_cursor
            if cursor is None:
                return total

    def notes(self, stream: str, match_id: str) -> Iterator[NoteView]:
        """Yield the notes on a match, newest first."""
        return self._connection.pages(NoteView, f"{_match(stream, match_id)}/notes")

    def add_note(self, stream: str, match_id: str, text: str) -> NoteView:
        """Add a note to a match and return it; needs the role author."""
        path = f"{_match(stream, match_id)}/notes"
        return self._connection.read(NoteView, "POST", path, body={"text": text})

    def triage_counts(
        self,
        stream: str,
        processor_id: str | None = None,
        *,
        version: int | None = None,
        kind: str | None = None,
    ) -> Iterator[RuleTriage]:
        """Yield by rule how many matches have which status, and the rate of false positives."""
        query = {"processor": processor_id, "version": version, "kind": kind}
        return self._connection.pages(RuleTriage, f"{_stream(stream)}/triage", query)

    def labels(
        self,
        stream: str,
        processor_id: str | None = None,
        *,
        version: int | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
    ) -> Iterator[Label]:
        """Yield what was decided about matches, in the order of event time; never open ones.

        Args:
            stream: the stream.
            processor_id: only of this rule.
            version: only of this version of it.
            since: only of matches that ended at this event time or later.
            until: only of matches that ended before this event time.
        """
        query: Query = {
            "processor": processor_id,
            "version": version,
            "since": _parameter("since", since),
            "until": _parameter("until", until),
        }
        response = self._connection.send("GET", f"{_stream(stream)}/triage/labels", query=query)
        try:
            for line in csv.DictReader(io.StringIO(response.text, newline="")):
                yield Label.model_validate({**line, "key": json.loads(line["key"])})
        except (ValueError, KeyError, TypeError, ValidationError) as error:
            raise answer_not_understood(response, error) from error


def _change(status: str | None, assignee: str | None, note: str | None) -> dict[str, Any]:
    given = {"status": status, "assignee": assignee, "note": note}
    return {name: value for name, value in given.items() if value is not None}


def _selected(match: MatchSummary | TriageView | str) -> dict[str, Any]:
    if isinstance(match, str):
        return {"match_id": match}
    seen = match if isinstance(match, TriageView) else match.triage
    return {"match_id": match.match_id, "revision": seen.revision}


def _query(wanted: Mapping[str, Any]) -> dict[str, str | int | None]:
    return {name: _parameter(name, value) for name, value in wanted.items()}


def _parameter(name: str, value: Any) -> str | int | None:
    if name in {"since", "until"} and value is not None:
        return _moment(value)
    return str(value).lower() if isinstance(value, bool) else value


def _moment(moment: Moment) -> str:
    if isinstance(moment, int):
        return iso_text(moment)
    return moment.isoformat() if isinstance(moment, datetime) else moment


def _stream(name: str) -> str:
    return f"/v1/streams/{quote(name, safe='')}"


def _match(stream: str, match_id: str) -> str:
    return f"{_stream(stream)}/matches/{quote(match_id, safe='')}"
