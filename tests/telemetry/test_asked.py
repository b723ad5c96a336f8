"""What variables of the environment ask for, and what is said of those that make no sense."""

import json
import re
from pathlib import Path

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from api.commands import serve
from contract.telemetry.asked import AskedTelemetry, TelemetryRefused, asked_telemetry
from processor_runtime.running import run_job
from tests.percept.programs import hiding, run

URL = "http://collector:4318"
EVERYWHERE = {"OTEL_EXPORTER_OTLP_ENDPOINT": URL}
WITHOUT_OTEL = hiding(["opentelemetry.sdk", "opentelemetry.exporter"])


@pytest.mark.parametrize(
    ("environment", "signals"),
    [
        ({}, None),
        ({"OTEL_SERVICE_NAME": "rules", "OTEL_TRACES_SAMPLER": "always_on"}, None),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": ""}, None),
        (EVERYWHERE, (True, True)),
        (EVERYWHERE | {"OTEL_SDK_DISABLED": "TRUE"}, None),
        (EVERYWHERE | {"OTEL_SDK_DISABLED": "false"}, (True, True)),
        (EVERYWHERE | {"OTEL_TRACES_EXPORTER": "none"}, (False, True)),
        (EVERYWHERE | {"OTEL_METRICS_EXPORTER": "None"}, (True, False)),
        (EVERYWHERE | {"OTEL_METRICS_EXPORTER": "none", "OTEL_TRACES_EXPORTER": "none"}, None),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": URL}, (True, False)),
        ({"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": URL}, (False, True)),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, (True, False)),
        (EVERYWHERE | {"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, (True, True)),
    ],
)
def test_only_standard_variables_ask(
    environment: dict[str, str], signals: tuple[bool, bool] | None
) -> None:
    wanted = None if signals is None else AskedTelemetry(*signals, "percept-job")
    assert asked_telemetry(environment, "percept-job") == wanted


@pytest.mark.parametrize(
    ("environment", "place"),
    [
        (EVERYWHERE | {"OTEL_TRACES_EXPORTER": "zipkin"}, "OTEL_TRACES_EXPORTER"),
        (EVERYWHERE | {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "OTEL_EXPORTER_OTLP_PROTOCOL"),
        (
            EVERYWHERE | {"OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": "http/json"},
            "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL",
        ),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "user:hush@host:4317"}, "OTEL_EXPORTER_OTLP_ENDPOINT"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://u:hush@h:port"}, "OTEL_EXPORTER_OTLP_ENDPOINT"),
        (
            EVERYWHERE | {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "grpc://hush:4317"},
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
        ),
    ],
)
def test_what_cannot_be_done_is_refused_by_the_name_of_its_variable(
    environment: dict[str, str], place: str
) -> None:
    with pytest.raises(TelemetryRefused) as refused:
        asked_telemetry(environment, "percept-job")
    assert str(refused.value).startswith(f"{place}: ")
    assert "hush" not in str(refused.value)


@pytest.mark.long
@pytest.mark.parametrize("words", [["serve"], ["run", "no-such-job.yaml"]])
def test_without_the_extra_it_is_named_before_anything_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", URL)
    start = f"{WITHOUT_OTEL}sys.argv = ['percept', *{words!r}]\n"
    done = run(f"{start}from percept.__main__ import main\nmain()", tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(
        rf"percept {words[0]}: opentelemetry\.sdk is not installed; it comes with Percept's extra "
        r"'otel': pip install 'percept\[otel\]'\n",
        done.stderr,
    )
    assert not list(tmp_path.iterdir())


def test_a_variable_without_sense_is_told_before_anything_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", URL)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
    told = "OTEL_EXPORTER_OTLP_PROTOCOL: the protocol 'grpc' is not spoken"
    app = typer.Typer()
    app.command()(serve)
    done = CliRunner().invoke(app, [])
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"percept serve: {told}")
    console = Console(record=True, width=500)
    assert run_job(Path("no-such-job.yaml"), None, console) == 2
    assert console.export_text().startswith(told)
    assert not list(tmp_path.iterdir())


@pytest.mark.long
def test_nothing_of_it_is_imported_unless_it_is_asked_for(tmp_path: Path) -> None:
    program = f"""
import json, sys
from api.app import create_app
from api.settings import Settings
import api.commands, processor_runtime.running
from contract.telemetry.asked import asked_telemetry
from contract.telemetry.opening import opened
def loaded():
    return [name for name in sys.modules if name.startswith(("opentelemetry.sdk", "requests"))]
sending = opened(asked_telemetry({{}}, "percept-service"), {{}})
app = create_app(Settings(database_url="sqlite:///{tmp_path}/a.db"), sending=sending)
before = loaded()
middleware = [each.cls.__name__ for each in app.user_middleware]
opened(asked_telemetry({EVERYWHERE!r}, "percept-service"), {{}}).close(0)
print(json.dumps([before, middleware, bool(loaded())]))
"""
    done = run(program, tmp_path)
    assert done.returncode == 0, done.stderr
    before, middleware, after = json.loads(done.stdout.splitlines()[-1])
    assert (before, after) == ([], True)
    assert "RequestSpans" not in middleware
