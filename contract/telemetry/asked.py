"""What the environment asks to be sent; nothing, unless a standard variable of OpenTelemetry does.

environment ──asked_telemetry──► AskedTelemetry ──► sending.Sending

Nothing of OpenTelemetry is imported here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Final
from urllib.parse import urlsplit

_MODULES: Final = ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")
_PROTOCOL: Final = "http/protobuf"


class TelemetryRefused(ValueError):
    """A variable asks for what cannot be done; says which, and what to write instead."""


@dataclass(frozen=True, slots=True)
class AskedTelemetry:
    """Which signals are sent, and under which name unless the environment has another."""

    traces: bool
    metrics: bool
    service_name: str


def asked_telemetry(environment: Mapping[str, str], service_name: str) -> AskedTelemetry | None:
    """Return what the environment asks for; `None` if it is nothing.

    Args:
        environment: the variables.
        service_name: the name of what runs, unless `OTEL_SERVICE_NAME` or
            `OTEL_RESOURCE_ATTRIBUTES` has one.

    Raises:
        TelemetryRefused: a variable asks for an exporter, a protocol or an address that is not
            known.
        ModuleNotFoundError: something is asked for, and the extra `otel` is not installed.
    """
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return None
    asked = AskedTelemetry(
        traces=_is_asked(environment, "TRACES"),
        metrics=_is_asked(environment, "METRICS"),
        service_name=service_name,
    )
    if not (asked.traces or asked.metrics):
        return None
    for module in _MODULES:
        if not _is_installed(module):
            raise ModuleNotFoundError(
                f"{module} is not installed; it comes with Percept's extra 'otel': "
                "pip install 'percept[otel]'",
                name=module,
            )
    return asked


def _is_asked(environment: Mapping[str, str], signal: str) -> bool:
    of_signal = f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT"
    place = of_signal if environment.get(of_signal) else "OTEL_EXPORTER_OTLP_ENDPOINT"
    endpoint = environment.get(place, "")
    exporter = environment.get(f"OTEL_{signal}_EXPORTER", "").strip().lower()
    if exporter == "none" or not (endpoint or exporter):
        return False
    if exporter not in {"", "otlp"}:
        raise TelemetryRefused(
            f"OTEL_{signal}_EXPORTER: no exporter {exporter[:40]!r} is known; write otlp or none"
        )
    if endpoint and not _is_address(endpoint):
        # It is not shown: it may hold a password.
        raise TelemetryRefused(f"{place}: write an address such as http://collector:4318")
    _check_protocol(environment, signal)
    return True


def _check_protocol(environment: Mapping[str, str], signal: str) -> None:
    for place in (f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"):
        if protocol := environment.get(place, "").strip():
            if protocol != _PROTOCOL:
                raise TelemetryRefused(
                    f"{place}: the protocol {protocol[:40]!r} is not spoken; leave it out or "
                    f"write {_PROTOCOL}, and the collector's port for it, often 4318"
                )
            return


def _is_address(endpoint: str) -> bool:
    try:
        parts = urlsplit(endpoint)
        _ = parts.port  # read, as this is what raises if it is no number
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname)


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # of a package that it is in
        return False
