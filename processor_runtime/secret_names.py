"""Which options hold secrets, by their names: their values are in no message, log, plan or page.

options of a job file ──► secret_options ──► masked in messages (`kafka`, `spark.failure_text`)
                          SENSITIVE_NAME ──► masked by Spark in plans and logs (`spark.session`)
"""

import re
from collections.abc import Mapping
from typing import Final

SENSITIVE_NAME: Final = (
    r"(?i)password|passphrase|secret|token|jaas|credential|signature|authorization|cookie"
    r"|user[.]info|oauthbearer[.]config"
    # Keys, but neither `keytab` nor a topic of turkeys.
    r"|(?:(?<![a-z])|access|account|api|auth|encryption|master|private|shared|subscription)"
    r"key(?![a-z])"
)
"""In a name of an option that holds a secret. Java reads it, too, which Spark looks with."""

_SENSITIVE: Final = re.compile(SENSITIVE_NAME)
_USER_INFO: Final = "user.info"
_PLACES: Final = ("_env", "_file", ".file", ".location")
"""Names that end so say where a secret is, not what it is."""


def secret_options(options: Mapping[str, str]) -> frozenset[str]:
    """Return the values of options whose names say that they are secret; those that are empty not.

    Of a user with a password, `me:password`, the password alone is one, too.

    `options`: as they are written in a job file, or any part of it.
    """
    found = {value for name, value in options.items() if is_secret(name)}
    found |= {
        value.partition(":")[2] for name, value in options.items() if name.endswith(_USER_INFO)
    }
    return frozenset(filter(None, found))


def is_secret(name: str) -> bool:
    """Return whether an option of this name holds a secret."""
    return _SENSITIVE.search(name) is not None and not name.endswith(_PLACES)
