"""Options of a job file as settings of librdkafka."""

import pytest

from processor_runtime.kafka.settings import (
    KafkaOptionError,
    check_source_options,
    client_settings,
    secret_values,
)

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
