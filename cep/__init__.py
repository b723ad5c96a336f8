"""Percept's pattern language and matcher: what one pattern means, with neither Spark nor a service.

`expression/` holds SQL expressions over an event and over the events accepted so far, `pattern/`
the pattern tree with builder, document, printed form and validation.
"""

from cep.expression import Schema
from cep.pattern import AfterMatchSkip, Pattern, PatternError

__all__ = ["AfterMatchSkip", "Pattern", "PatternError", "Schema"]
