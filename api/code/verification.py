"""Is there Python code in a document, and is it signed with a key this service knows?

Signatures are verified here and code is never unpickled: that is for jobs, which verify again.
"""

from api.web.problems import Flaw, pattern_flaws
from cep.definition.document import ProcessorContent
from cep.pattern import Pattern
from cep.pattern.code import signed_codes
from cep.pattern.problems import Problem
from cep.signing.code import CodeRefused, CodeUse, SignedCode, verify
from cep.signing.keys import SigningKeys

_NO_KEYS = "Ask the operator to set PERCEPT_SIGNING_KEYS, or write it in SQL."
_NOT_VERIFIED = "Sign it again with a key that the service has, and send it unchanged."


def holds_code(content: ProcessorContent) -> bool:
    """Return whether a document has Python code anywhere, well-formed or not."""
    todo: list[object] = [content.pattern]
    while todo:
        match todo.pop():
            case {"python": _}:
                return True
            case dict() as mapping:
                todo += mapping.values()
            case list() as items:
                todo += items
            case _:
                continue
    return content.function is not None


def code_flaws(
    content: ProcessorContent, pattern: Pattern | None, keys: SigningKeys | None
) -> list[Flaw]:
    """Return a flaw for each piece of code that was not signed with one of the keys.

    Args:
        content: what a version is to hold.
        pattern: its pattern, if it could be read.
        keys: those of the service; without any, all code is refused.
    """
    remedy = _NO_KEYS if keys is None else _NOT_VERIFIED
    problems = [
        Problem(path, reason, remedy)
        for path, code in (signed_codes(pattern.tree) if pattern else ())
        if (reason := _refusal(code, keys, CodeUse.CONDITION))
    ]
    flaws = pattern_flaws(problems, "/pattern", content.pattern)
    function = content.function
    if function is not None and (reason := _refusal(function, keys, CodeUse.FUNCTION)):
        flaws.append(Flaw(pointer="/function", detail=reason, remedy=remedy))
    return flaws


def _refusal(code: SignedCode, keys: SigningKeys | None, use: CodeUse) -> str:
    try:
        verify(code, keys, use)
    except CodeRefused as refusal:
        return f"{refusal}."
    return ""
