"""How a job accesses the rule service: which token it sends, and what a refusal says.

    options ──check_access──► fine, or an error    options, environment ──token_reader──► token
    answer ──refusal_text, retry_after_seconds──► why not, and when again

Shared by the discoverer that reads rules from the service and by the job that reports to it.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

import httpx2
from pydantic import HttpUrl

from cep.file_trouble import file_trouble
from contract.plain_http import PLAIN_HTTP, is_plain_http_elsewhere

_DETAIL_LENGTH = 300


class ServiceAccess(Protocol):
    """The options with the address of the service and the token to send."""

    @property
    def url(self) -> HttpUrl:
        """Where the service is."""

    @property
    def token_env(self) -> str | None:
        """The environment variable that holds the token."""

    @property
    def token_file(self) -> Path | None:
        """Or the file that holds it."""

    @property
    def allow_plain_http(self) -> bool:
        """Whether the token may be sent unencrypted to another machine."""


def check_access(options: ServiceAccess) -> None:
    """Check that there is one token, and that it is not sent unencrypted.

    Raises:
        ValueError: the options are wrong; the message says what to write instead.
    """
    if (options.token_env is None) == (options.token_file is None):
        raise ValueError("give either token_env or token_file")
    if not options.allow_plain_http and is_plain_http_elsewhere(options.url):
        raise ValueError(PLAIN_HTTP)


def token_reader(options: ServiceAccess, environment: Mapping[str, str]) -> Callable[[], str]:
    """Return a function that returns the token, to be called for every request.

    Raises:
        ValueError: the environment variable is not set. The file is read when called, which
            raises OSError; it says which file.
    """
    if options.token_file is not None:
        path = options.token_file
        return lambda: _token(path)
    token = environment.get(options.token_env or "", "").strip()
    if not token:
        raise ValueError(f"token_env: the environment variable {options.token_env} is not set")
    return lambda: token


def _token(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise OSError(f"token_file: {path} cannot be read: {file_trouble(error)}") from None


def refusal_text(answer: httpx2.Response, asked: str, remedy: str = "") -> str:
    """Return the reason for a refusal, in one sentence.

    Args:
        answer: the answer, with an error status.
        asked: what was asked, and the verb: `GET https://… was answered`.
        remedy: what to do about it, put in front of the details.
    """
    message = f"{asked} {answer.status_code} {answer.reason_phrase}"
    if answer.is_redirect:
        message += "; redirects are not followed, so that the token goes nowhere else"
    if remedy:
        message += f"; {remedy}"
    try:
        detail = answer.json()["detail"]  # RFC 9457
    except (ValueError, LookupError, TypeError):
        detail = ""
    return (
        f"{message}: {detail[:_DETAIL_LENGTH]}" if isinstance(detail, str) and detail else message
    )


def retry_after_seconds(answer: httpx2.Response) -> float:
    """Return the seconds in `Retry-After`; 0 if there is none, or a date."""
    given = answer.headers.get("Retry-After", "")
    return float(given) if given.isdecimal() else 0.0
