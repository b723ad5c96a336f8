"""Percept's pattern language and matcher: what one pattern means, with neither Spark nor a service.

expression/  SQL expressions over an event and over the events accepted so far
pattern/     the pattern tree; builder, document and printed form; validation
nfa/         compiler and matcher
keyed.py     many rules over many keys;  batch.py feeds it from Polars frames
matching.py  find_matches(): one pattern over a list or stream of events
processor.py what is done with matches
"""

from cep.batch import BatchMatcher
from cep.expression import Schema
from cep.keyed import KeyedMatcher
from cep.matching import Match, MatchResult, TimedOutMatch, find_matches, iter_matches
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
from cep.shapes import Detection

__all__ = [
    "AfterMatchSkip",
    "BatchMatcher",
    "Detection",
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
    "Schema",
    "SelectExpressions",
    "TimedOutMatch",
    "TimedOutPartialMatchHandler",
    "find_matches",
    "flat_select",
    "iter_matches",
    "process",
    "select",
]
