"""One HTTP connection to the rule service: token, retries, errors, pages."""

import ipaddress
import secrets
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, TypeVar

import httpx2
from pydantic import BaseModel, ValidationError

from api.client.errors import Unreachable, answer_not_understood, error_of
from api.client.retries import KEY_HEADER, READS, RetryingTransport
from contract.connections import connection_trouble

Item = TypeVar("Item")
View = TypeVar("View", bound=BaseModel)
Query = Mapping[str, str | int | bool | None]

_PAGE: Final = 500


class Connection:
    """Sends requests with a token and returns answers; raises errors of the service.

    Args:
        url: where the service is, such as `https://rules.example.com`.
        token: an access token.
        timeout_seconds: how long to wait for an answer.
        allow_plain_http: send the token unencrypted to other machines, too.
        transport: sends a request; HTTP if left out.

    Raises:
        ValueError: the URL is invalid, or the token would cross a network unencrypted.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout_seconds: float,
        allow_plain_http: bool,
        transport: httpx2.BaseTransport | None,
    ) -> None:
        self.url = _checked_url(url, allow_plain_http=allow_plain_http)
        self._http = httpx2.Client(
            base_url=self.url,
            headers={"Authorization": f"Bearer {token}"},
            timeout=timeout_seconds,
            transport=RetryingTransport(transport or _transport(self.url)),
        )

    def send(  # noqa: PLR0913 - a request has so many parts
        self,
        method: str,
        path: str,
        *,
        query: Query | None = None,
        body: Any = None,
        content: bytes | None = None,
        if_match: str | None = None,
        is_upload: bool = False,
        answer_seconds: float = 0,
    ) -> httpx2.Response:
        """Return a successful answer (2xx); a change is made once, even if it is sent again.

        Args:
            method: of HTTP.
            path: from `/v1` on.
            query: parameters; those that are `None` or empty are left out.
            body: plain JSON data.
            content: CSV, instead of a body.
            if_match: an ETag without quotes, or `*`.
            is_upload: of the values of a list, which takes no idempotency key.
            answer_seconds: how long to wait for the answer, if that is longer than for others.

        Raises:
            ServiceError: no answer, or another one.
        """
        given = _given(query or {})
        headers = {} if content is None else {"Content-Type": "text/csv"}
        sent = {"json": body} if content is None else {"content": content}
        if if_match is not None:
            headers["If-Match"] = "*" if if_match == "*" else f'"{if_match}"'
        if method not in READS and not is_upload:
            headers[KEY_HEADER] = secrets.token_hex(16)
        usual = self._http.timeout.read
        timeout = self._silent_for(usual if usual is None else max(usual, answer_seconds))
        try:
            response = self._http.request(
                method, path, params=given, headers=headers, timeout=timeout, **sent
            )
        except httpx2.HTTPError as error:
            said = connection_trouble(error, self.url, "the environment variable SSL_CERT_FILE")
            raise Unreachable(said) from error
        if not response.is_success:
            raise error_of(response)
        return response

    @contextmanager
    def streaming(
        self, path: str, *, query: Query, silence_seconds: float
    ) -> Iterator[httpx2.Response]:
        """Yield a successful answer that is read as it comes.

        Reading it raises `httpx2.HTTPError` where the connection is lost.

        Args:
            path: from `/v1` on.
            query: parameters; those that are `None` or empty are left out.
            silence_seconds: how long nothing may come before it counts as lost.

        Raises:
            ServiceError: no answer, or another one.
        """
        timeout = self._silent_for(silence_seconds)
        with self._http.stream("GET", path, params=_given(query), timeout=timeout) as response:
            if not response.is_success:
                response.read()
                raise error_of(response)
            yield response

    def _silent_for(self, seconds: float | None) -> httpx2.Timeout:
        own = self._http.timeout
        return httpx2.Timeout((own.connect, seconds, own.write, own.pool))

    def read(self, kind: type[View], method: str, path: str, **request: Any) -> View:
        """Return an answer as a view; arguments as for `send`.

        Raises:
            ServiceError: no answer, or another one.
        """
        return view_of(kind, self.send(method, path, **request))

    def pages(self, kind: type[View], path: str, query: Query | None = None) -> Iterator[View]:
        """Yield every item of a list, asking for page after page.

        Raises:
            ServiceError: no answer, or another one.
        """
        return self.items(path, {**(query or {}), "limit": _PAGE}, kind.model_validate)

    def items(self, path: str, query: Query, read: Callable[[Any], Item]) -> Iterator[Item]:
        """Yield every item of a list as `read` makes it, which may raise ValueError at another.

        Raises:
            ServiceError: no answer, or another one.
        """
        cursor: str | None = None
        while True:
            response = self.send("GET", path, query={**query, "cursor": cursor})
            try:
                page: Any = response.json()
                items, cursor = [read(item) for item in page["items"]], page["next_cursor"]
            except (ValueError, KeyError, TypeError) as error:
                raise answer_not_understood(response, error) from error
            yield from items
            if cursor is None:
                return

    def close(self) -> None:
        """Close the connection."""
        self._http.close()


def _given(query: Query) -> dict[str, str | int | bool]:
    return {name: value for name, value in query.items() if value is not None and value != ""}


def view_of(kind: type[View], response: httpx2.Response) -> View:
    """Return an answer as a view.

    Raises:
        ServiceError: it is not such a view.
    """
    try:
        return kind.model_validate_json(response.content)
    except ValidationError as error:
        raise answer_not_understood(response, error) from error


def _transport(url: str) -> httpx2.HTTPTransport:
    """Return what sends requests to a service.

    Without TLS it sees no certificates, and trusts none: to read those of all authorities takes
    longer than a request.
    """
    is_plain = url.startswith("http:")
    return httpx2.HTTPTransport(
        verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if is_plain else True
    )


def _checked_url(url: str, *, allow_plain_http: bool) -> str:
    parsed = httpx2.URL(url)
    if parsed.scheme not in {"http", "https"} or not parsed.host:
        raise ValueError(
            f"{url!r} is not the address of a service; write https://rules.example.com"
        )
    if parsed.scheme == "http" and not allow_plain_http and not _is_this_machine(parsed.host):
        raise ValueError(
            f"the token would cross the network to {parsed.host} unencrypted; use https, or allow "
            "plain HTTP if the network is your own"
        )
    return url.rstrip("/")


def _is_this_machine(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
