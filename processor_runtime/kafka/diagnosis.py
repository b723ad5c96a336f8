"""Why no connection to a broker comes about, where librdkafka does not tell: by a look of our own.

settings, address of a broker ──one TLS handshake──► expired? of another host? not TLS at all? …

librdkafka says the same of an expired certificate, of one of another host and of one by an unknown
authority, and nothing at all if only one side speaks TLS. Asked only after it has failed.
"""

import re
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_TIMEOUT_SECONDS: Final = 5.0
_REFUSAL_SECONDS: Final = 1.0
"""A client's certificate is refused only after the handshake, as TLS 1.3 has it."""
_NAMED: Final = re.compile(r"://([^\s/]+:\d+)/")
_USUAL_PORT: Final = 9092
_EXPIRED: Final = (9, 10)
_OTHER_HOST: Final = (62, 64)
_AUTHORITY: Final = (
    "Let kafka.ssl.ca.location be the PEM file with the authority that has signed the certificates "
    "of the brokers"
)
_VERIFY: Final[Mapping[int, str]] = {
    **dict.fromkeys(_EXPIRED, "Renew the certificate of the broker, or set the clock right"),
    **dict.fromkeys(
        _OTHER_HOST,
        "Write the host in kafka.bootstrap.servers as the certificate has it; brokers must be "
        "advertised by that name, too",
    ),
}
_CLIENT: Final = (
    "Look at kafka.ssl.certificate.location and kafka.ssl.key.location, and at the authority that "
    "the brokers trust"
)
_ENCRYPTED: Final = "Write kafka.security.protocol: SSL, or SASL_SSL with a user"
_PLAIN: Final = (
    "Write the port of a TLS listener in kafka.bootstrap.servers; or, in a network that can be "
    "trusted, kafka.security.protocol: PLAINTEXT or SASL_PLAINTEXT"
)
_LOGIN: Final = (
    "If the listener wants a user, write kafka.security.protocol: SASL_SSL and "
    "kafka.sasl.mechanism; if a certificate, kafka.ssl.certificate.location and "
    "kafka.ssl.key.location, signed by an authority that the brokers trust"
)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Why there is no connection.

    `is_final`: whether waiting does not help.
    """

    reason: str
    remedy: str
    is_final: bool = True

    def __str__(self) -> str:
        return f"{self.reason}. {self.remedy}"


def diagnosis_of(settings: Mapping[str, str], said: str) -> Diagnosis | None:
    """Return why brokers cannot be talked to; `None` if this cannot be made out, as in an outage.

    `said`: its last error, which may name a broker; otherwise the first server is asked.
    """
    named = _NAMED.search(said)
    first = settings.get("bootstrap.servers", "").partition(",")[0].rpartition("://")[2].strip()
    address = named[1] if named else first
    host, _, port = address.rpartition(":")
    if not port.isdecimal():
        host, port = address, str(_USUAL_PORT)
    try:
        connection = socket.create_connection((host.strip("[]"), int(port)), _TIMEOUT_SECONDS)
    except OSError:
        return None
    with connection:
        if "ssl" in settings.get("security.protocol", "").lower():
            return _of_tls(connection, host.strip("[]"), address, settings)
        return _of_plain(connection, address)


def _of_plain(connection: socket.socket, address: str) -> Diagnosis | None:
    """Return whether a client without TLS has come to a port with TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        context.wrap_socket(connection).close()
    except ssl.SSLError as error:
        if "ALERT" not in str(error.reason):
            return None
    except OSError:
        return None
    return Diagnosis(f"{address} speaks TLS, and the job does not", _ENCRYPTED)


def _of_tls(
    connection: socket.socket, host: str, address: str, settings: Mapping[str, str]
) -> Diagnosis | None:
    try:
        context = _context(settings)
    except (OSError, ValueError):  # librdkafka has read them
        return None
    is_sasl = "sasl" in settings["security.protocol"].lower()
    try:
        wrapped = context.wrap_socket(connection, server_hostname=host)
    except ssl.SSLCertVerificationError as error:
        message = (
            f"the certificate of {address} cannot be trusted: {error.verify_message.rstrip('.')}"
        )
        return Diagnosis(message, _VERIFY.get(error.verify_code, _AUTHORITY))
    except ssl.SSLError as error:
        return _of_handshake(error, address)
    except OSError:
        return _not_tls(address)
    with wrapped:
        wrapped.settimeout(_REFUSAL_SECONDS)
        try:
            wrapped.recv(1)
        except ssl.SSLError as error:
            return _of_handshake(error, address)
        except OSError:  # nothing is said to whoever asks nothing
            pass
    message = f"{address} speaks TLS, and does not go on after it"
    return None if is_sasl else Diagnosis(message, _LOGIN, is_final=False)


def _of_handshake(error: ssl.SSLError, address: str) -> Diagnosis:
    reason = str(error.reason or "").lower()
    if "alert" in reason:
        alert = reason.rpartition("alert_")[2].replace("_", " ")
        if "certificate" in alert or "ca" in alert.split():
            refusal = f"{address} does not take the certificate of this client ({alert})"
            return Diagnosis(refusal, _CLIENT)
        return Diagnosis(f"{address} refuses TLS ({alert})", "Look at the logs of the broker")
    if "wrong_version" in reason or "record_layer" in reason:
        return Diagnosis(f"{address} does not speak TLS", _PLAIN)
    return _not_tls(address)


def _not_tls(address: str) -> Diagnosis:
    """Return what is probably so: a broker that stops closes connections, too."""
    return Diagnosis(f"{address} does not answer in TLS", _PLAIN, is_final=False)


def _context(settings: Mapping[str, str]) -> ssl.SSLContext:
    """Return TLS as librdkafka would speak it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if settings.get("enable.ssl.certificate.verification", "true").lower() == "false":
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if settings.get("ssl.endpoint.identification.algorithm", "https").lower() == "none":
        context.check_hostname = False
    place, text = settings.get("ssl.ca.location", ""), settings.get("ssl.ca.pem")
    if text:
        context.load_verify_locations(cadata=text)
    elif place in {"", "probe"}:
        context.load_default_certs()
    elif Path(place).is_dir():
        context.load_verify_locations(capath=place)
    else:
        context.load_verify_locations(place)
    if certificate := settings.get("ssl.certificate.location"):
        key, password = settings.get("ssl.key.location"), settings.get("ssl.key.password", "")
        context.load_cert_chain(certificate, key, lambda: password)
    return context
