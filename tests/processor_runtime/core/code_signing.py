"""Code of rules, signed with a key that a job of these tests has."""

from typing import Any, Final

from cep.signing.code import CodeUse, sign
from cep.signing.keys import SigningKey, SigningKeys
from processor_runtime.rules.loading import RuleDefaults

KEY: Final = SigningKey("k1", b"k" * 32)
KEYS: Final = SigningKeys((KEY,))
WITH_KEYS: Final = RuleDefaults(signing_keys=KEYS)


def signed_function(code: Any, key: SigningKey = KEY) -> dict[str, Any]:
    return sign(code, key, CodeUse.FUNCTION).to_document()
