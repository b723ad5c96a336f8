"""Certificates as PEM files: an authority of its own, and what it signs for brokers and clients."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Certified:
    """A certificate and its key."""

    certificate: Path
    key: Path


@dataclass
class Authority:
    """Signs certificates; those who trust it are given the file `certificate`."""

    folder: Path
    name: str
    certificate: Path = field(init=False)
    _key: ec.EllipticCurvePrivateKey = field(init=False)
    _own: x509.Certificate = field(init=False)

    def __post_init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        subject = _named(self.name)
        self._own = (
            _builder(subject, subject, self._key, days=2)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .sign(self._key, SHA256())
        )
        self.certificate = self.folder / f"{self.name}.pem"
        self.certificate.write_bytes(self._own.public_bytes(Encoding.PEM))

    def sign(
        self, name: str, host: str = "127.0.0.1", days: int = 2, password: str = ""
    ) -> Certified:
        """Return a certificate, good for so many days from yesterday on."""
        key = ec.generate_private_key(ec.SECP256R1())
        signed = (
            _builder(_named(name), self._own.subject, key, days)
            .add_extension(x509.SubjectAlternativeName([_general(host)]), critical=False)
            .sign(self._key, SHA256())
        )
        found = Certified(self.folder / f"{name}.crt", self.folder / f"{name}.key")
        found.certificate.write_bytes(signed.public_bytes(Encoding.PEM))
        encryption: KeySerializationEncryption = (
            BestAvailableEncryption(password.encode()) if password else NoEncryption()
        )
        found.key.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption))
        return found


def _general(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _builder(subject: x509.Name, issuer: x509.Name, key: Any, days: int) -> Any:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=days, hours=-1))
    )
