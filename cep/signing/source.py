"""The source text of Python code, for people to read beside the pickled code; nothing runs it.

    function ──source_of──► text in `SignedCode.source` ──► pages that show and compare rules

It is what stood in the file when the code was signed. Pickled code is what runs: a module that is
named only may be another one where it is loaded.
"""

import ast
import dataclasses
import functools
import inspect
import textwrap
from collections.abc import Iterator
from types import FunctionType
from typing import Any, Final

MAXIMUM_SOURCE_CHARACTERS: Final = 20_000

_LAMBDA: Final = "<lambda>"
_LIBRARY: Final = "cep"
_DEEPEST: Final = 8


def source_of(code: Any) -> str | None:
    """Return the text of a function, or of the class of an object; `None` where there is none.

    Of `select(function)` and the like it is that of the functions, of a lambda its own text
    without what stands beside it. A longer text than `MAXIMUM_SOURCE_CHARACTERS` is cut after a
    line, and says so.
    """
    texts = dict.fromkeys(text for each in _written_parts(code, 0) if (text := _text_of(each)))
    joined = "\n\n".join(texts)
    try:
        joined.encode()
    except UnicodeEncodeError:
        return None
    if not joined or "\x00" in joined:
        return None
    # With a line break at its end, YAML has several lines as a block.
    return _bounded(f"{joined}\n" if "\n" in joined else joined)


def _written_parts(code: Any, depth: int) -> Iterator[Any]:
    """Yield what somebody has written, out of what the library and functools wrap around it."""
    if depth > _DEEPEST:
        return
    if isinstance(code, functools.partial):
        yield from _written_parts(code.func, depth + 1)
    elif inspect.isroutine(code) or inspect.isclass(code):
        yield code
    elif type(code).__module__.partition(".")[0] == _LIBRARY and dataclasses.is_dataclass(code):
        for field in dataclasses.fields(code):
            value = getattr(code, field.name)
            if callable(value) or dataclasses.is_dataclass(value):
                yield from _written_parts(value, depth + 1)
    else:
        yield type(code)


def _text_of(code: Any) -> str | None:
    try:
        if isinstance(code, FunctionType) and code.__name__ == _LAMBDA:
            return _text_of_lambda(code)
        return textwrap.dedent(inspect.getsource(code)).strip("\n")
    # Whatever a file holds by now: no text is needed to run the code.
    except (OSError, TypeError, SyntaxError, ValueError, RecursionError, IndexError):
        return None


def _text_of_lambda(function: FunctionType) -> str | None:
    """Return a lambda alone: its line may hold anything else, secrets among it."""
    lines, _ = inspect.findsource(function)
    whole = "".join(lines)
    found = [
        node
        for node in ast.walk(ast.parse(whole))
        if isinstance(node, ast.Lambda) and node.lineno == function.__code__.co_firstlineno
    ]
    if len(found) != 1:
        return None
    text = ast.get_source_segment(whole, found[0])
    if text is None:
        return None
    first, *rest = text.splitlines()
    return "\n".join([first, *textwrap.dedent("\n".join(rest)).splitlines()])


def _bounded(text: str) -> str:
    if len(text) <= MAXIMUM_SOURCE_CHARACTERS:
        return text
    note = "\n# … the rest is not shown\n"
    kept, _, _ = text[: MAXIMUM_SOURCE_CHARACTERS - len(note)].rpartition("\n")
    return kept + note
