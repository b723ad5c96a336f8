"""Plain data → YAML as people write it: a text of several lines is a block of lines.

`text` reads it back, character by character the same.
"""

import json
from collections.abc import Iterable
from typing import Any, Final

import yaml
from yaml.emitter import ScalarAnalysis

_WIDTH: Final = 100


def yaml_text(documents: Iterable[Any]) -> str:
    """Return documents as YAML, keys in the order they have."""
    written = list(documents)
    # PyYAML writes some line breaks, such as U+0085, without escaping and reads a space back.
    printable = json.dumps(written, ensure_ascii=False).isprintable()
    text: str = yaml.dump_all(
        written, Dumper=_Dumper, sort_keys=False, allow_unicode=printable, width=_WIDTH
    )
    return text


class _Dumper(yaml.SafeDumper):
    """Writes clauses and other texts of several lines as `|` blocks, where that loses nothing."""

    def analyze_scalar(self, scalar: str) -> ScalarAnalysis:
        """Return which styles are right for a text; tabs and spaces at line ends are in a block."""
        analysis: ScalarAnalysis = super().analyze_scalar(scalar)
        if _is_block(scalar) and (self.allow_unicode or scalar.isascii()):
            analysis.allow_block = True
        return analysis


def _is_block(text: str) -> bool:
    """Return whether a text has lines and ends with one; only then a block keeps all of it."""
    has_lines = "\n" in text.strip("\n ")
    is_plain = all(line.isprintable() for line in text.replace("\t", " ").split("\n"))
    return has_lines and is_plain and not text.endswith((" ", "\t", "\n\n")) and text[0] != "\t"


def _represented(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if _is_block(text) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represented)
