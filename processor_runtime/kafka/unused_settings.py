"""Settings of TLS and logins that the security protocol, or the mechanism, ignores.

    options with kafka.security.protocol ──► Unused: which, why, what to write instead

librdkafka, and Kafka's Java client, take them silently: a user who writes a password and forgets
the protocol sends events unencrypted and without a login, or is refused for a reason that does not
name either.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from processor_runtime.kafka.settings import PREFIX

_PROTOCOL: Final = "security.protocol"
_MECHANISMS: Final = ("sasl.mechanism", "sasl.mechanisms")
_DEFAULT_PROTOCOL: Final = "PLAINTEXT"
_DEFAULT_MECHANISM: Final = "GSSAPI"
_WITH_TLS: Final = ("SSL", "SASL_SSL")
_WITH_LOGIN: Final = ("SASL_PLAINTEXT", "SASL_SSL")
_OF_TLS: Final = ("ssl.", "enable.ssl.")
_OF_LOGIN: Final = ("sasl.", "enable.sasl.")
_OF_KERBEROS: Final = ("sasl.kerberos.",)
_OF_OAUTH: Final = ("sasl.oauthbearer.", "enable.sasl.oauthbearer.")
_OF_PASSWORDS: Final = ("sasl.username", "sasl.password")


@dataclass(frozen=True, slots=True)
class Unused:
    """Options that nothing is done with.

    `options`: their names, in the order of the job file; at least one. `reason`: why, as a sentence
    that begins with their names.
    """

    options: tuple[str, ...]
    reason: str
    remedy: str


def unused_settings(options: Mapping[str, str]) -> Iterator[Unused]:
    """Yield the options of a client of Kafka that have no effect beside the others.

    `options`: of a source or an output; settings of the client begin with `kafka.`. A protocol or
    mechanism that is not known is left to the client, which refuses it.
    """
    settings = {
        name.removeprefix(PREFIX): value
        for name, value in options.items()
        if name.startswith(PREFIX)
    }
    protocol = settings.get(_PROTOCOL, _DEFAULT_PROTOCOL).upper()
    if protocol not in {_DEFAULT_PROTOCOL, *_WITH_TLS, *_WITH_LOGIN}:
        return
    default = "" if _PROTOCOL in settings else ", the default,"
    chosen = f"with {PREFIX}{_PROTOCOL} {protocol}{default}"
    of_tls, of_login = _named(settings, _OF_TLS), _named(settings, _OF_LOGIN)
    has_login = bool(of_login) or protocol in _WITH_LOGIN
    if of_tls and protocol not in _WITH_TLS:
        yield _unused(
            of_tls,
            f"{chosen} nothing is encrypted",
            f"Write {PREFIX}{_PROTOCOL}: {'SASL_SSL' if has_login else 'SSL'}",
        )
    if of_login and protocol not in _WITH_LOGIN:
        is_encrypted = bool(of_tls) or protocol in _WITH_TLS
        trusted = "" if is_encrypted else " (or, in a network that can be trusted, SASL_PLAINTEXT)"
        yield _unused(
            of_login, f"{chosen} nobody logs in", f"Write {PREFIX}{_PROTOCOL}: SASL_SSL{trusted}"
        )
    elif of_login:
        yield from _of_other_mechanisms(settings)


def _of_other_mechanisms(settings: Mapping[str, str]) -> Iterator[Unused]:
    given = next((settings[name] for name in _MECHANISMS if name in settings), None)
    mechanism = (given or _DEFAULT_MECHANISM).upper()
    default = "" if given else ", the default"
    chosen = f"{PREFIX}{_MECHANISMS[0]} {mechanism}{default}, does without"
    has_password = mechanism == "PLAIN" or mechanism.startswith("SCRAM-")
    for prefixes, is_used, wanted in (
        (_OF_PASSWORDS, has_password, "SCRAM-SHA-512, SCRAM-SHA-256 or PLAIN, as the brokers have"),
        (_OF_KERBEROS, mechanism == "GSSAPI", "GSSAPI"),
        (_OF_OAUTH, mechanism == "OAUTHBEARER", "OAUTHBEARER"),
    ):
        found = _named(settings, prefixes)
        if found and not is_used:
            yield _unused(found, chosen, f"Write {PREFIX}{_MECHANISMS[0]}: {wanted}")


def _named(settings: Iterable[str], prefixes: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{PREFIX}{name}" for name in settings if name.startswith(prefixes))


def _unused(options: tuple[str, ...], why: str, remedy: str) -> Unused:
    *others, last = options
    names = f"{', '.join(others)} and {last} are" if others else f"{last} is"
    them = "them" if others else "it"
    return Unused(options, f"{names} not used: {why}.", f"{remedy}; or leave {them} out.")
