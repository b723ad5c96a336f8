"""The text of a file → the documents in it, as plain data with the places of their keys.

A file holds one document, a list of them or, in YAML, several between lines of `---`. Files for
`percept apply` have the same form, so that one folder serves both.
"""

from typing import Final

from cep.pattern.document.text import SourceDocument, items_of, read_json_text, read_yaml_documents
from cep.pattern.problems import PatternError, Problem

SUFFIXES: Final = (".yaml", ".yml", ".json")


class FileRefused(ValueError):
    """A text holds no documents; the message says where and why."""


def read_documents(text: str, suffix: str) -> list[SourceDocument]:
    """Return the documents in a text, in order; lines and columns are those of the whole text.

    `suffix`, one of `SUFFIXES`, names the format.

    Raises:
        FileRefused: the text does not have that format, or contains more than documents.
    """
    try:
        read = [read_json_text(text)] if suffix == ".json" else read_yaml_documents(text)
    except PatternError as error:
        raise FileRefused("\n".join(map(_said, error.problems))) from None
    documents = [document for each in read for document in items_of(each)]
    for document in documents:
        if not isinstance(document.data, dict):
            mark = document.mark("")
            where = "" if mark is None else f"line {mark.line}, column {mark.column}: "
            raise FileRefused(
                f"{where}not a document. Write keys with values, or a list of such documents."
            )
    return documents


def _said(problem: Problem) -> str:
    where = "" if problem.line is None else f"line {problem.line}, column {problem.column}: "
    return f"{where}{problem.message} {problem.remedy}".rstrip()
