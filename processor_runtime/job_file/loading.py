"""The text of a job file → `JobFile`; all problems are reported together, with line and column.

text ──► data and places ──► ${VARIABLES} ──► model ──► parts that must fit each other
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from cep.file_trouble import file_trouble
from cep.pattern import PatternError, Problem
from cep.pattern.document.text import SourceDocument, read_json_text, read_yaml_documents
from processor_runtime.job_file.consistency import inconsistencies
from processor_runtime.job_file.job import JobFile
from processor_runtime.job_file.problems import JobFileError, placed_in, validation_problems
from processor_runtime.job_file.variables import substitute

_LARGEST_BYTES: Final = 1_000_000


def load_job_file(path: Path, environment: Mapping[str, str]) -> JobFile:
    """Return the job that a file describes, YAML or (by its suffix) JSON.

    `environment`: the variables that replace `${NAME}` in values.

    Raises:
        JobFileError: the file cannot be read, or has invalid values.
    """
    return validated(path, read_job_text(path), environment)


def read_job_text(path: Path) -> SourceDocument:
    """Return the data in a job file with the places of its keys.

    Raises:
        JobFileError: the file cannot be read, or is not one YAML document.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST_BYTES + 1)
        text = data.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise _refused(path, f"cannot be read: {file_trouble(error)}.") from None
    if len(data) > _LARGEST_BYTES:
        raise _refused(path, f"larger than {_LARGEST_BYTES} bytes.", "Is it a job file?")
    try:
        is_json = path.suffix.lower() == ".json"
        documents = [read_json_text(text)] if is_json else read_yaml_documents(text)
    except PatternError as error:
        problems = [placed_in(SourceDocument(None), problem) for problem in error.problems]
        raise JobFileError(path, problems) from None
    if len(documents) != 1:
        raise _refused(path, f"{len(documents)} documents.", "Write one, with keys and values.")
    if not isinstance(documents[0].data, dict):
        raise _refused(path, "not a mapping.", "Write keys and values, such as `name: logins-job`.")
    return documents[0]


def validated(path: Path, document: SourceDocument, environment: Mapping[str, str]) -> JobFile:
    """Return the job that a document describes.

    Raises:
        JobFileError: it has invalid values; the message names `path`.
    """
    substitution = substitute(document, environment)
    problems = list(substitution.problems)
    unset = {problem.path for problem in problems}
    try:
        job = JobFile.model_validate(substitution.data)
    except ValidationError as error:
        found = validation_problems(error, JobFile, substitution.data, substitution.written)
        problems += [each for each in found if each.path not in unset]
    else:
        problems += inconsistencies(job)
        if not problems:
            return job
    raise JobFileError(path, [placed_in(document, problem) for problem in problems])


def _refused(path: Path, message: str, remedy: str = "") -> JobFileError:
    return JobFileError(path, [placed_in(SourceDocument(None), Problem("", message, remedy))])
