"""Whether the values of an expression can be keys: what a key selector may name.

checked expression + schema ──key_problem──► nothing, or what is wrong
"""

from typing import Final

from cep.expression.checking.inference import type_of
from cep.expression.checking.resolve import resolve
from cep.expression.errors import Problem, problem_at
from cep.expression.expression import Expression
from cep.expression.types import Kind, Schema

_NO_KEYS: Final = frozenset({Kind.ARRAY, Kind.STRUCT, Kind.OTHER})
"""Types whose values Python cannot look up, or expressions cannot read."""


def key_problem(expression: Expression, schema: Schema) -> Problem | None:
    """Return why an expression that fits the schema makes no key; `None` if it does."""
    data_type = type_of(resolve(expression, (), schema), schema)
    if data_type.kind not in _NO_KEYS:
        return None
    message = f"a value of type {data_type} cannot be a key"
    hint = "name plain columns, or fields of a structure"
    return problem_at(expression.text, (0, len(expression.text)), message, hint)
