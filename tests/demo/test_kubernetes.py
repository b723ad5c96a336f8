"""examples/kubernetes: manifests that Kubernetes takes, and that fit the programs they start."""

import re
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from typer.testing import CliRunner

from api.app import create_app
from api.settings import Settings
from cep.signing.keys import SigningKey
from processor_runtime.commands import job_app
from tests.docs.fences import ROOT

FOLDER = ROOT / "examples/kubernetes"
MANIFESTS: list[dict[str, Any]] = [
    manifest
    for path in sorted(FOLDER.glob("*.yaml"))
    for manifest in yaml.safe_load_all(path.read_text(encoding="utf-8"))
]
BY_KIND = {(each["kind"], each["metadata"]["name"]): each for each in MANIFESTS}
SERVICE = BY_KIND["Deployment", "percept-service"]["spec"]
JOB = BY_KIND["StatefulSet", "percept-job-logins"]["spec"]


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda each: each["kind"])
def test_a_manifest_is_of_the_schema(manifest: dict[str, Any]) -> None:
    kubernetes_validate.validate(manifest, kubernetes_validate.latest_version(), strict=True)


def test_selectors_find_their_pods() -> None:
    wanted = [
        SERVICE["selector"]["matchLabels"],
        BY_KIND["Service", "percept-service"]["spec"]["selector"],
        BY_KIND["PodDisruptionBudget", "percept-service"]["spec"]["selector"]["matchLabels"],
    ]
    labels = SERVICE["template"]["metadata"]["labels"]
    assert all(one == labels for one in wanted)
    assert JOB["selector"]["matchLabels"] == JOB["template"]["metadata"]["labels"]
    assert JOB["replicas"] == 1


@pytest.mark.long
def test_the_probes_ask_what_the_service_answers() -> None:
    (container,) = SERVICE["template"]["spec"]["containers"]
    paths = {
        container[f"{probe}Probe"]["httpGet"]["path"]
        for probe in ("startup", "liveness", "readiness")
    }
    assert paths == {"/healthz", "/readyz"}
    routes = create_app(Settings()).openapi()["paths"].keys()
    assert paths <= routes


def test_the_variables_of_the_service_are_settings_and_its_secrets_are_no_text() -> None:
    (container,) = SERVICE["template"]["spec"]["containers"]
    settings = {f"PERCEPT_{name.upper()}" for name in Settings.model_fields}
    assert {each["name"] for each in container["env"]} <= settings | {"PGPASSWORD"}
    assert all("secretKeyRef" in each["valueFrom"] for each in container["env"])


def test_images_and_users_are_those_of_the_dockerfile() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    found = re.search(r'^version = "([^"]+)"', project, re.MULTILINE)
    assert found is not None
    for spec, target in ((SERVICE, "service"), (JOB, "job")):
        pod = spec["template"]["spec"]
        (container,) = pod["containers"]
        assert container["image"] == f"percept-{target}:{found[1]}"
        assert f" AS {target}\n" in dockerfile
        assert f"--uid {pod['securityContext']['runAsUser']} " in dockerfile


def test_the_job_file_passes_the_check_and_keeps_its_state_on_the_volume(tmp_path: Path) -> None:
    text = BY_KIND["ConfigMap", "percept-job-logins"]["data"]["job.yaml"]
    (container,) = JOB["template"]["spec"]["containers"]
    mounts = {each["name"]: each["mountPath"] for each in container["volumeMounts"]}
    document = yaml.safe_load(text)
    assert document["checkpoint"].startswith(mounts["data"])
    assert document["signing_keys_file"].startswith(mounts["secrets"])
    assert container["args"][1] == f"{mounts['job']}/job.yaml"

    (tmp_path / "token").write_text("percept_token", encoding="utf-8")
    (tmp_path / "signing-keys").write_text(SigningKey.new("k").to_text(), encoding="utf-8")
    for name in ("secrets", "data"):
        text = text.replace(mounts[name], str(tmp_path))
    path = tmp_path / "job.yaml"
    path.write_text(text, encoding="utf-8")
    result = CliRunner().invoke(job_app, ["check", str(path)])
    assert result.exit_code == 0, result.stderr
