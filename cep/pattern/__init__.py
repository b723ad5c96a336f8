"""Patterns: the frozen tree, and everything that makes, checks and shows one."""

from cep.pattern.builder import Pattern
from cep.pattern.document.schema import document_json_schema
from cep.pattern.problems import PatternError, Problem
from cep.pattern.tree import AfterMatchSkip, PatternTree, SkipStrategy, WithinType
from cep.pattern.validation.size_limits import PatternTooLarge

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
