"""The HMAC keys that Python code is signed with: created, written as text, read from a setting.

`code` uses them; the author, the service and the jobs have the same keys.
"""

import base64
import binascii
import re
import secrets
from dataclasses import dataclass, field
from typing import Final, Self

KEY_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

_MINIMUM_SECRET_BYTES: Final = 32
_BOUND: Final = "bound"
_URL_SAFE: Final = str.maketrans("-_", "+/")


@dataclass(frozen=True, slots=True)
class SigningKey:
    """One HMAC key; its id is public and part of what it signs, its secret is never shown.

    With `needs_place` it signs and accepts code only for a rule that is named in the signature.
    """

    id: str
    secret: bytes = field(repr=False)
    needs_place: bool = False

    @classmethod
    def new(cls, key_id: str) -> Self:
        """Return a key of 256 random bits for code with a place.

        Raises:
            ValueError: the id is invalid.
        """
        _check_key_id(key_id)
        return cls(key_id, secrets.token_bytes(_MINIMUM_SECRET_BYTES), needs_place=True)

    def to_text(self) -> str:
        """Return the key as it is written in a setting, including the secret.

        That is `id:secret`, or `id:secret:bound` if it needs a place.
        """
        text = f"{self.id}:{base64.urlsafe_b64encode(self.secret).decode()}"
        return f"{text}:{_BOUND}" if self.needs_place else text


@dataclass(frozen=True, slots=True)
class SigningKeys:
    """The keys a reader trusts, newest first; the newest signs, each of them verifies.

    To change keys: put the new one first, publish again, then remove the old one.
    """

    keys: tuple[SigningKey, ...]

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Return the keys in a setting: `id:secret`, newest first, with commas in between.

        A secret is base64 of at least 32 bytes. `id:secret:bound` is a key that needs a place.

        Raises:
            ValueError: the text does not have this form; the message contains no part of a secret.
        """
        keys = tuple(
            _key_of_text(part.strip(), number)
            for number, part in enumerate(text.split(","), start=1)
        )
        ids = [key.id for key in keys]
        if len(set(ids)) < len(ids):
            raise ValueError("two signing keys have the same id")
        return cls(keys)

    @property
    def newest(self) -> SigningKey:
        """The key that signs."""
        return self.keys[0]

    def find(self, key_id: str) -> SigningKey | None:
        """Return the key with this id."""
        return next((key for key in self.keys if key.id == key_id), None)


def _check_key_id(key_id: str) -> None:
    if not KEY_ID.fullmatch(key_id):
        raise ValueError("a key id is letters, digits, dot, hyphen and underscore, 64 at most")


def _key_of_text(text: str, number: int) -> SigningKey:
    # No part of the text is shown: if its parts are swapped, the id is a secret.
    key_id, colon, rest = text.partition(":")
    secret_text, other_colon, bound = rest.partition(":")
    if not colon or not KEY_ID.fullmatch(key_id):
        raise ValueError(f"signing key {number} is not of the form id:secret")
    if other_colon and bound != _BOUND:
        raise ValueError(f"signing key {number} is not of the form id:secret or id:secret:{_BOUND}")
    try:
        padded = secret_text + "=" * (-len(secret_text) % 4)
        secret = base64.b64decode(padded.translate(_URL_SAFE), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(f"the secret of signing key {number} is not base64") from None
    if len(secret) < _MINIMUM_SECRET_BYTES:
        raise ValueError(
            f"the secret of signing key {number} has {len(secret)} bytes; at least "
            f"{_MINIMUM_SECRET_BYTES} are needed: `percept signing-key`"
        )
    return SigningKey(key_id, secret, needs_place=bool(bound))
