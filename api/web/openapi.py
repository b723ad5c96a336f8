"""Completes the OpenAPI document: names of operations, errors every route may answer, headers.

An operation is called as its function is; programs that are generated from the document keep these
names, so functions of routes are not renamed lightly.
"""

import json
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic import BaseModel

from api.web.openapi_texts import HEADERS, TAGS
from api.web.problems import documented
from contract.service.problems import Problem

EXAMPLES: Final = Path(__file__).with_name("examples.json")
"""Requests and answers, recorded by `tests/api/test_recorded_examples.py`."""

_OPEN_PATHS: Final = {"/healthz", "/readyz"}
_STORELESS_PATHS: Final = {"/healthz"}
_NOT_NOW: Final = (
    "The store is away, or too much is under way. With Retry-After nothing was changed."
)
_KEY: Final = "Idempotency-Key"
_INTERNAL: Final = "A defect of the service. X-Request-ID finds it in its log."
_HEADERS_OF: Final[dict[str, tuple[str, ...]]] = {
    "304": ("ETag",),
    "401": ("WWW-Authenticate",),
    "412": ("ETag",),
    "429": ("Retry-After",),
    "503": ("Retry-After",),
}
_JSON: Final = "application/json"


def operation_id(route: APIRoute) -> str:
    """Return what an operation is called."""
    return route.name


def recorded_examples() -> dict[str, Any]:
    """Return what was asked and answered, by the name of the operation; see `EXAMPLES`."""
    examples: dict[str, Any] = json.loads(EXAMPLES.read_text(encoding="utf-8"))
    return examples


def describe(app: FastAPI, documents: Sequence[type[BaseModel]]) -> None:
    """Make `app.openapi` document the refusals of the shared parts of the service, and examples.

    Args:
        app: the service.
        documents: models of bodies that the service checks itself, which FastAPI describes anew
            wherever they are taken. The document names them once.
    """

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            names = {each.model_json_schema()["description"]: each.__name__ for each in documents}
            app.openapi_schema = _described(app)
            _name_bodies(app.openapi_schema, names)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's documented way


def _described(app: FastAPI) -> dict[str, Any]:
    with warnings.catch_warnings():
        # GET and HEAD of one route have one name; HEAD is taken out below.
        warnings.filterwarnings("ignore", "Duplicate Operation ID")
        schema = get_openapi(
            title=app.title,
            version=app.version,
            summary=app.summary,
            description=app.description,
            routes=app.routes,
            separate_input_output_schemas=False,
        )
    schema["tags"] = [{"name": name, "description": text} for name, text in TAGS.items()]
    schema["components"]["headers"] = HEADERS
    schemas = schema["components"]["schemas"]
    problem = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    problem.pop("$defs", None)
    schemas["Problem"] = problem
    schemas.pop("HTTPValidationError", None)
    schemas.pop("ValidationError", None)
    examples = recorded_examples()
    for path, operations in schema["paths"].items():
        operations.pop("head", None)  # wherever there is a GET, and like it
        for method, operation in operations.items():
            _add_refusals(operation, path)
            if method == "get":
                _add_known_answer(operation)
            _add_headers(operation)
            if recorded := examples.get(operation["operationId"]):
                _add_examples(operation, recorded)
    return schema


def _name_bodies(schema: dict[str, Any], names: Mapping[str, str]) -> None:
    """Put bodies with a description among the schemas, under its name, and refer to them."""
    for operations in schema["paths"].values():
        for operation in operations.values():
            content = operation.get("requestBody", {}).get("content", {}).get(_JSON, {})
            body = content.get("schema", {})
            if name := names.get(body.get("description")):
                schema["components"]["schemas"].setdefault(name, body | {"title": name})
                content["schema"] = {"$ref": f"#/components/schemas/{name}"}


def _add_refusals(operation: dict[str, Any], path: str) -> None:
    statuses = [413, 422] if path in _OPEN_PATHS else [401, 403, 413, 422, 429]
    if "requestBody" in operation:
        statuses += [400, 408]
    if any(each["name"] == _KEY for each in operation.get("parameters", [])):
        statuses.append(409)  # made already, and its answer was not kept
    if path not in _STORELESS_PATHS:
        statuses += [500, 503]
    answers = operation["responses"]
    answers.pop("422", None)
    for status, answer in documented(*statuses).items():
        answers.setdefault(str(status), answer)
    if "503" in answers:
        answers["503"]["description"] = _NOT_NOW
        answers["500"]["description"] = _INTERNAL


def _add_known_answer(operation: dict[str, Any]) -> None:
    """Every GET of JSON has an ETag and answers 304: `api.web.known_answers`."""
    answers = operation["responses"]
    if _JSON not in answers.get("200", {}).get("content", {}):
        return
    answers["200"].setdefault("headers", {}).setdefault("ETag", _header("ETag"))
    answers.setdefault("304", {"description": "It is what If-None-Match names."})
    parameters = operation.setdefault("parameters", [])
    if not any(each["name"].lower() == "if-none-match" for each in parameters):
        parameters.append(
            {
                "name": "If-None-Match",
                "in": "header",
                "required": False,
                "description": "ETag of a known answer; if it is unchanged, the answer is 304.",
                "schema": {"type": "string"},
            }
        )


def _add_headers(operation: dict[str, Any]) -> None:
    of_all = ["X-Request-ID"]
    if "security" in operation:
        of_all += ["RateLimit", "RateLimit-Policy"]
    for status, answer in operation["responses"].items():
        # Who is not known has no share of requests.
        general = of_all[:1] if status == "401" else of_all
        for name in (*_HEADERS_OF.get(status, ()), *general):
            answer.setdefault("headers", {}).setdefault(name, _header(name))


def _header(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/headers/{name}"}


def _add_examples(operation: dict[str, Any], recorded: Mapping[str, Any]) -> None:
    for media, body in recorded["request"].items():
        operation["requestBody"]["content"][media]["example"] = body
    for status, by_media in recorded["answers"].items():
        for media, body in by_media.items():
            operation["responses"][status]["content"][media]["example"] = body
