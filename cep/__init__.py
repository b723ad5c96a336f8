"""Percept's pattern language and matcher: what one pattern means, with neither Spark nor a service.

expression/     SQL expressions over an event and over the events accepted so far
events/         files of events as tables, JSON values as those of columns
pattern/        the pattern tree; builder, document and printed form; validation
row_pattern/    MATCH_RECOGNIZE of the SQL standard: text, tree, names and types
row_search/     the search for row patterns, and the rows it outputs
nfa/            from a tree to a program, and the machine that runs it
matching/       matchers: one pattern over a list of events, or many rules over many keys
definition/     the document of a processor, and all its checks
signing/        Python code in documents, signed
processor.py    what is done with matches
bounded_cache.py  what is computed once and kept, up to a bound
"""

from cep.events.table import UnreadableEvents
from cep.expression import Schema
from cep.keyed.event_check import EventWarning
from cep.keyed.matcher import KeyedMatcher
from cep.keyed.shapes import Detection
from cep.matching.batch import BatchMatcher
from cep.matching.find_matches import Match, MatchResult, TimedOutMatch, find_matches, iter_matches
from cep.matching.match_recognize import RecognizedRows, match_recognize
from cep.nfa import Limits
from cep.pattern import AfterMatchSkip, Pattern, PatternError
from cep.processor import (
    Output,
    PatternProcessFunction,
    PatternProcessor,
    ProcessContext,
    SelectExpressions,
    TimedOutPartialMatchHandler,
    flat_select,
    process,
    select,
)
from cep.row_pattern.errors import ClauseError
from cep.row_search.errors import RowPatternFailure

__all__ = [
    "AfterMatchSkip",
    "BatchMatcher",
    "ClauseError",
    "Detection",
    "EventWarning",
    "KeyedMatcher",
    "Limits",
    "Match",
    "MatchResult",
    "Output",
    "Pattern",
    "PatternError",
    "PatternProcessFunction",
    "PatternProcessor",
    "ProcessContext",
    "RecognizedRows",
    "RowPatternFailure",
    "Schema",
    "SelectExpressions",
    "TimedOutMatch",
    "TimedOutPartialMatchHandler",
    "UnreadableEvents",
    "find_matches",
    "flat_select",
    "iter_matches",
    "match_recognize",
    "process",
    "select",
]
