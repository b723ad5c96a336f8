"""The state of the service → files that `percept apply` finds unchanged.

DIR/streams/NAME.yaml
DIR/lists/STREAM/NAME.yaml and NAME.csv
DIR/processors/STREAM/ID.yaml
"""

import csv
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from pathlib import Path
from typing import Any

from api.client import Client, ProcessorLine, ValueListLine
from api.gitops.checking import content_of, labels_of
from api.gitops.comparison import published_documents
from api.gitops.list_planning import in_effect, lines_of
from api.gitops.planning import REQUESTS_AT_ONCE
from cep.definition.document import ProcessorDocument
from cep.definition.text import in_usual_order, json_text
from cep.list_content import csv_cell, value_in_cell
from cep.pattern import Pattern
from cep.pattern.document.yaml_writing import yaml_text


class FileFormat(StrEnum):
    """How files are written."""

    YAML = "yaml"
    JSON = "json"


def export(
    client: Client, folder: Path, stream: str | None, file_format: FileFormat
) -> Iterator[Path]:
    """Write everything that is published; yield each file once it is written.

    Args:
        client: the service.
        folder: the target; created if it does not exist, files of the same name are replaced.
        stream: the only stream; all if left out.
        file_format: YAML or JSON.

    Raises:
        ServiceError: the service does not answer.
        OSError: a file cannot be written.
    """
    streams = [client.stream(stream)] if stream else client.streams()
    with ThreadPoolExecutor(REQUESTS_AT_ONCE) as pool:
        for each in streams:
            yield _write(folder / "streams" / each.name, [each.document], file_format)
            for listed in client.lists(each.name).all():
                yield from _write_list(client, folder, listed, file_format)
            lines = client.processors(each.name)
            for line, documents in pool.map(lambda line: (line, _documents(client, line)), lines):
                path = folder / "processors" / line.stream / line.id
                yield _write(path, documents, file_format)


def _documents(client: Client, line: ProcessorLine) -> list[dict[str, Any]]:
    """Return a processor as documents, one per version; labels are in the first."""
    processor = client.get(line.id)
    documents: list[dict[str, Any]] = []
    for published in published_documents(client, processor):
        document = ProcessorDocument.model_validate(published)
        content = content_of(document, Pattern.from_document(document.pattern))
        if not documents:
            content |= {key: value for key, value in labels_of(document).items() if value}
            content |= {"paused": True} if processor.is_paused else {}
        documents.append(in_usual_order(content))
    return documents


def _write_list(
    client: Client, folder: Path, line: ValueListLine, file_format: FileFormat
) -> Iterator[Path]:
    """Write the document of a list, and the values that are in effect now as they come."""
    lists = client.lists(line.stream)
    path = folder / "lists" / line.stream / line.name
    values = path.with_name(f"{path.name}.csv")
    document = {"list": line.name, "stream": line.stream, "type": line.data_type}
    document |= {"description": line.description} if line.description else {}
    yield _write(path, [document | {"file": values.name}], file_format)
    version = in_effect(line).version
    with (
        lists.csv(line.name, version=version) as pieces,
        values.open("w", encoding="utf-8", newline="") as file,
    ):
        # csv would end lines as Windows does.
        cells = (row[0] for row in csv.reader(lines_of(pieces)) if row)
        file.writelines(f"{csv_cell(value_in_cell(cell))}\n" for cell in cells)
    yield values


def _write(path: Path, documents: list[dict[str, Any]], file_format: FileFormat) -> Path:
    # An id may contain dots: `with_suffix` would cut at the last one.
    file = path.with_name(f"{path.name}.{file_format.value}")
    write = json_text if file_format is FileFormat.JSON else yaml_text
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(write(documents), encoding="utf-8")
    return file
