"""Secrets of Kafka's options: in no plan, no log and no setting that Spark shows."""

import json
import subprocess
import sys

import pytest

from processor_runtime.kafka.settings import secret_values
from processor_runtime.secret_names import is_secret

# All that librdkafka's list of settings and Confluent's client of registries call sensitive.
SECRETS = {
    "kafka.sasl.password": "hush-01",
    "kafka.sasl.jaas.config": 'org.PlainLoginModule required username="me" password="hush-02";',
    "kafka.sasl.oauthbearer.config": "principal=hush-03",
    "kafka.sasl.oauthbearer.client.secret": "hush-04",
    "kafka.sasl.oauthbearer.client.credentials.client.secret": "hush-05",
    "kafka.sasl.oauthbearer.assertion.private.key.pem": "hush-06",
    "kafka.sasl.oauthbearer.assertion.private.key.passphrase": "hush-07",
    "kafka.ssl.key.password": "hush-08",
    "kafka.ssl.key.pem": "hush-09",
    "kafka.ssl.keystore.password": "hush-10",
    "registry.basic.auth.user.info": "me:hush-11",
    "registry.bearer.auth.token": "hush-12",
    "registry.bearer.auth.client.secret": "hush-13",
    "registry.ssl.key.password": "hush-14",
}
IN_AN_ADDRESS = {"registry.url": "https://me:hush-15@registry:8081"}
SETTING = {"spark.hadoop.fs.azure.account.key.store": "hush-16"}
HARMLESS = {
    "kafka.bootstrap.servers": "turkey-1:9092",
    "subscribe": "keys",
    "kafka.sasl.username": "visible",
    "kafka.ssl.ca.location": "/etc/ca.pem",
}
EXPLAINED = """
import contextlib, io, json, sys
from pyspark.sql.datasource import DataSource, DataSourceStreamReader
from processor_runtime.spark.session import job_session

options, settings = map(json.loads, sys.argv[1:])
spark = job_session("test", {"spark.master": "local[1]", "spark.driver.memory": "600m"} | settings)

class Nothing(DataSourceStreamReader):
    def initialOffset(self): return {}
    def latestOffset(self): return {}
    def partitions(self, start, end): return []
    def read(self, partition): return iter(())

class Source(DataSource):
    def schema(self): return "value BINARY"
    @classmethod
    def name(cls): return "of-options"
    def streamReader(self, schema): return Nothing()

spark.dataSource.register(Source)
spark.sparkContext.setLogLevel("TRACE")
frame = spark.readStream.format("of-options").options(**options).load()
with contextlib.redirect_stdout(io.StringIO()) as said:
    frame.explain(extended=True)
shown = {row.key: row.value for row in spark.sql("SET").collect()}
print(json.dumps([said.getvalue(), shown]))
spark.stop()
"""


def test_names_of_secrets_are_told_from_those_of_files_and_of_other_options() -> None:
    assert [name for name in SECRETS if not is_secret(name)] == []
    for name in ("accessKey", "X-Api-Key", "Authorization", "fs.s3a.access.key", "sslKeyPassword"):
        assert is_secret(name)
    places = ("kafka.ssl.key.location", "password_env", "keys_file", "kafka.ssl.keystore.location")
    assert [name for name in (*HARMLESS, *places, "keytab", "monkey") if is_secret(name)] == []
    # An address has its password between others' characters, and is masked by its form.
    assert "hush-02" in secret_values(SECRETS)


@pytest.mark.long
@pytest.mark.spark
def test_spark_shows_secrets_in_no_plan_no_log_and_no_setting() -> None:
    options = SECRETS | IN_AN_ADDRESS | HARMLESS
    done = subprocess.run(  # noqa: S603 - fixed words
        [sys.executable, "-c", EXPLAINED, json.dumps(options), json.dumps(SETTING)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    plan, settings = json.loads(done.stdout.splitlines()[-1])
    assert [name for name in options if f"{name}=" not in plan] == []
    assert [value for value in HARMLESS.values() if value not in plan] == []
    assert settings.keys() >= SETTING.keys()
    # Spark writes plans to its log, too.
    assert "kafka.ssl.key.pem=" in done.stderr
    for shown in (plan, str(settings), done.stderr):
        assert "hush" not in shown
