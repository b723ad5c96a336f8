"""The matcher: a pattern compiled to a program, and run over the events of each key.

    cep.pattern ──► compiler ──► program ──► decision ──► machine ──► matches
                    (cursor, guards, automaton)           (runs, skip, conditions, codec)

The program is immutable, the run state is separate and can be written to bytes at any event.
"""

from cep.nfa.compiler.compile import CompiledPattern, compile_pattern
from cep.nfa.errors import (
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

__all__ = [
    "CompiledPattern",
    "ConditionFailed",
    "EventKeyError",
    "EventTimeError",
    "EventValueError",
    "LimitExceeded",
    "Limits",
    "MatchingError",
    "SkipTargetMissing",
    "StateEncodingError",
    "compile_pattern",
]
