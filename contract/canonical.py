"""The one JSON text of a value, which is hashed, compared and served byte for byte."""

import hashlib
import json
from typing import Any


def canonical_json(value: Any) -> str:
    """Return JSON without spaces, keys in order, characters beyond ASCII not escaped."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def content_hash(value: Any) -> str:
    """Return the SHA-256 of a value's canonical JSON, in hexadecimal."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()
