"""From Python objects to the document of a processor; callables in it are signed on the way."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import ModuleType
from typing import Any, TypedDict

from cep.pattern import Pattern
from cep.processor import PatternProcessFunction
from cep.signing.code import CodePlace, CodeUse, sign
from cep.signing.keys import SigningKeys

Moment = datetime | str | int
"""A point in event time: a datetime with a zone, ISO 8601, or milliseconds since 1970."""


class ProcessorParts(TypedDict, total=False):
    """The keys of a processor document besides id, stream and pattern; see `ProcessorDocument`.

    `modules` are modules that its Python code uses and jobs do not have; they are included in it.
    """

    key_by: str | Sequence[str] | None
    select: Mapping[str, str]
    function: PatternProcessFunction
    modules: Sequence[ModuleType]
    on_update: str
    alert: Mapping[str, Any]
    limits: Mapping[str, int]
    severity: str
    effective_from: Moment
    effective_until: Moment
    examples: Sequence[Mapping[str, Any]]
    description: str
    owner: str
    tags: Sequence[str]


def processor_document(
    stream: str,
    processor_id: str,
    pattern: Pattern | Mapping[str, Any],
    parts: ProcessorParts,
    keys: SigningKeys | None,
) -> dict[str, Any]:
    """Return the document of a processor.

    Args:
        stream: the stream it watches.
        processor_id: its id.
        pattern: a pattern, or the document of one.
        parts: everything else.
        keys: the newest signs the Python code, if there is any.

    Raises:
        PatternError: the pattern holds Python code and there is no key, or it cannot be pickled.
        CodeRefused: the process function cannot be pickled, or is too large.
        TypeError: the function is not a PatternProcessFunction.
        ValueError: there is a function and no key to sign it.
    """
    modules = parts.get("modules", ())
    place = CodePlace(stream=stream, processor=processor_id)
    document: dict[str, Any] = {
        "id": processor_id,
        "stream": stream,
        "pattern": _pattern_document(pattern, modules, keys, place),
    }
    for key, value in parts.items():
        match value:
            case PatternProcessFunction():
                document[key] = _function_document(value, modules, keys, place)
            case datetime():
                document[key] = value.isoformat()
            case _ if key == "function":
                raise TypeError(
                    f"function is a PatternProcessFunction, not {value!r}; `cep.select` and "
                    "`cep.flat_select` make one of a callable"
                )
            case _ if key != "modules":
                document[key] = value
    return document


def _pattern_document(
    pattern: Pattern | Mapping[str, Any],
    modules: Sequence[ModuleType],
    keys: SigningKeys | None,
    place: CodePlace,
) -> dict[str, Any]:
    if not isinstance(pattern, Pattern):
        return dict(pattern)
    signed = pattern if keys is None else pattern.sign_code(keys, modules, place)
    return signed.to_document()


def _function_document(
    function: PatternProcessFunction,
    modules: Sequence[ModuleType],
    keys: SigningKeys | None,
    place: CodePlace,
) -> dict[str, Any]:
    if keys is None:
        raise ValueError("a function must be signed: give the client signing_keys")
    return sign(function, keys.newest, CodeUse.FUNCTION, modules, place=place).to_document()
