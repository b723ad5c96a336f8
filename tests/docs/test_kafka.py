"""docs/kafka.md: the secured job file can be used as it is, with certificates in place of its own.

It runs over TLS with a login in tests/processor_runtime/resilience/test_secured_kafka.py.
"""

import json
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from processor_runtime.commands import job_app
from tests.docs.fences import ROOT, fences
from tests.processor_runtime.kafka.card_testing import RULES
from tests.processor_runtime.kafka.certificates import Authority

pytest.importorskip("confluent_kafka", reason="the extra 'kafka' is not installed")

PAGE = "docs/kafka.md"
FOLDER = "/etc/percept/tls"
VARIABLES = {
    "KAFKA_SERVERS": "kafka-1:9093",
    "KAFKA_USER": "percept",
    "KAFKA_PASSWORD": "hush-hush",
    "KAFKA_KEY_PASSWORD": "key-hush",
}


def test_the_secured_job_file_passes_the_check_with_and_without_a_clients_certificate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_file, *_ = (each.text for each in fences(PAGE) if each.language == "yaml")
    found = [each for each in fences(PAGE) if each.heading == "Security"]
    login, certificate = (each.text for each in found if each.language == "yaml")
    assert "hush" not in job_file + login + certificate
    authority = Authority(tmp_path, "ca")
    authority.sign("client", password=VARIABLES["KAFKA_KEY_PASSWORD"])
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "rules").mkdir()
    job = yaml.safe_load(job_file)
    parts = [job["source"]["options"], job["outputs"][0]["options"]]
    for added in (yaml.safe_load(text) for text in (login, certificate)):
        for options in parts:
            options.update(added)
        text = yaml.safe_dump(job).replace(FOLDER, str(tmp_path))
        (tmp_path / "job.yaml").write_text(text, encoding="utf-8")
        result = CliRunner().invoke(job_app, ["check", str(tmp_path / "job.yaml"), "--json"])
        assert result.exit_code == 0, result.output
        warnings = json.loads(result.stdout)["warnings"]
        assert [each for each in warnings if "kafka" in each["path"]] == []
        assert "hush" not in result.output
    # The password of the key is what it is checked with.
    monkeypatch.setenv("KAFKA_KEY_PASSWORD", "other")
    result = CliRunner().invoke(job_app, ["check", str(tmp_path / "job.yaml"), "--json"])
    assert "kafka.ssl.key.password is not its password" in result.stdout


def test_the_rule_of_the_jobs_of_the_page_is_that_of_the_first_alert() -> None:
    assert RULES in (ROOT / "docs/first-alert.md").read_text(encoding="utf-8")
