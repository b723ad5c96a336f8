"""A document as people read and compare it: source text and a digest in place of pickled code."""

import base64
import binascii
import hashlib
from collections.abc import Mapping
from typing import Any, Final

_DIGEST_DIGITS: Final = 16
_SHOWN: Final = ("name", "python_version", "key_id")


def readable(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document whose signed code says what it is instead of holding it.

    The payload is told by its length and SHA-256. Of the source, characters that nobody sees, or
    that make a line read in another order than it has, are told by number: ⟨U+202E⟩. What is not
    of the shape of signed code stays as it is: this may be the draft of anybody.
    """
    parts: dict[str, Any] = _inner(document)
    if "function" in parts:
        parts["function"] = _code(parts["function"])
    return parts


def _inner(value: Any) -> Any:
    match value:
        case Mapping():
            return {
                key: _code(inner) if key == "python" else _inner(inner)
                for key, inner in value.items()
            }
        case list():
            return [_inner(item) for item in value]
        case _:
            return value


def _code(value: Any) -> Any:
    match value:
        case {"payload": str(payload), "signature": str()}:
            shown = {name: value[name] for name in _SHOWN if name in value}
            source = value.get("source")
            if isinstance(source, str):
                shown["source"] = "".join(map(_visible, source))
            return shown | {"code": _in_words(payload)}
        case _:
            return value


def _visible(character: str) -> str:
    if character.isprintable() or character in "\n\t":
        return character
    return f"⟨U+{ord(character):04X}⟩"


def _in_words(payload: str) -> str:
    try:
        content = base64.b64decode(payload, validate=True)
    except (binascii.Error, ValueError):
        return f"{len(payload):,} characters that are not base64"
    digest = hashlib.sha256(content).hexdigest()[:_DIGEST_DIGITS]
    return f"code, {len(content):,} bytes, digest {digest}"
