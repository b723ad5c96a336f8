"""Completes the OpenAPI document: names of operations, errors every route may answer, headers.

An operation is called as its function is; programs that are generated from the document keep these
names, so functions of routes are not renamed lightly.
"""

import re
import warnings
from collections.abc import Mapping
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from api.web.problems import Problem, documented

_OPEN_PATHS: Final = {"/healthz", "/readyz"}
_STORELESS_PATHS: Final = {"/healthz"}
_NOT_NOW: Final = (
    "The store is away, or too much is under way. With Retry-After nothing was changed."
)
_TEXT: Final = {"type": "string"}
_RETRY_AFTER: Final = {
    "Retry-After": {
        "description": "Seconds until it may be tried again.",
        "schema": {"type": "string", "pattern": "^[0-9]+$"},
    }
}
_ETAG: Final = {"ETag": {"description": "Names the state as it is.", "schema": _TEXT}}
_PAGE: Final = re.compile(r"Page_(\w+)_")
_HEADERS: Final[dict[str, dict[str, Any]]] = {
    "304": _ETAG,
    "401": {"WWW-Authenticate": {"description": "How to sign in.", "schema": _TEXT}},
    "412": _ETAG,
    "429": _RETRY_AFTER,
    "503": _RETRY_AFTER,
}


def operation_id(route: APIRoute) -> str:
    """Return what an operation is called."""
    return route.name


def describe(app: FastAPI, examples: Mapping[str, Any]) -> None:
    """Make `app.openapi` document the refusals of the shared parts of the service, and examples.

    Args:
        app: the service.
        examples: an example of each model that is answered, by the model's name.
    """

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _described(app, examples)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's documented way


def _described(app: FastAPI, examples: Mapping[str, Any]) -> dict[str, Any]:
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
    schemas = schema["components"]["schemas"]
    problem = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    problem.pop("$defs", None)
    schemas["Problem"] = problem
    schemas.pop("HTTPValidationError", None)
    schemas.pop("ValidationError", None)
    for path, operations in schema["paths"].items():
        operations.pop("head", None)  # wherever there is a GET, and like it
        for operation in operations.values():
            _add_refusals(operation, path)
            _add_examples(operation, examples)
    return schema


def _add_refusals(operation: dict[str, Any], path: str) -> None:
    statuses = [413, 422] if path in _OPEN_PATHS else [401, 403, 413, 422, 429]
    if "requestBody" in operation:
        statuses += [400, 408]
    if path not in _STORELESS_PATHS:
        statuses.append(503)
    answers = operation["responses"]
    answers.pop("422", None)
    for status, answer in documented(*statuses).items():
        answers.setdefault(str(status), answer)
    if "503" in answers:
        answers["503"]["description"] = _NOT_NOW
    for status, headers in _HEADERS.items():
        if status in answers:
            answers[status].setdefault("headers", headers)


def _add_examples(operation: dict[str, Any], examples: Mapping[str, Any]) -> None:
    for status, answer in operation["responses"].items():
        content = answer.get("content", {}).get("application/json")
        if status.startswith("2") and content is not None:
            example = _example(content["schema"], examples)
            if example is not None:
                content["example"] = example


def _example(schema: Mapping[str, Any], examples: Mapping[str, Any]) -> Any:
    """Return an example of what a schema describes, also a page or list of such; or `None`."""
    if schema.get("type") == "array":
        item = _example(schema["items"], examples)
        return None if item is None else [item]
    name = schema.get("$ref", "").rpartition("/")[2]
    if page := _PAGE.fullmatch(name):
        item = examples.get(page[1])
        return None if item is None else {"items": [item], "next_cursor": None}
    return examples.get(name)
