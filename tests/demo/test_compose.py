"""docker-compose.yml, Dockerfile and the job file for Kafka fit together, as files can tell."""

import gzip
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from api.settings import Settings
from cep.expression import Schema
from cep.signing.keys import SigningKey
from examples.demo.events import STREAM
from processor_runtime.commands import job_app

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples/demo/compose"
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]


def variables_of(text: str) -> set[str]:
    return set(re.findall(r"(?<!\$)\$\{?([A-Z][A-Z_]+)", text))


def host_paths(service: dict[str, Any]) -> list[str]:
    return [each.split(":")[0] for each in service.get("volumes", []) if each.startswith(".")]


def named_volumes(service: dict[str, Any]) -> list[str]:
    return [each.split(":")[0] for each in service.get("volumes", []) if each[0] not in "./"]


@pytest.mark.parametrize("name", SERVICES)
def test_everything_a_service_needs_is_there(name: str) -> None:
    service = SERVICES[name]

    assert all((ROOT / path).exists() for path in host_paths(service))
    assert set(named_volumes(service)) <= set(COMPOSE["volumes"])
    for needed, how in service.get("depends_on", {}).items():
        if how["condition"] == "service_healthy":
            assert "healthcheck" in SERVICES[needed]
    if "build" in service:
        assert f"AS {service['build']['target']}\n" in DOCKERFILE


@pytest.mark.parametrize(
    "name", [name for name, service in SERVICES.items() if "entrypoint" in service]
)
def test_the_script_of_a_service_parses_and_has_its_variables(name: str) -> None:
    service = SERVICES[name]
    script = FOLDER / Path(service["entrypoint"][1]).name
    shell = shutil.which("sh")
    assert shell is not None
    text = script.read_text(encoding="utf-8")
    own = set(re.findall(r"^([A-Z_]+)=", text, re.MULTILINE))

    assert subprocess.run([shell, "-n", script], check=False).returncode == 0  # noqa: S603 - ours
    assert variables_of(text) <= own | set(service.get("environment", {}))


def test_the_job_file_passes_the_check_with_the_variables_of_the_compose_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (FOLDER / "job.yaml").read_text(encoding="utf-8")
    environment = SERVICES["job"]["environment"]
    assert variables_of(text) == set(environment)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "job").write_text("percept_token", encoding="utf-8")
    (tmp_path / "signing-keys").write_text(SigningKey.new("k").to_text(), encoding="utf-8")
    written = tmp_path / "job.yaml"
    tokens = "/var/lib/percept/tokens"
    assert any(each.startswith(f"tokens:{tokens}") for each in SERVICES["job"]["volumes"])
    written.write_text(text.replace(tokens, str(tmp_path)), encoding="utf-8")
    result = CliRunner().invoke(job_app, ["check", str(written)])

    assert result.exit_code == 0, result.stderr


def test_the_job_reads_kafka_with_what_its_image_holds() -> None:
    job = yaml.safe_load((FOLDER / "job.yaml").read_text(encoding="utf-8"))

    assert "packages" not in job["source"]
    assert "--extra spark --extra kafka" in DOCKERFILE


def test_the_variables_of_the_service_are_settings() -> None:
    settings = {f"PERCEPT_{name.upper()}" for name in Settings.model_fields}

    assert set(SERVICES["service"]["environment"]) <= settings | {"PGPASSWORD"}
    # A password of any characters would have to be escaped in the URL.
    assert "PASSWORD" not in SERVICES["service"]["environment"]["PERCEPT_DATABASE_URL"]


def test_what_must_survive_is_in_a_volume() -> None:
    for name, place in {
        "postgres": "/var/lib/postgresql/data",
        "kafka": SERVICES["kafka"]["environment"]["KAFKA_LOG_DIRS"],
        "job": "/var/lib/percept/job",
    }.items():
        assert [each.split(":")[1] for each in SERVICES[name]["volumes"]].count(place) == 1, name


def test_service_and_job_have_the_same_key_for_code() -> None:
    made, used = ((FOLDER / name).read_text("utf-8") for name in ("make-tokens.sh", "serve.sh"))
    job = yaml.safe_load((FOLDER / "job.yaml").read_text(encoding="utf-8"))

    assert f'keys="{job["signing_keys_file"]}"' in made
    assert f"PERCEPT_SIGNING_KEYS=$(cat {job['signing_keys_file']})" in used


def test_only_who_makes_or_uses_the_token_of_an_admin_can_read_it() -> None:
    scripts = [(FOLDER / name).read_text("utf-8") for name in ("make-tokens.sh", "apply-rules.sh")]
    readers = {name for name, service in SERVICES.items() if "admin" in named_volumes(service)}

    assert all("/var/lib/percept/admin/token" in script for script in scripts)
    assert readers == {"prepare-tokens", "prepare-rules"}
    assert "admin" not in (FOLDER / "job.yaml").read_text("utf-8")


def test_only_the_dashboard_is_open_and_only_to_this_machine() -> None:
    ports = [port for service in SERVICES.values() for port in service.get("ports", [])]

    assert ports == ["127.0.0.1:8321:8321"]


def test_what_the_dockerfile_copies_is_in_the_build_context() -> None:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    taken = {line[1:] for line in lines if line.startswith("!")}
    copied = {
        word
        for line in re.findall(r"^COPY (?!--)(.+) \S+$", DOCKERFILE, re.MULTILINE)
        for word in line.split()
    }

    assert copied == taken
    assert all((ROOT / name).exists() for name in copied)


def test_both_images_run_without_root() -> None:
    stages = re.split(r"^FROM ", DOCKERFILE, flags=re.MULTILINE)
    final = [stage for stage in stages if re.match(r"\S+ AS (service|job)\n", stage)]

    assert len(final) == 2
    assert all("\nUSER percept\n" in stage for stage in final)


def test_the_rules_can_run_on_their_stream_which_is_that_of_the_events(tmp_path: Path) -> None:
    stream, *rules = yaml.safe_load_all(
        (FOLDER / "rules/ssh-logins.yaml").read_text(encoding="utf-8")
    )
    with gzip.open(ROOT / "examples/ssh_auth/events.jsonl.gz", "rt", encoding="utf-8") as lines:
        event = json.loads(next(lines))
    columns = Schema.from_ddl(stream["schema"]).columns
    job = {
        "name": "check",
        "stream": stream["name"],
        "source": {"format": "json", "path": str(tmp_path)},
        "discoverer": {"type": "directory", "path": str(FOLDER / "rules"), "settle_seconds": 0},
        "outputs": [{"type": "console"}],
        "checkpoint": str(tmp_path / "checkpoint"),
    }
    path = tmp_path / "job.yaml"
    path.write_text(yaml.safe_dump(job), encoding="utf-8")
    result = CliRunner().invoke(job_app, ["check", str(path), "--connect", "--json"])
    report = json.loads(result.stdout)

    assert result.exit_code == 0, report
    assert len(rules) == 3
    assert {name for name, _ in columns} <= set(event)
    assert columns == Schema.from_ddl(str(STREAM["schema"])).columns
