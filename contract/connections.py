"""Which certificates a connection to the rule service trusts, and in plain words why one fails.

ca_file ──trusting──► SSL context · error of a connection ──connection_trouble──► text with a remedy

Jobs, discoverers and the client say the same about the same trouble. Whoever connects to PostgreSQL
waits for a machine that does not answer, and no longer.
"""

import ssl
from collections.abc import Container
from pathlib import Path
from typing import Final

from cep.file_trouble import file_trouble

_CA_FILE: Final = "name the certificate of its authority"
_REMEDIES: Final = {
    10: "it has expired; renew it at the service",
    9: "it is not valid yet; look at the clocks of both machines",
    18: f"it is self-signed; {_CA_FILE}",
    19: f"its authority is not known here; {_CA_FILE}",
    20: f"its authority is not known here; {_CA_FILE}",
    62: "it is for another name; use a name that is in it, or renew it with this one",
    64: "it is for another address; use a name that is in it, or renew it with this one",
}
"""What to do, by the number that OpenSSL gives to what is wrong with a certificate."""


def trusting(ca_file: Path | None) -> ssl.SSLContext | bool:
    """Return what an HTTP client is to verify certificates with; `True` = as it usually does.

    Raises:
        OSError: the file cannot be read, or holds no certificate; says which file.
    """
    if ca_file is None:
        return True
    try:
        return ssl.create_default_context(cafile=str(ca_file))
    except ssl.SSLError:
        raise OSError(f"ca_file: {ca_file} holds no certificate in PEM format") from None
    except OSError as error:
        raise OSError(f"ca_file: {ca_file} cannot be read: {file_trouble(error)}") from None


def postgresql_timeouts(
    connect_seconds: int, silence_seconds: int, given: Container[str]
) -> dict[str, int]:
    """Return how long to wait for a server that does not answer, as settings of libpq.

    Without them a connection to a machine that is gone lasts for minutes or hours.

    Args:
        connect_seconds: for a connection.
        silence_seconds: for a machine that was connected to.
        given: names of settings that the URL has.
    """
    wanted = {
        "connect_timeout": connect_seconds,
        "tcp_user_timeout": silence_seconds * 1_000,
        "keepalives_idle": silence_seconds // 2,
        "keepalives_interval": 1,
        "keepalives_count": silence_seconds // 2,
    }
    return {name: value for name, value in wanted.items() if name not in given}


def connection_trouble(error: BaseException, url: str, authority_option: str) -> str:
    """Return why an address did not answer, and what to do if its certificate is to blame.

    Args:
        error: what the HTTP client raised.
        url: what was asked; only scheme, host and port are told.
        authority_option: how to name certificates that are trusted.
    """
    origin = "/".join(url.split("/", 3)[:3])
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            what = _REMEDIES.get(cause.verify_code, cause.verify_message)
            if what.endswith(_CA_FILE):
                what = f"{what} ({authority_option})"
            return f"the certificate of {origin} is not accepted: {what}"
        if isinstance(cause, ssl.SSLError) and cause.reason == "WRONG_VERSION_NUMBER":
            return f"{origin} does not speak TLS: is it http, or another port?"
        cause = cause.__cause__ or cause.__context__
    return f"{origin} did not answer: {str(error) or type(error).__name__}"
