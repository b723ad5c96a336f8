"""The JSON Schema of job files, for completion and checks in editors."""

from typing import Any

from processor_runtime.job_file.job import JobFile

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def job_file_schema() -> dict[str, Any]:
    """Return the JSON Schema of a job file."""
    return {"$schema": _DIALECT, **JobFile.model_json_schema(), "title": "Percept job file"}
