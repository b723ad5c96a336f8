"""Files that settings of librdkafka name: are they on this machine, and what they should be?

librdkafka says of all of them which call of OpenSSL has failed. Asked once it has refused settings.
"""

import ssl
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from cep.file_trouble import file_trouble

_FILES: Final = (
    "ssl.ca.location",
    "ssl.certificate.location",
    "ssl.key.location",
    "ssl.keystore.location",
    "ssl.crl.location",
    "https.ca.location",
    "sasl.oauthbearer.assertion.private.key.file",
)
_PROBE: Final = "probe"
"""Not a file: librdkafka looks in the usual places."""


def explained(settings: Mapping[str, str], said: str) -> str:
    """Return why librdkafka does not take settings: what is wrong with a file, or what it says."""
    return next(_problems(settings), said)


def _problems(settings: Mapping[str, str]) -> Iterator[str]:
    for name in _FILES:
        if (place := settings.get(name, "")) not in {"", _PROBE}:
            yield from _missing(f"kafka.{name}", Path(place))
    yield from _authority(settings)
    yield from _own(settings)


def _missing(option: str, path: Path) -> Iterator[str]:
    if path.is_dir() and option.endswith("ca.location"):
        return
    try:
        with path.open("rb"):
            return
    except FileNotFoundError:
        yield f"{option}: there is no file {path} on this machine"
    except OSError as error:
        yield f"{option}: {path} cannot be read: {file_trouble(error)}"


def _authority(settings: Mapping[str, str]) -> Iterator[str]:
    place = settings.get("ssl.ca.location", "")
    if place in {"", _PROBE} or Path(place).is_dir():
        return
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(place)
    except ssl.SSLError:
        yield f"kafka.ssl.ca.location: {place} is no PEM file of certificates"


def _own(settings: Mapping[str, str]) -> Iterator[str]:
    certificate, key = (settings.get(f"ssl.{each}.location", "") for each in ("certificate", "key"))
    if not certificate or not key:
        return
    password = settings.get("ssl.key.password", "")
    try:
        # A text that is not there would be asked for at the terminal.
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(certificate, key, lambda: password)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            yield f"kafka.ssl.key.location: {key} is not the key of {certificate}"
        elif b"ENCRYPTED" in Path(key).read_bytes():
            wrong = "kafka.ssl.key.password is not its password" if password else "its password"
            missing = "" if password else ", kafka.ssl.key.password, is missing"
            yield f"kafka.ssl.key.location: {key} is encrypted, and {wrong}{missing}"
        else:
            yield (
                f"kafka.ssl.certificate.location, kafka.ssl.key.location: {certificate} or {key} "
                "is no PEM file"
            )
