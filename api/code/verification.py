"""Is there Python code in a document, and is it signed with a key this service knows?

Signatures are verified here and code is never unpickled: that is for jobs, which verify again.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from cep.pattern.problems import Problem
from cep.signing.code import CodePlace, CodeRefused, CodeUse, SignedCode, verify
from cep.signing.keys import SigningKeys

_NO_KEYS = "Ask the operator to set PERCEPT_SIGNING_KEYS, or write it in SQL."
_NOT_VERIFIED = "Sign it again with a key that the service has, and send it unchanged."


def holds_code(document: Mapping[str, Any]) -> bool:
    """Return whether a document has Python code anywhere, well-formed or not."""
    return any(True for _ in _codes(document))


def place_of(document: Mapping[str, Any]) -> CodePlace | None:
    """Return which rule a document is of, `None` if it does not say."""
    try:
        return CodePlace.model_validate(
            {"stream": document.get("stream"), "processor": document.get("id")}
        )
    except ValidationError:
        return None


def code_problems(
    document: Mapping[str, Any], keys: SigningKeys | None, place: CodePlace | None
) -> list[Problem]:
    """Return a problem for each piece of code that was not signed for this with one of the keys.

    Code of the wrong shape is skipped; the check of the document reports it.

    Args:
        document: what a version is to hold.
        keys: those of the service; without any, all code is refused.
        place: the rule the document is of.
    """
    remedy = _NO_KEYS if keys is None else _NOT_VERIFIED
    return [
        Problem(path, reason, remedy)
        for path, code, use in _codes(document)
        if (reason := _refusal(code, keys, use, place))
    ]


def _codes(document: Mapping[str, Any]) -> Iterator[tuple[str, Any, CodeUse]]:
    """Yield what stands where code would, with its path and what it would be for."""
    todo: list[tuple[str, Any]] = [("pattern", document.get("pattern"))]
    while todo:
        path, value = todo.pop()
        match value:
            case {"python": code}:
                yield f"{path}.python", code, CodeUse.CONDITION
            case dict() as mapping:
                todo += [(f"{path}.{key}", inner) for key, inner in reversed(mapping.items())]
            case list() as items:
                indexed = [(f"{path}[{index}]", item) for index, item in enumerate(items)]
                todo += reversed(indexed)
            case _:
                continue
    if document.get("function") is not None:
        yield "function", document["function"], CodeUse.FUNCTION


def _refusal(code: Any, keys: SigningKeys | None, use: CodeUse, place: CodePlace | None) -> str:
    try:
        verify(SignedCode.model_validate(code), keys, use, place)
    except ValidationError:
        return ""
    except CodeRefused as refusal:
        return f"{refusal}."
    return ""
