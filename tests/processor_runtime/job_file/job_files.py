"""A small job file that tests change, and what is told when one is refused."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from processor_runtime.job_file import JobFile, JobFileError, load_job_file


def minimal(**changes: Any) -> dict[str, Any]:
    """Return a small job file as data; a change of `None` takes a key out."""
    document: dict[str, Any] = {
        "name": "logins-job",
        "stream": "logins",
        "source": {"format": "json", "path": "/data/logins"},
        "discoverer": {"type": "directory", "path": "/rules"},
        "outputs": [{"type": "console", "kinds": ["match", "error"]}],
        "checkpoint": "/checkpoints/logins",
    }
    return {key: value for key, value in (document | changes).items() if value is not None}


def written(folder: Path, document: Any) -> Path:
    """Write a job file and return its path."""
    path = folder / "job.yaml"
    text = document if isinstance(document, str) else yaml.safe_dump(document, sort_keys=False)
    path.write_text(text, encoding="utf-8")
    return path


def loaded(folder: Path, document: Any, environment: Mapping[str, str] | None = None) -> JobFile:
    return load_job_file(written(folder, document), environment or {})


def refusal(folder: Path, document: Any, environment: Mapping[str, str] | None = None) -> str:
    """Return what is told of a job file that is refused, without the file's name in each line."""
    with pytest.raises(JobFileError) as refused:
        loaded(folder, document, environment)
    return str(refused.value).replace(f"{folder / 'job.yaml'}: ", "")
