"""Patterns: the frozen tree, and everything that makes, checks and shows one."""

from cep.pattern.after_match import AfterMatchSkip
from cep.pattern.builder import Pattern
from cep.pattern.document import document_json_schema
from cep.pattern.problems import PatternError, Problem
from cep.pattern.size_limits import PatternTooLarge
from cep.pattern.tree import PatternTree, SkipStrategy, WithinType

__all__ = [
    "AfterMatchSkip",
    "Pattern",
    "PatternError",
    "PatternTooLarge",
    "PatternTree",
    "Problem",
    "SkipStrategy",
    "WithinType",
    "document_json_schema",
]
