"""Adds to the OpenAPI document the errors that every route may answer."""

import warnings
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from api.web.problems import Problem, documented

_OPEN_PATHS = {"/healthz", "/readyz"}


def describe(app: FastAPI) -> None:
    """Make `app.openapi` document the refusals of the shared parts of the service."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _described(app)
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
    schemas = schema["components"]["schemas"]
    problem = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    problem.pop("$defs", None)
    schemas["Problem"] = problem
    schemas.pop("HTTPValidationError", None)
    schemas.pop("ValidationError", None)
    for path, operations in schema["paths"].items():
        operations.pop("head", None)  # wherever there is a GET, and like it
        for operation in operations.values():
            _add_refusals(operation, is_open=path in _OPEN_PATHS)
    return schema


def _add_refusals(operation: dict[str, Any], *, is_open: bool) -> None:
    statuses = [413, 422] if is_open else [401, 403, 413, 422, 429]
    if "requestBody" in operation:
        statuses.append(400)
    answers = operation["responses"]
    answers.pop("422", None)
    for status, answer in documented(*statuses).items():
        answers.setdefault(str(status), answer)
