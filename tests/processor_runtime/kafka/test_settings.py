"""Options of a job file as settings of librdkafka, and those that the security protocol ignores."""

import pytest

from processor_runtime.kafka.settings import (
    KafkaOptionError,
    check_source_options,
    client_settings,
    secret_values,
)
from processor_runtime.kafka.unused_settings import Unused, unused_settings

JAAS = (
    "org.apache.kafka.common.security.scram.ScramLoginModule required\n"
    '  username="percept" password="hush-hush";'
)


def test_settings_of_kafka_go_on_without_their_prefix_and_options_of_the_connector_do_not() -> None:
    options = {"kafka.bootstrap.servers": "k:1", "kafka.ssl.ca.location": "/ca", "subscribe": "t"}
    assert client_settings(options) == {"bootstrap.servers": "k:1", "ssl.ca.location": "/ca"}


@pytest.mark.parametrize("swapped", [False, True])
def test_the_credentials_of_javas_login_module_are_understood(swapped: bool) -> None:  # noqa: FBT001
    jaas = JAAS
    if swapped:
        jaas = 'x.PlainLoginModule required password="hush-hush" username="percept";'
    assert client_settings({"kafka.sasl.jaas.config": jaas}) == {
        "sasl.username": "percept",
        "sasl.password": "hush-hush",
    }


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"kafka.sasl.jaas.config": "x.Krb5LoginModule required;"}, "Write kafka.sasl.username"),
        ({"kafka.ssl.truststore.location": "/a.jks"}, "Write kafka.ssl.ca.location, a PEM file"),
        ({"kafka.enable.auto.commit": "true"}, "is set by the job. Leave it out"),
        ({"startingOffset": "earliest"}, "Did you mean 'startingOffsets'?"),
        ({"maxOffsetsPerTrigger": "0"}, "maxOffsetsPerTrigger is no whole number above 0"),
        ({"failOnDataLoss": "maybe"}, "failOnDataLoss is neither true nor false"),
    ],
)
def test_what_cannot_be_used_is_named_with_what_to_write(
    options: dict[str, str], told: str
) -> None:
    with pytest.raises(KafkaOptionError, match=told) as error:
        check_source_options(options)
    assert "/a.jks" not in str(error.value)


def test_secrets_are_known_wherever_they_are_written() -> None:
    options = {
        "kafka.sasl.jaas.config": JAAS,
        "kafka.sasl.password": "pw",
        "kafka.ssl.key.pem": "pem",
        "kafka.sasl.oauthbearer.client.secret": "oauth",
        "basic.auth.user.info": "me:its-password",
        "kafka.bootstrap.servers": "k:1",
    }
    hidden = {JAAS, "hush-hush", "pw", "pem", "oauth", "me:its-password", "its-password"}
    assert secret_values(options) == hidden


USER = {"sasl.username": "me", "sasl.password": "hush-hush"}
CA = {"ssl.ca.location": "/ca.pem"}


def found(settings: dict[str, str], protocol: str | None = None) -> list[Unused]:
    named = settings if protocol is None else {"security.protocol": protocol} | settings
    return list(unused_settings({f"kafka.{name}": value for name, value in named.items()}))


@pytest.mark.parametrize(
    ("protocol", "settings"),
    [
        (None, {"fetch.min.bytes": "1", "https.ca.location": "/ca.pem"}),
        ("PLAINTEXT", {}),
        ("ssl", CA | {"ssl.key.password": "hush-hush", "enable.ssl.certificate.verification": "1"}),
        ("sasl_plaintext", USER | {"sasl.mechanism": "PLAIN"}),
        ("SASL_SSL", CA | USER | {"sasl.mechanisms": "scram-sha-256"}),
        ("SASL_SSL", {"sasl.kerberos.keytab": "/k"}),
        ("SASL_SSL", {"sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.method": "oidc"}),
        # Which the client refuses.
        ("TLS", CA | USER),
    ],
)
def test_what_is_used_is_not_warned_of(protocol: str | None, settings: dict[str, str]) -> None:
    assert found(settings, protocol) == []


@pytest.mark.parametrize(
    ("protocol", "settings", "unused", "remedy"),
    [
        (None, CA, ["ssl.ca.location"], "kafka.security.protocol: SSL; or leave it out"),
        ("PLAINTEXT", USER, [*USER], "SASL_SSL (or, in a network that can be trusted, SASL_PLAIN"),
        ("SSL", CA | USER, [*USER], "Write kafka.security.protocol: SASL_SSL; or leave them out."),
        ("SASL_PLAINTEXT", {"sasl.mechanism": "PLAIN"} | USER | CA, [*CA], "protocol: SASL_SSL;"),
        ("SASL_SSL", USER | CA, [*USER], "Write kafka.sasl.mechanism: SCRAM-SHA-512, SCRAM-SHA-2"),
        (
            "SASL_SSL",
            {"sasl.mechanism": "PLAIN", "sasl.kerberos.keytab": "/k"},
            ["sasl.kerberos.keytab"],
            "Write kafka.sasl.mechanism: GSSAPI; or leave it out.",
        ),
        (
            "SASL_SSL",
            {"sasl.mechanism": "PLAIN", "sasl.oauthbearer.client.secret": "hush-hush"},
            ["sasl.oauthbearer.client.secret"],
            "Write kafka.sasl.mechanism: OAUTHBEARER; or leave it out.",
        ),
    ],
)
def test_what_is_ignored_is_named_with_what_to_write(
    protocol: str | None, settings: dict[str, str], unused: list[str], remedy: str
) -> None:
    (told,) = found(settings, protocol)
    assert told.options == tuple(f"kafka.{name}" for name in unused)
    assert all(name in told.reason for name in told.options)
    assert remedy in told.remedy
    assert "hush-hush" not in f"{told.reason} {told.remedy}"


def test_of_a_job_that_has_forgotten_the_protocol_both_are_told() -> None:
    tls, login = found(CA | USER)
    shown = (tls.options, login.options)
    assert shown == (("kafka.ssl.ca.location",), ("kafka.sasl.username", "kafka.sasl.password"))
    assert {each.remedy.partition(";")[0] for each in (tls, login)} == {
        "Write kafka.security.protocol: SASL_SSL"
    }
