"""Requests that schemathesis makes from the service's own description, in its four phases.

examples: those of the description · coverage: every limit of every value, met and crossed
fuzzing: random values · stateful: what one answer gives is asked for in the next request
"""

from collections.abc import Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

import schemathesis
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import Status, events, from_schema

from api.app import create_app
from api.settings import Settings
from api.web.openapi import recorded_examples
from tests.api.documents import STREAM
from tests.api.running import Service, running_service

PHASES: Final = ("examples", "coverage", "fuzzing", "stateful")
TAKING_PATTERNS: Final = (
    "change_rules",
    "create_processor",
    "edit_proposal",
    "propose_change",
    "replace_processor",
    "start_rollout",
    "validate",
)
"""Their bodies are whole patterns, with thousands of limits to be met and crossed."""
_NAMED: Final = {
    "register_stream": "/v1/streams",
    "create_list": "/v1/streams/ssh/lists",
    "create_processor": "/v1/processors",
}
_REFUSED: Final = (400, 401, 403, 404, 405, 408, 409, 412, 413, 415, 422, 428, 429, 503)
_SHOWN_CHARACTERS: Final = 2_000


@cache
def description() -> dict[str, Any]:
    """Return what the service says of itself, in OpenAPI."""
    return create_app(Settings(database_url="sqlite:///unused.db")).openapi()


@dataclass
class SchemaRun:
    """How a phase went."""

    requests: int = 0
    has_run: bool = False
    failures: list[str] = field(default_factory=list)
    """What was found, each with a command that shows it again."""


@contextmanager
def lasting_service_on(url: str) -> Iterator[Service]:
    """Yield one service for all requests; it knows what the examples of the description name."""
    with running_service(url, raise_failures=False, max_wait_seconds=0.01) as service:
        service.done("POST", "/v1/streams", STREAM)
        service.publish()
        for operation, path in _NAMED.items():
            example = recorded_examples()[operation]["request"]
            service.done("POST", path, example["application/json"])
        yield service


def operations(description: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield path and description of every operation."""
    for path, item in description["paths"].items():
        for operation in item.values():
            yield path, operation


def run_phase(
    service: Service, phase: str, examples: int, left_out: Container[str] = ()
) -> SchemaRun:
    """Make the requests of one of `PHASES`, as an admin, and return what was found.

    An operation gets so many random requests, or there are so many walks through all.
    """
    # A document may be of the right shape and still be refused: that is what its checks are for.
    config = SchemathesisConfig.from_dict(
        {
            "headers": {"Authorization": service.client.headers["Authorization"]},
            "continue-on-failure": True,
            "generation": {"max-examples": examples, "database": "none"},
            "phases": {name: {"enabled": name == phase} for name in PHASES},
            "checks": {
                "positive_data_acceptance": {"enabled": False},
                "negative_data_rejection": {"expected-statuses": _REFUSED},
            },
        }
    )

    def is_left_out(context: Any) -> bool:
        operation = context.operation.definition.raw
        return _is_endless(operation) or operation["operationId"] in left_out

    whole = schemathesis.openapi.from_asgi("/openapi.json", service.app, config=config)
    run = SchemaRun()
    for event in from_schema(whole.exclude(func=is_left_out)).execute():
        if isinstance(event, events.PhaseFinished) and event.phase.name == phase:
            run.has_run = event.status is not Status.SKIP
        elif isinstance(event, events.ScenarioFinished):
            run.requests += len(event.recorder.cases)
            run.failures += _failures(event)
        elif isinstance(event, events.NonFatalError):
            run.failures.append(f"{event.label}: {event.value}")
        elif isinstance(event, events.FatalError):
            raise event.exception
    return run


def _is_endless(operation: dict[str, Any]) -> bool:
    """Whether answers have no end that a client could wait for: server-sent events."""
    return "text/event-stream" in operation["responses"].get("200", {}).get("content", {})


def _failures(event: events.ScenarioFinished) -> Iterator[str]:
    for checks in event.recorder.checks.values():
        for check in checks:
            if (info := check.failure_info) is not None:
                what = f"{info.failure.title}: {info.failure.message}"
                shown = f"{event.recorder.label}: {what}\n{info.code_sample}"
                yield shown[:_SHOWN_CHARACTERS]
