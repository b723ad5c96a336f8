"""`Client`: everything the service does with streams, processors and matches, from Python."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self, Unpack
from urllib.parse import quote

import httpx2

from api.client.backtests import BacktestClient
from api.client.change_sets import ChangeSetCalls
from api.client.connection import Connection, view_of
from api.client.documents import ProcessorParts, processor_document
from api.client.errors import NotFound
from api.client.explanations import wait_for_explanation
from api.client.lists import ListClient
from api.client.matches import MatchCalls
from api.client.partial_matches import wait_for_answers
from api.client.proposals import ProposalCalls
from api.client.rollouts import RolloutClient
from api.client.snoozes import SnoozeClient
from api.client.tokens import TokenClient
from api.client.waiting import Patience, wait_until_running
from api.client.webhooks import WebhookClient
from cep.pattern import Pattern
from cep.signing.keys import SigningKeys
from contract.service.diagnosis import Diagnosis, Funnel, PartialMatchesOfKey
from contract.service.explanations import ExplanationView
from contract.service.jobs import RunningView
from contract.service.problems import Flaw
from contract.service.processors import ProcessorSummary, ProcessorView, VersionSummary, VersionView
from contract.service.snoozes import Snoozes, SnoozeView
from contract.service.streams import StreamView


class Stream(StreamView):
    """A stream; `etag` names its definition, for `if_match`, and is empty in lists."""

    etag: str = ""


class Client(ChangeSetCalls, MatchCalls, ProposalCalls):
    """A connection to a rule service; may be shared by threads. Every call raises `ServiceError`.

    The argument `if_match` of a change is the `etag` of the state that was read, or `*` for any
    state; `Outdated` is raised if somebody else has changed it since.

    Args:
        url: where the service is, such as `https://rules.example.com`.
        token: an access token; publishing needs the role publisher.
        signing_keys: the newest signs Python conditions and functions that are published.
        timeout_seconds: how long to wait for an answer.
        allow_plain_http: send the token unencrypted to other machines, too.
        transport: sends a request; HTTP if left out.

    Raises:
        ValueError: the URL is invalid, or the token would cross a network unencrypted.
    """

    def __init__(  # noqa: PLR0913 - keyword options with defaults
        self,
        url: str,
        token: str,
        *,
        signing_keys: SigningKeys | None = None,
        timeout_seconds: float = 30,
        allow_plain_http: bool = False,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        self._connection = Connection(
            url,
            token,
            timeout_seconds=timeout_seconds,
            allow_plain_http=allow_plain_http,
            transport=transport,
        )
        self._signing_keys = signing_keys

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self._connection.url!r})"

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    # --- streams

    def streams(self) -> Iterator[Stream]:
        """Yield all streams by name."""
        return self._connection.pages(Stream, "/v1/streams")

    def stream(self, name: str) -> Stream:
        """Return a stream."""
        return self._one_stream("GET", _stream(name))

    def register_stream(self, document: Mapping[str, Any], *, comment: str = "") -> Stream:
        """Register a stream and return it; needs the role admin."""
        query = {"comment": comment}
        return self._one_stream("POST", "/v1/streams", body=dict(document), query=query)

    def redefine_stream(
        self, document: Mapping[str, Any], *, if_match: str = "*", comment: str = ""
    ) -> Stream:
        """Replace the definition of a stream and return it; needs the role admin.

        Args:
            document: the whole stream.
            if_match: the ETag of the definition this replaces.
            comment: why; kept in the log.
        """
        return self._one_stream(
            "PUT",
            _stream(document["name"]),
            body=dict(document),
            query={"comment": comment},
            if_match=if_match,
        )

    def require_approvals(self, stream: str, required: int, *, if_match: str = "*") -> Stream:
        """Set how many people must approve changes of what runs; needs the role admin."""
        path = f"{_stream(stream)}/approvals"
        return self._one_stream("PUT", path, body={"required": required}, if_match=if_match)

    def lists(self, stream: str) -> ListClient:
        """Return what can be done with the lists of a stream."""
        return ListClient(self._connection, f"{_stream(stream)}/lists")

    # --- processors

    def publish(  # noqa: PLR0913 - keyword options with defaults
        self,
        stream: str,
        processor_id: str,
        *,
        pattern: Pattern | Mapping[str, Any],
        comment: str = "",
        paused: bool = False,
        if_match: str | None = None,
        **parts: Unpack[ProcessorParts],
    ) -> ProcessorView:
        """Create a processor or publish its next version; the same content again makes none.

        Python conditions and functions are pickled and signed with the newest signing key.

        Args:
            stream: the stream it watches.
            processor_id: its id.
            pattern: a pattern, or the document of one.
            comment: why; kept in the log.
            paused: do not run it until it is resumed, if it is new.
            if_match: the ETag of the state this replaces; left out = the state it is in now.
            parts: see `ProcessorParts`.

        Raises:
            PatternError: Python code without a signing key, or code that cannot be pickled.
            CodeRefused: the function cannot be pickled, or is too large.
            ServiceError: the service refuses it; `Invalid` lists the problems with their places.
        """
        document = self.document(stream, processor_id, pattern=pattern, **parts)
        if if_match is None:
            try:
                if_match = self.get(processor_id).etag
            except NotFound:
                return self.create(document, comment=comment, paused=paused)
        return self.replace(document, if_match=if_match, comment=comment)

    def document(
        self,
        stream: str,
        processor_id: str,
        *,
        pattern: Pattern | Mapping[str, Any],
        **parts: Unpack[ProcessorParts],
    ) -> dict[str, Any]:
        """Return the document of a processor, its Python code signed; nothing is sent.

        It may be proposed, tried or run over past events; arguments as for `publish`.
        """
        return processor_document(stream, processor_id, pattern, parts, self._signing_keys)

    def create(
        self,
        document: Mapping[str, Any],
        *,
        comment: str = "",
        paused: bool = False,
        shadow: bool = False,
    ) -> ProcessorView:
        """Add the processor in a document and return it; with `shadow`, it is only tried at first.

        Raises:
            Conflict: the id is taken.
        """
        query = {
            "comment": comment,
            "paused": "true" if paused else None,
            "shadow": "true" if shadow else None,
        }
        return self._connection.read(
            ProcessorView, "POST", "/v1/processors", body=dict(document), query=query
        )

    def replace(
        self, document: Mapping[str, Any], *, if_match: str, comment: str = ""
    ) -> ProcessorView:
        """Publish a document as the next version of its processor and return it."""
        return self._change(
            "PUT", str(document["id"]), body=dict(document), if_match=if_match, comment=comment
        )

    def label(
        self, processor_id: str, *, if_match: str = "*", comment: str = "", **labels: Any
    ) -> ProcessorView:
        """Change labels (description, owner, tags) and return the processor; no version is made."""
        return self._change("PATCH", processor_id, body=labels, if_match=if_match, comment=comment)

    def set_parameters(
        self,
        processor_id: str,
        values: Mapping[str, bool | float | str | Sequence[bool | float | str]],
        *,
        if_match: str = "*",
        comment: str = "",
    ) -> ProcessorView:
        """Publish a version with other values of parameters, and return the processor.

        Args:
            processor_id: its id.
            values: by name; parameters that are not named keep their values. A list has all of its
                values.
            if_match: the ETag of the state this replaces.
            comment: why; kept in the log.

        Raises:
            Invalid: it has no such parameter, or a value is none that the parameter may take.
        """
        return self._change(
            "PATCH",
            processor_id,
            "/parameters",
            body=dict(values),
            if_match=if_match,
            comment=comment,
        )

    def validate(self, document: Mapping[str, Any]) -> list[Flaw]:
        """Return the warnings for a document that would be accepted; nothing is written.

        Raises:
            Invalid: it would not be accepted.
        """
        response = self._connection.send("POST", "/v1/validate", body=dict(document))
        return [Flaw.model_validate(warning) for warning in response.json()["warnings"]]

    def get(self, processor_id: str) -> ProcessorView:
        """Return a processor with its newest version."""
        return self._connection.read(ProcessorView, "GET", _processor(processor_id))

    def processors(  # noqa: PLR0913 - keyword options with defaults
        self,
        stream: str | None = None,
        *,
        state: str | None = None,
        tag: str | None = None,
        owner: str | None = None,
        text: str | None = None,
        problem: bool | None = None,
        sort: str = "id",
    ) -> Iterator[ProcessorSummary]:
        """Yield processors, all pages of them; deleted ones only with `state="deleted"`."""
        query = {
            "stream": stream,
            "state": state,
            "tag": tag,
            "owner": owner,
            "text": text,
            "problem": None if problem is None else str(problem).lower(),
            "sort": sort,
        }
        return self._connection.pages(ProcessorSummary, "/v1/processors", query)

    def versions(self, processor_id: str) -> Iterator[VersionSummary]:
        """Yield the versions of a processor, newest first; of a deleted one, too."""
        return self._connection.pages(VersionSummary, f"{_processor(processor_id)}/versions")

    def version(self, processor_id: str, version: int) -> VersionView:
        """Return one version, whole."""
        path = f"{_processor(processor_id)}/versions/{version}"
        return self._connection.read(VersionView, "GET", path)

    def pause(self, processor_id: str, *, if_match: str = "*", comment: str = "") -> ProcessorView:
        """Stop a processor but keep it; doing so twice changes nothing."""
        return self._change("POST", processor_id, "/pause", if_match=if_match, comment=comment)

    def resume(self, processor_id: str, *, if_match: str = "*", comment: str = "") -> ProcessorView:
        """Let a paused processor run again; doing so twice changes nothing."""
        return self._change("POST", processor_id, "/resume", if_match=if_match, comment=comment)

    def roll_back(
        self, processor_id: str, version: int, *, if_match: str = "*", comment: str = ""
    ) -> ProcessorView:
        """Publish the content of an old version as a new one; a deleted processor comes back."""
        return self._change(
            "POST",
            processor_id,
            "/rollback",
            body={"version": version},
            if_match=if_match,
            comment=comment,
        )

    def cancel(
        self, processor_id: str, version: int, *, if_match: str = "*", comment: str = ""
    ) -> ProcessorView:
        """Cancel a scheduled version; versions published before it keep running."""
        action = f"/versions/{version}/cancel"
        return self._change("POST", processor_id, action, if_match=if_match, comment=comment)

    def delete(self, processor_id: str, *, if_match: str = "*", comment: str = "") -> None:
        """Delete a processor: it stops running, its versions are kept."""
        self._connection.send(
            "DELETE",
            _processor(processor_id),
            query={"comment": comment},
            if_match=if_match,
        )

    def rollout(self, processor_id: str) -> RolloutClient:
        """Return what can be done with the rollout of a processor; nothing is sent yet."""
        return RolloutClient(self._connection, f"{_processor(processor_id)}/rollout")

    def snoozes(self, processor_id: str) -> SnoozeClient:
        """Return what can be done with the snoozes of a processor; nothing is sent yet."""
        return SnoozeClient(self._connection, f"{_processor(processor_id)}/snoozes")

    def snoozed(self, stream: str) -> list[SnoozeView]:
        """Return the snoozes of all processors of a stream."""
        return self._connection.read(Snoozes, "GET", f"{_stream(stream)}/snoozes").items

    @property
    def tokens(self) -> TokenClient:
        """What can be done with tokens; nothing is sent yet."""
        return TokenClient(self._connection)

    @property
    def webhooks(self) -> WebhookClient:
        """What can be done with webhooks of the service; nothing is sent yet."""
        return WebhookClient(self._connection)

    @property
    def backtests(self) -> BacktestClient:
        """What can be done with backtests; nothing is sent yet."""
        return BacktestClient(self._connection)

    # --- jobs

    def diagnosis(self, processor_id: str) -> Diagnosis:
        """Return why a processor finds nothing: the chain from events to matches, link by link."""
        return self._connection.read(Diagnosis, "GET", f"{_processor(processor_id)}/diagnosis")

    def partial_matches(
        self, processor_id: str, key: str = "", *, timeout_seconds: float = 30
    ) -> PartialMatchesOfKey:
        """Return what is open for one key of a processor, in each running job.

        Args:
            processor_id: the processor.
            key: as lists of matches have it, or a JSON array of its values; empty for a processor
                without `key_by`.
            timeout_seconds: how long to wait for jobs, which tell after a batch that reads an
                event. What has not told by then has no `answered_at`.

        Raises:
            ServiceError: there is no such processor, or this is no key of it.
        """
        path = f"{_processor(processor_id)}/partial-matches"
        return wait_for_answers(
            lambda: self._connection.read(PartialMatchesOfKey, "GET", path, query={"key": key}),
            timeout_seconds,
        )

    def why_no_match(  # noqa: PLR0913 - keyword options with defaults
        self,
        processor_id: str,
        key: str = "",
        *,
        since: str | int,
        until: str | int,
        version: int | None = None,
        attempts: int = 3,
        timeout_seconds: float = 60,
    ) -> ExplanationView:
        """Return why a processor found no match for a key in a span, from the archive of a worker.

        Args:
            processor_id: the processor.
            key: as lists of matches have it, or a JSON array of its values; empty for a processor
                without `key_by`.
            since: the beginning of the span: ISO 8601 or milliseconds.
            until: its end, exclusive.
            version: which version; by default the current one.
            attempts: how many attempts are told, those that came farthest first; at most 50.
            timeout_seconds: how long to wait for the answer.

        Raises:
            NotExplained: there was none within this time, the worker could not tell, or the
                question was cancelled. Ctrl-C cancels it.
            ServiceError: there is no such processor, this is no key of it, or no worker has the
                archive of its stream.
        """
        path = f"{_processor(processor_id)}/explanations"
        span = {"since": since, "until": until}
        body = span | {"key": key, "version": version, "attempts": attempts}
        asked = self._connection.read(ExplanationView, "POST", path, body=body)
        return wait_for_explanation(
            asked,
            lambda: self._connection.read(ExplanationView, "GET", f"{path}/{asked.number}"),
            lambda: self.cancel_explanation(processor_id, asked.number),
            timeout_seconds,
        )

    def cancel_explanation(self, processor_id: str, number: int) -> ExplanationView:
        """Cancel a question of `why_no_match`; one that has ended stays as it is.

        Raises:
            NotFound: the processor has none of this number.
        """
        path = f"{_processor(processor_id)}/explanations/{number}/cancel"
        return self._connection.read(ExplanationView, "POST", path)

    def funnel(self, processor_id: str) -> Funnel:
        """Return how far the partial matches of a processor get, and why they end."""
        return self._connection.read(Funnel, "GET", f"{_processor(processor_id)}/funnel")

    def running(self, stream: str, processor_id: str) -> RunningView:
        """Return the versions of a processor that the jobs of a stream run."""
        path = f"{_stream(stream)}/processors/{quote(processor_id, safe='')}/running"
        return self._connection.read(RunningView, "GET", path)

    def wait_until_running(  # noqa: PLR0913 - keyword options with defaults
        self,
        stream: str,
        processor_id: str,
        version: int,
        timeout_seconds: float = 60,
        *,
        pending_is_enough: bool = False,
        poll_seconds: float = 1,
    ) -> RunningView:
        """Return once every live job of the stream runs a version, at least one.

        Args:
            stream: the stream.
            processor_id: the processor.
            version: the version that was published.
            timeout_seconds: how long to wait.
            pending_is_enough: also return if a job has accepted the version and waits for its first
                event time, as with a scheduled version, or with any version while no event arrives.
            poll_seconds: how often to ask.

        Raises:
            NotRunning: the timeout has passed, or a job has stopped the version with an error.
        """
        return wait_until_running(
            lambda: self.running(stream, processor_id),
            version,
            frozenset({"active", "pending"} if pending_is_enough else {"active"}),
            Patience(timeout_seconds, poll_seconds),
        )

    def _one_stream(self, method: str, path: str, **request: Any) -> Stream:
        response = self._connection.send(method, path, **request)
        etag = response.headers.get("ETag", "").strip('"')
        return view_of(Stream, response).model_copy(update={"etag": etag})

    def _change(  # noqa: PLR0913 - a request has so many parts
        self,
        method: str,
        processor_id: str,
        action: str = "",
        *,
        if_match: str,
        comment: str,
        body: Any = None,
    ) -> ProcessorView:
        return self._connection.read(
            ProcessorView,
            method,
            f"{_processor(processor_id)}{action}",
            body=body,
            query={"comment": comment},
            if_match=if_match,
        )


def _stream(name: str) -> str:
    return f"/v1/streams/{quote(name, safe='')}"


def _processor(processor_id: str) -> str:
    return f"/v1/processors/{quote(processor_id, safe='')}"
