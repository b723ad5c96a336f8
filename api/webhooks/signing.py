"""Signs messages, so that receivers know who sent them, and when.

    secret, message id, time, body ──signed_headers──► webhook-id · -timestamp · -signature

Source: Standard Webhooks, "Signature scheme".
"""

import base64
import hashlib
import hmac
import secrets
from typing import Final

_PREFIX: Final = "whsec_"
_SECRET_BYTES: Final = 32


def new_secret() -> str:
    """Return a new secret, in the form that receivers are given."""
    return _PREFIX + base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()


def signed_headers(secret: str, message_id: str, time_seconds: int, body: bytes) -> dict[str, str]:
    """Return the headers that tell which message it is, and that it comes from here.

    Args:
        secret: of `new_secret`.
        message_id: the same in every attempt to deliver it.
        time_seconds: when it is sent, since 1970: receivers refuse what is old.
        body: as it is sent.
    """
    key = base64.b64decode(secret.removeprefix(_PREFIX))
    signed = f"{message_id}.{time_seconds}.".encode() + body
    digest = hmac.new(key, signed, hashlib.sha256).digest()
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(time_seconds),
        "webhook-signature": f"v1,{base64.b64encode(digest).decode()}",
    }
