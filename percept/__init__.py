"""The public API of Percept, in one package.

    patterns       Pattern, AfterMatchSkip, WithinType, Schema
    matching       find_matches, iter_matches; KeyedMatcher, BatchMatcher and their state as bytes
    row patterns   match_recognize: MATCH_RECOGNIZE of the SQL standard, over a list of rows
    matches        PatternProcessFunction, select, flat_select, SelectExpressions, process
    Spark          match_patterns, on any DataFrame        (extra `spark`)
    rule service   Client and its errors                   (extra `client`); `percept.client`
    Python code    SigningKey, SigningKeys, CodePlace, CodeRefused
    discoverers    `percept.discoverers`, for custom discoverers

A name is imported on first use, so `import percept` is fast and needs no extra.
"""

import importlib
import importlib.metadata
from typing import TYPE_CHECKING, Any, Final

from percept._packages import own_packages

if TYPE_CHECKING:
    from cep.events.table import UnreadableEvents
    from cep.expression import EvaluationError, ExpressionError, ExpressionTooLarge, Schema
    from cep.keyed.event_check import EventWarning
    from cep.keyed.matcher import KeyedMatcher
    from cep.keyed.shapes import Detection
    from cep.matching.batch import BatchMatcher
    from cep.matching.find_matches import (
        Match,
        MatchResult,
        TimedOutMatch,
        find_matches,
        iter_matches,
    )
    from cep.matching.match_recognize import RecognizedRows, match_recognize
    from cep.matching.matcher_state import encode_matcher, restore_matcher
    from cep.nfa.errors import (
        CodeNotLoaded,
        ConditionFailed,
        EventKeyError,
        EventTimeError,
        EventValueError,
        LimitExceeded,
        MatchingError,
        SkipTargetMissing,
        StateEncodingError,
    )
    from cep.nfa.limits import Limits
    from cep.pattern import (
        AfterMatchSkip,
        Pattern,
        PatternError,
        PatternTooLarge,
        SkipStrategy,
        WithinType,
    )
    from cep.processor import (
        Output,
        PatternProcessFunction,
        PatternProcessor,
        ProcessContext,
        SelectExpressions,
        Steps,
        TimedOutPartialMatchHandler,
        flat_select,
        process,
        select,
    )
    from cep.row_pattern.errors import ClauseError
    from cep.row_search.errors import RowPatternFailure
    from cep.signing.code import CodePlace, CodeRefused
    from cep.signing.keys import SigningKey, SigningKeys
    from percept.client import (
        Client,
        Conflict,
        Flaw,
        Invalid,
        NotAllowed,
        NotFound,
        NotRunning,
        Outdated,
        ServiceError,
        Unreachable,
    )
    from percept.spark import PatternMatches, match_patterns

    __version__: str

__all__ = [
    "AfterMatchSkip",
    "BatchMatcher",
    "ClauseError",
    "Client",
    "CodeNotLoaded",
    "CodePlace",
    "CodeRefused",
    "ConditionFailed",
    "Conflict",
    "Detection",
    "EvaluationError",
    "EventKeyError",
    "EventTimeError",
    "EventValueError",
    "EventWarning",
    "ExpressionError",
    "ExpressionTooLarge",
    "Flaw",
    "Invalid",
    "KeyedMatcher",
    "LimitExceeded",
    "Limits",
    "Match",
    "MatchResult",
    "MatchingError",
    "NotAllowed",
    "NotFound",
    "NotRunning",
    "Outdated",
    "Output",
    "Pattern",
    "PatternError",
    "PatternMatches",
    "PatternProcessFunction",
    "PatternProcessor",
    "PatternTooLarge",
    "ProcessContext",
    "RecognizedRows",
    "RowPatternFailure",
    "Schema",
    "SelectExpressions",
    "ServiceError",
    "SigningKey",
    "SigningKeys",
    "SkipStrategy",
    "SkipTargetMissing",
    "StateEncodingError",
    "Steps",
    "TimedOutMatch",
    "TimedOutPartialMatchHandler",
    "Unreachable",
    "UnreadableEvents",
    "WithinType",
    "__version__",
    "encode_matcher",
    "find_matches",
    "flat_select",
    "iter_matches",
    "match_patterns",
    "match_recognize",
    "process",
    "restore_matcher",
    "select",
]

# The same as the imports for type checkers above; a test compares them.
_NAMES: Final = {
    "cep.events.table": "UnreadableEvents",
    "cep.expression": "EvaluationError ExpressionError ExpressionTooLarge Schema",
    "cep.keyed.event_check": "EventWarning",
    "cep.keyed.matcher": "KeyedMatcher",
    "cep.keyed.shapes": "Detection",
    "cep.matching.batch": "BatchMatcher",
    "cep.matching.find_matches": "Match MatchResult TimedOutMatch find_matches iter_matches",
    "cep.matching.match_recognize": "RecognizedRows match_recognize",
    "cep.matching.matcher_state": "encode_matcher restore_matcher",
    "cep.nfa.errors": """
        CodeNotLoaded ConditionFailed EventKeyError EventTimeError EventValueError
        LimitExceeded MatchingError SkipTargetMissing StateEncodingError
    """,
    "cep.nfa.limits": "Limits",
    "cep.pattern": "AfterMatchSkip Pattern PatternError PatternTooLarge SkipStrategy WithinType",
    "cep.processor": """
        Output PatternProcessFunction PatternProcessor ProcessContext SelectExpressions
        Steps TimedOutPartialMatchHandler flat_select process select
    """,
    "cep.row_pattern.errors": "ClauseError",
    "cep.row_search.errors": "RowPatternFailure",
    "cep.signing.code": "CodePlace CodeRefused",
    "cep.signing.keys": "SigningKey SigningKeys",
    "percept.client": """
        Client Conflict Flaw Invalid NotAllowed NotFound NotRunning Outdated ServiceError
        Unreachable
    """,
    "percept.spark": "PatternMatches match_patterns",
}
_HOMES: Final = {name: module for module, names in _NAMES.items() for name in names.split()}

if not TYPE_CHECKING:  # else a name that does not exist would be `Any`

    def __getattr__(name: str) -> Any:
        """Return a public name, imported now; see `own_packages` for what may be wrong with it."""
        if name == "__version__":
            value: Any = importlib.metadata.version("percept")
        elif name in _HOMES:
            with own_packages("cep"):
                value = getattr(importlib.import_module(_HOMES[name]), name)
        else:
            raise AttributeError(f"module 'percept' has no attribute '{name}'")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return list(__all__)
