"""A request under a key: which one it is, found out before anything of it is looked at.

    request, token, body ──keyed_request──► KeyedRequest ─► api.idempotency.answers

Source: draft-ietf-httpapi-idempotency-key-header, sections 2.1 to 2.6.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import Header, Request

HEADER: Final = "Idempotency-Key"
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias=HEADER,
        min_length=1,
        max_length=255,
        description="A random text that names this change: sent again with it within a day, the "
        "change is not made again, and the answer is the first one.",
    ),
]

# What says under which condition a change is made is part of what is asked for.
_CONDITIONS: Final = ("If-Match", "If-None-Match")


@dataclass(frozen=True, slots=True)
class KeyedRequest:
    """A change under a key: whose it is, its key, and what tells it from others under that key."""

    token_id: str
    key_sha256: str
    fingerprint: str


def keyed_request(request: Request, token_id: str, body: bytes) -> KeyedRequest | None:
    """Return the change that a request names by a key; `None` if it has none."""
    key = request.headers.get(HEADER)
    if key is None:
        return None
    conditions = [request.headers.get(name, "") for name in _CONDITIONS]
    head = [request.method, request.url.path, request.url.query, *conditions]
    fingerprint = _sha256([*(part.encode() for part in head), body])
    return KeyedRequest(token_id, _sha256([key.encode()]), fingerprint)


def _sha256(parts: Iterable[bytes]) -> str:
    found = hashlib.sha256()
    for part in parts:
        found.update(len(part).to_bytes(8))
        found.update(part)
    return found.hexdigest()
