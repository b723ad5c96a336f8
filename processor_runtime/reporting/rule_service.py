"""Requests of a job to the rule service: its token, its bodies as models, its refusals as errors.

JobReporter · MatchPoster ──► RuleService ──► HTTP
"""

import ssl
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Final, Self, TypeVar

import httpx2
from pydantic import BaseModel, TypeAdapter, ValidationError

from contract.connections import connection_trouble, trusting
from contract.service_access import refusal_text, retry_after_seconds, token_reader
from processor_runtime.job_file.service import ServiceConnection

Answer = TypeVar("Answer")

_JSON: Final = "application/json"
_LONGEST_ASKED_SECONDS: Final = 300.0


class ServiceRefused(Exception):
    """The rule service refused a request or did not answer.

    `status` is the HTTP status, 0 if there was no answer or it was not from the service;
    `retry_after_seconds` is the time in its `Retry-After`.
    """

    def __init__(self, message: str, status: int = 0, retry_after_seconds: float = 0.0) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after_seconds = retry_after_seconds


class RuleService:
    """Sends requests to the rule service; safe for any number of threads.

    Args:
        url: where it is, such as https://rules.example.org.
        token: returns the token; called for every request.
        timeout_seconds: how long connecting, and each part of an answer, may take.
        verify: certificates to trust; `True` = the usual ones.
        transport: sends a request; HTTP if left out.
    """

    def __init__(
        self,
        url: str,
        token: Callable[[], str],
        *,
        timeout_seconds: float = 10.0,
        verify: ssl.SSLContext | bool = True,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        self._token = token
        # Redirects are not followed, so that the token is not sent to another host.
        self._http = httpx2.Client(
            base_url=url.rstrip("/"),
            timeout=timeout_seconds,
            verify=verify,
            transport=transport,
            follow_redirects=False,
        )

    @classmethod
    def of(cls, connection: ServiceConnection, environment: Mapping[str, str]) -> Self:
        """Return the service that a job file names.

        Raises:
            ValueError: the variable with the token is not set.
            OSError: the file with the certificates cannot be read.
        """
        return cls(
            str(connection.url),
            token_reader(connection, environment),
            timeout_seconds=connection.timeout_seconds,
            verify=trusting(connection.ca_file),
        )

    def ask(
        self, method: str, path: str, answer: type[Answer], body: BaseModel | bytes | None = None
    ) -> Answer:
        """Return the answer to a request.

        `path`: from `/v1` on. `answer`: the model of a successful answer (2xx). `body`: a model, or
        JSON text.

        Raises:
            ServiceRefused: there was no answer, or another one.
            OSError: the file with the token cannot be read.
        """
        headers = {"Authorization": f"Bearer {self._token()}"}
        content = body.model_dump_json().encode() if isinstance(body, BaseModel) else body
        if content is not None:
            headers["Content-Type"] = _JSON
        try:
            response = self._http.request(method, path, content=content, headers=headers)
        except httpx2.HTTPError as error:
            url = str(self._http.base_url)
            said = connection_trouble(error, url, "ca_file of service")
            raise ServiceRefused(f"{method} {path}: {said}") from error
        if not response.is_success:
            raise _refusal(response, f"{method} {path}")
        try:
            return TypeAdapter(answer).validate_json(response.content)
        except ValidationError as error:
            raise ServiceRefused(
                f"the answer to {method} {path} is not one of a rule service: is the URL right?"
            ) from error

    def close(self) -> None:
        """Close the connections."""
        self._http.close()


def _refusal(response: httpx2.Response, asked: str) -> ServiceRefused:
    is_unauthorized = response.status_code in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}
    remedy = "the token needs the role job" if is_unauthorized else ""
    said = refusal_text(response, f"{asked} was answered", remedy)
    asked_seconds = min(retry_after_seconds(response), _LONGEST_ASKED_SECONDS)
    return ServiceRefused(said, response.status_code, asked_seconds)
