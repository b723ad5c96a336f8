"""Python code in documents: pickled, signed, and loaded only after its signature is verified.

    function ──sign──► SignedCode ──document──► rule service ──► job ──verify_and_load──► function

Unpickling runs arbitrary code from the payload, so only data signed with a key of the reader is
unpickled. The service verifies and never loads. The signature covers the payload, the format, the
use (a condition is not accepted as a process function), the Python version and the name; in format
2 also the rule and the stream the code is for, so that nobody can move it to another. Code of
format 1 is for any; a key may refuse it. The source text is signed, too, where there is one: it is
for people to read, is never run, and nobody can put another text beside the code.

Source: Python documentation, module `pickle`, the warning at its top; cloudpickle README, "can only
be used to send objects between the exact same version of Python".
"""

import base64
import binascii
import hashlib
import hmac
import io
import pickle
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from types import ModuleType
from typing import Annotated, Any, Final, Literal, Self

import cloudpickle
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    WithJsonSchema,
    model_validator,
)

from cep.signing.keys import KEY_ID, SigningKey, SigningKeys
from cep.signing.source import MAXIMUM_SOURCE_CHARACTERS, source_of

MAXIMUM_PAYLOAD_BYTES: Final = 256 * 1024
PYTHON_VERSION: Final = f"{sys.version_info.major}.{sys.version_info.minor}"

_PURPOSE: Final = b"percept signed code"
_WITHOUT_PLACE: Final = 1
_WITH_PLACE: Final = 2

# Stored code refers to what it uses by module; these modules have been moved since.
_MOVED_MODULES: Final = {
    "cep.batch": "cep.matching.batch",
    "cep.keyed": "cep.keyed.matcher",
    "cep.shapes": "cep.keyed.shapes",
}


class CodeRefused(ValueError):
    """Code was refused; the message says why."""


class CodeUse(StrEnum):
    """What code is for; code signed for one use is refused for the other."""

    CONDITION = "condition"
    FUNCTION = "function"


def _payload(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("not base64") from None


Payload = Annotated[
    bytes,
    Field(max_length=MAXIMUM_PAYLOAD_BYTES),
    BeforeValidator(_payload),
    PlainSerializer(lambda value: base64.b64encode(value).decode(), return_type=str),
    WithJsonSchema(
        {
            "type": "string",
            "contentEncoding": "base64",
            "maxLength": (MAXIMUM_PAYLOAD_BYTES + 2) // 3 * 4,
        }
    ),
]


class CodePlace(BaseModel):
    """The rule that code is for."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    stream: str = Field(max_length=200, description="The name of its stream.", examples=["logins"])
    processor: str = Field(max_length=200, description="Its id.", examples=["failed-logins"])

    def __str__(self) -> str:
        return f"rule '{self.processor}' of stream '{self.stream}'"


class SignedCode(BaseModel):
    """Pickled code with its signature; safe to store and to send, because it is only data."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    format: Literal[1, 2] = Field(
        description="Version of this format; 2 has `place`.", examples=[2]
    )
    name: str = Field(
        max_length=200,
        description="What its author called it, for messages.",
        examples=["is_new_address"],
    )
    python_version: str = Field(
        pattern=r"^3\.[0-9]{1,2}$",
        description="The only Python version that can load it.",
        examples=["3.11"],
    )
    key_id: str = Field(
        pattern=rf"^{KEY_ID.pattern}$", description="The key it was signed with.", examples=["k1"]
    )
    signature: str = Field(
        pattern="^[0-9a-f]{64}$", repr=False, description="HMAC-SHA256, hexadecimal."
    )
    payload: Payload = Field(repr=False, description="What cloudpickle wrote, in base64.")
    place: CodePlace | None = Field(
        default=None, description="The rule it is for; left out in format 1: any."
    )
    source: str | None = Field(
        default=None,
        max_length=MAXIMUM_SOURCE_CHARACTERS,
        repr=False,
        description="Its source text as it was when it was signed, for people to read; never run.",
        examples=["lambda event, context: event['amount'] > 100"],
    )

    @model_validator(mode="after")
    def _has_its_place(self) -> Self:
        if (self.place is not None) != (self.format > _WITHOUT_PLACE):
            raise ValueError("code of format 2 has a place, code of format 1 has none")
        return self

    def __str__(self) -> str:
        return self.name

    def to_document(self) -> dict[str, Any]:
        """Return it as plain JSON data; `SignedCode.model_validate` reads it back."""
        return self.model_dump(mode="json", exclude_none=True)


def sign(
    code: Any,
    key: SigningKey,
    use: CodeUse,
    modules: Sequence[ModuleType] = (),
    *,
    place: CodePlace | None = None,
) -> SignedCode:
    """Return an object as signed code.

    Args:
        code: a function, or any object that cloudpickle takes.
        key: what to sign with.
        use: what it is for.
        modules: modules the code uses that the readers do not have; they are included in it.
            Otherwise a function from an importable module is pickled by name only.
        place: the rule it is for, which alone will accept it; `None` = any.

    Raises:
        CodeRefused: it cannot be pickled, is too large, or the key wants a place.
    """
    if place is None and key.needs_place:
        raise CodeRefused(
            f"the key '{key.id}' signs code for one rule only; say for which: place=CodePlace(…)"
        )
    try:
        with _travelling(modules):
            payload = cloudpickle.dumps(code)
    except (pickle.PicklingError, TypeError, AttributeError, RecursionError) as error:
        raise CodeRefused(f"{_name(code)} cannot be pickled: {error}") from error
    if len(payload) > MAXIMUM_PAYLOAD_BYTES:
        raise CodeRefused(
            f"{_name(code)} takes {len(payload):,} bytes, the limit is {MAXIMUM_PAYLOAD_BYTES:,}; "
            "it probably holds data, which it should look up instead"
        )
    unsigned = SignedCode(
        format=_WITHOUT_PLACE if place is None else _WITH_PLACE,
        name=_name(code),
        python_version=PYTHON_VERSION,
        key_id=key.id,
        signature="0" * 64,
        payload=payload,
        place=place,
        source=source_of(code),
    )
    return unsigned.model_copy(update={"signature": _signature(unsigned, key, use)})


def verify(
    code: SignedCode, keys: SigningKeys | None, use: CodeUse, place: CodePlace | None = None
) -> None:
    """Do nothing if code was signed for this use and rule with one of the keys.

    Nothing is unpickled.

    Args:
        code: what is to be used.
        keys: those of the reader.
        use: what it is to be used for.
        place: the rule it stands in; `None` if that is not known: code for one rule is refused.

    Raises:
        CodeRefused: there are no keys, the key is unknown, code or signature has been changed, or
            it was signed for another rule, or for any and the key does not allow that.
    """
    if keys is None:
        raise CodeRefused(f"no signing keys are set here, so Python code ({code.name}) is refused")
    key = keys.find(code.key_id)
    if key is None:
        raise CodeRefused(f"{code.name} is signed with the key '{code.key_id}', unknown here")
    if not hmac.compare_digest(_signature(code, key, use), code.signature):
        raise CodeRefused(
            f"{code.name} does not have the signature of key '{code.key_id}' as a {use.value}: "
            "it was changed, or signed with another key or for another use"
        )
    if code.place is None and key.needs_place:
        raise CodeRefused(
            f"{code.name} is signed for any rule, which the key '{key.id}' does not allow; publish "
            "it again"
        )
    if code.place is not None and code.place != place:
        here = "it is not known which rule this is" if place is None else f"this is {place}"
        raise CodeRefused(f"{code.name} is signed for {code.place}, and {here}; sign it for it")


def verify_and_load(
    code: SignedCode, keys: SigningKeys | None, use: CodeUse, place: CodePlace | None = None
) -> Any:
    """Return the object in signed code, once its signature has been verified; see `verify`.

    Raises:
        CodeRefused: `verify` refuses it, it is of another Python version, or does not load.
    """
    verify(code, keys, use, place)
    if code.python_version != PYTHON_VERSION:
        raise CodeRefused(
            f"{code.name} was pickled by Python {code.python_version} and this is Python "
            f"{PYTHON_VERSION}; pickled code runs on the same version only. Publish it from there"
        )
    try:
        return _Unpickler(io.BytesIO(code.payload)).load()
    except Exception as error:
        missing = isinstance(error, ModuleNotFoundError)
        remedy = "; install it here, or sign the code with `modules`" if missing else ""
        raise CodeRefused(
            f"{code.name} does not load: {type(error).__name__}: {error}{remedy}"
        ) from error


class _Unpickler(pickle.Unpickler):
    def find_class(self, module_name: str, global_name: str) -> Any:
        return super().find_class(_MOVED_MODULES.get(module_name, module_name), global_name)


def _signature(code: SignedCode, key: SigningKey, use: CodeUse) -> str:
    parts = (
        _PURPOSE,
        str(code.format).encode(),
        use.value.encode(),
        code.key_id.encode(),
        code.python_version.encode(),
        code.name.encode(),
        code.payload,
        *(
            ()
            if code.place is None
            else (code.place.stream.encode(), code.place.processor.encode())
        ),
        *(() if code.source is None else (code.source.encode(),)),
    )
    # Each part is prefixed with its length, so that no two lists of parts have the same bytes.
    message = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
    return hmac.new(key.secret, message, hashlib.sha256).hexdigest()


def _name(code: Any) -> str:
    name = getattr(code, "__qualname__", None) or type(code).__qualname__
    return str(name)[:200]


@contextmanager
def _travelling(modules: Sequence[ModuleType]) -> Iterator[None]:
    """Make cloudpickle include the content of these modules, not only their names."""
    known = cloudpickle.list_registry_pickle_by_value()
    added = [module for module in modules if module.__name__ not in known]
    for module in added:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        for module in added:
            cloudpickle.unregister_pickle_by_value(module)
