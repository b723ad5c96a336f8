"""The rule service as a source: its snapshot endpoint, with long polling.

    GET /v1/streams/{stream}/snapshot?wait=30s   If-None-Match: the last ETag   ──► 200 | 304
    GET /v1/streams/{stream}/lists/contents/{digest}   once for each that is new

A change arrives as soon as it is published; the epochs are the service's, and docs/snapshot.md has
the format.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, Self, TypeVar
from urllib.parse import quote

import httpx2
from pydantic import (
    BaseModel,
    Field,
    HttpUrl,
    ValidationError,
    field_validator,
    model_validator,
)

from cep.list_content import list_digest
from contract.connections import connection_trouble, trusting
from contract.problem_text import problem_text
from contract.service_access import (
    check_access,
    refusal_text,
    retry_after_seconds,
    token_reader,
)
from contract.snapshot import (
    SnapshotList,
    SnapshotProcessor,
    SnapshotRollout,
    SnapshotSnooze,
    StreamDefinition,
)
from discoverers.discoverer import DiscovererSurroundings, PatternProcessorDiscovererFactory
from discoverers.found import FoundProcessors, FoundVersion, ProcessorProblem, of_rollout
from discoverers.health import HealthStatus
from discoverers.list_contents import KeptContents
from discoverers.periodic import PeriodicPatternProcessorDiscoverer
from discoverers.stream_options import LONGEST_DELAY_MS, check_columns

# Prevents a tight loop if a proxy answers at once, regardless of the wait.
_INTERVAL_SECONDS = 0.2
LARGEST_BYTES: Final = 256 * 1024 * 1024
"""A snapshot of ten thousand rules has a tenth of it; more comes from something else."""
_LONGEST_ASKED_SECONDS: Final = 300.0
_MOST: Final = 2**53
_Part = TypeVar("_Part", SnapshotProcessor, SnapshotRollout)
NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})
_BYTES_AT_ONCE: Final = 65_536
_OF_TRANSFER: Final = frozenset({"content-encoding", "content-length", "transfer-encoding"})


class ServiceUnreachable(Exception):
    """The rule service did not answer, or its certificate is not accepted; says why."""


class SnapshotRefused(Exception):
    """The rule service answered, but not with a snapshot.

    `retry_after_seconds` is the time in its `Retry-After`; `needs_mending` says that the same
    request will be refused again, since its token is wrong or may not read the stream.
    """

    def __init__(
        self, message: str, retry_after_seconds: float = 0.0, *, needs_mending: bool = False
    ) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds
        self.needs_mending = needs_mending


class HttpDiscovererFactory(PatternProcessorDiscovererFactory):
    """Options of `type: http`."""

    url: HttpUrl = Field(
        description="Where the rule service is, such as https://rules.example.org."
    )
    token_env: str | None = Field(default=None, description="Environment variable with the token.")
    token_file: Path | None = Field(
        default=None, description="File with the token; read for every request, so it may change."
    )
    wait_seconds: float = Field(default=30, ge=0, le=9999, description="The longest long poll.")
    timeout_seconds: float = Field(
        default=30, gt=0, description="How long an answer may take in addition to the wait."
    )
    ca_file: Path | None = Field(
        default=None, description="Certificates to trust instead of the usual ones."
    )

    allow_plain_http: bool = Field(
        default=False, description="Send the token unencrypted to another machine."
    )

    @model_validator(mode="after")
    def _is_usable(self) -> Self:
        check_access(self)
        return self

    def create_discoverer(self, surroundings: DiscovererSurroundings) -> "HttpDiscoverer":
        """Return a discoverer of the job's stream.

        Raises:
            ValueError: the environment variable is not set.
        """
        return HttpDiscoverer(self, surroundings, token_reader(self, surroundings.environment))


class HttpDiscoverer(PeriodicPatternProcessorDiscoverer):
    """Discovers the processors that the rule service has published on a stream."""

    failures = (OSError, httpx2.HTTPError, ServiceUnreachable, SnapshotRefused)

    def __init__(
        self,
        options: HttpDiscovererFactory,
        surroundings: DiscovererSurroundings,
        token: Callable[[], str],
    ) -> None:
        super().__init__(
            interval_seconds=_INTERVAL_SECONDS,
            initial=surroundings.initial,
            clock=surroundings.clock,
        )
        name = quote(surroundings.stream, safe="")
        self._stream = surroundings.stream
        self._of_stream = f"{str(options.url).rstrip('/')}/v1/streams/{name}"
        self._url = f"{self._of_stream}/snapshot"
        self._wait_seconds = options.wait_seconds
        self._timeout_seconds = options.timeout_seconds
        self._ca_file = options.ca_file
        self._token = token
        self._has_one_token = options.token_file is None
        self._etag: str | None = None
        self._contents = KeptContents()
        # Blocking reads cannot be interrupted from another thread; a task can be cancelled.
        self._runner = asyncio.Runner()
        self._client: httpx2.AsyncClient | None = None
        self._request: tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]] | None = None

    def get_processors(self) -> FoundProcessors | None:
        """Return the published snapshot as soon as it differs from the last one.

        Raises:
            SnapshotRefused: the answer is not a snapshot, or takes too long.
            ServiceUnreachable: there is no answer.
            OSError: the file with certificates or the token cannot be read.
        """
        try:
            return self._found()
        except asyncio.CancelledError:
            return None

    def _found(self) -> FoundProcessors | None:
        etag = self._etag if self.health.status is HealthStatus.OK else None
        waits = {} if etag is None else {"If-None-Match": etag}
        wait_seconds = 0.0 if etag is None else self._wait_seconds
        answer = self._runner.run(self._get(self._url, waits, wait_seconds))
        if answer is None or answer.status_code == HTTPStatus.NOT_MODIFIED:
            return None
        if answer.status_code != HTTPStatus.OK:
            raise self._refusal(answer)
        found = read_answer(answer.content, self._url)
        if found.stream.name != self._stream:
            raise SnapshotRefused(
                f"{self._url} answered with the stream '{found.stream.name}', not "
                f"'{self._stream}': is the URL right?"
            )
        self._contents.take(self._contents_of(found))
        self._etag = answer.headers.get("ETag")
        return found

    def list_content(self, digest: str) -> bytes:
        """Return the content of a list that one of the last snapshots names.

        Raises:
            LookupError: none of them does.
        """
        content = self._contents.content(digest)
        return super().list_content(digest) if content is None else content

    def _contents_of(self, found: FoundProcessors) -> dict[str, bytes]:
        """Return the contents of lists by digest; those that are not there yet are asked for."""
        known = self._contents.newest
        digests = {version.digest for each in found.lists for version in each.versions}
        contents: dict[str, bytes] = {}
        for digest in sorted(digests):
            content = known.get(digest)
            contents[digest] = self._content(digest) if content is None else content
        return contents

    def _content(self, digest: str) -> bytes:
        url = f"{self._of_stream}/lists/contents/{digest}"
        answer = self._runner.run(self._get(url))
        if answer is None:
            raise asyncio.CancelledError
        if answer.status_code != HTTPStatus.OK:
            raise self._refusal(answer)
        if list_digest(answer.content) != digest:
            raise SnapshotRefused(f"{url} answered with something else than that content")
        return answer.content

    def close(self) -> None:
        """Make discovering return at once, also during a long poll."""
        super().close()
        if self._request is not None:
            loop, task = self._request
            with contextlib.suppress(RuntimeError):  # the loop has just been closed: nothing waits
                loop.call_soon_threadsafe(task.cancel)

    def release(self) -> None:
        """Close the connections."""
        with self._runner:
            if self._client is not None:
                self._runner.run(self._client.aclose())

    def _refusal(self, answer: httpx2.Response) -> SnapshotRefused:
        said = refusal_text(answer, f"{answer.url} answered")
        is_of_token = answer.status_code in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}
        return SnapshotRefused(
            said,
            min(retry_after_seconds(answer), _LONGEST_ASKED_SECONDS),
            # A file may have another token by the next request, a variable not.
            needs_mending=is_of_token and self._has_one_token,
        )

    async def _get(
        self, url: str, headers: Mapping[str, str] = NO_HEADERS, wait_seconds: float = 0.0
    ) -> httpx2.Response | None:
        task = asyncio.current_task()
        if task is not None:
            self._request = (asyncio.get_running_loop(), task)
        try:
            if self.is_closed:
                return None
            sent = {"Authorization": f"Bearer {self._token()}", **headers}
            # The limit applies to the whole answer; that of httpx2 would apply to each part of it.
            async with asyncio.timeout(wait_seconds + self._timeout_seconds):
                return await self._answer(url, sent, wait_seconds)
        except TimeoutError:
            raise SnapshotRefused(
                f"{url} gave no answer within {self._timeout_seconds:g} s"
            ) from None
        except httpx2.TransportError as error:
            raise ServiceUnreachable(connection_trouble(error, url, "ca_file")) from error
        finally:
            self._request = None

    async def _answer(
        self, url: str, headers: Mapping[str, str], wait_seconds: float
    ) -> httpx2.Response:
        """Return an answer whose body has been read, as far as it is not too large."""
        params = {"wait": f"{wait_seconds:.3f}s"} if url == self._url else {}
        async with self._connected().stream("GET", url, headers=headers, params=params) as answer:
            body = bytearray()
            async for part in answer.aiter_bytes(_BYTES_AT_ONCE):
                body += part
                if len(body) > LARGEST_BYTES:
                    raise SnapshotRefused(
                        f"{url} answered with more than {LARGEST_BYTES:,} bytes, which is no "
                        "snapshot"
                    )
        return httpx2.Response(
            answer.status_code,
            headers=[
                (name, value) for name, value in answer.headers.items() if name not in _OF_TRANSFER
            ],
            content=bytes(body),
            request=answer.request,
        )

    def _connected(self) -> httpx2.AsyncClient:
        if self._client is None:
            self._client = httpx2.AsyncClient(
                verify=trusting(self._ca_file), follow_redirects=False, timeout=None
            )
        return self._client


class _Answer(BaseModel):
    """A snapshot whose processors are not parsed yet, so that one cannot affect the others."""

    format: Literal[1]
    epoch: int = Field(ge=0, lt=_MOST)
    stream: StreamDefinition
    processors: list[Any]
    rollouts: list[Any] = []
    lists: list[SnapshotList] = []
    snoozes: list[SnapshotSnooze] = []

    @field_validator("stream")
    @classmethod
    def _can_be_read(cls, stream: StreamDefinition) -> StreamDefinition:
        check_columns(stream.ddl, stream.event_time_column, stream.order_by)
        if not 0 <= stream.allowed_delay_ms <= LONGEST_DELAY_MS:
            raise ValueError(f"allowed_delay_ms: {stream.allowed_delay_ms} is no length of time")
        return stream


def read_answer(body: bytes, origin: str) -> FoundProcessors:
    """Return the content of a snapshot's text; each malformed processor is one problem.

    Raises:
        SnapshotRefused: the text as a whole is not a snapshot.
    """
    try:
        answer = _Answer.model_validate_json(body)
    except ValidationError as error:
        raise SnapshotRefused(f"not a snapshot: {problem_text(error, _Answer)}") from None
    processors, problems = _each_read(answer.processors, SnapshotProcessor, f"{origin} processors")
    rollouts, more = _each_read(answer.rollouts, SnapshotRollout, f"{origin} rollouts")
    return FoundProcessors(
        stream=answer.stream,
        versions=tuple(version for each in processors for version in _versions(each, origin)),
        problems=(*problems, *map(of_rollout, more)),
        epoch=answer.epoch,
        rollouts=tuple(rollouts),
        lists=tuple(sorted(answer.lists, key=lambda each: each.name)),
        snoozes=tuple(answer.snoozes),
    )


def _each_read(
    entries: Iterable[Any], model: type[_Part], origin: str
) -> tuple[list[_Part], list[ProcessorProblem]]:
    """Return the entries that can be read, and what is wrong with the others."""
    read: list[_Part] = []
    problems: list[ProcessorProblem] = []
    for index, entry in enumerate(entries):
        try:
            read.append(model.model_validate(entry))
        except ValidationError as error:
            name = entry.get("id") if isinstance(entry, dict) else None
            name = name if isinstance(name, str) else None
            text = problem_text(error, model)
            problems.append(ProcessorProblem(f"{origin}[{index}]", text, name))
    return read, problems


def _versions(processor: SnapshotProcessor, origin: str) -> list[FoundVersion]:
    return [
        FoundVersion(
            processor_id=processor.id,
            definition=version.definition,
            origin=origin,
            version=version.version,
            paused=processor.paused,
            effective_from_ms=version.effective_from_ms,
            effective_until_ms=version.effective_until_ms,
        )
        for version in processor.versions
    ]
