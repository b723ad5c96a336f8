"""Expressions and values made to take for ever or to fill the memory; run as a process of its own.

It prints the name of each as soon as it has been parsed, checked and evaluated in both ways, or
refused. What hangs is not printed, nor is what comes after it.
"""

import sys
from contextlib import suppress
from typing import Any, Final

import polars as pl

from cep.expression import (
    EvaluationError,
    Expression,
    ExpressionError,
    Schema,
    check,
    compile_columnar,
    compile_predicate,
    resolve,
)

SCHEMA: Final = Schema.from_ddl(
    "s STRING, n BIGINT, m BIGINT, x DOUBLE, f BOOLEAN, ts TIMESTAMP, g INTERVAL"
)
LONG: Final = 200_000


def _nested(before: str, after: str, levels: int, innermost: str) -> str:
    return before * levels + innermost + after * levels


def _either(condition: str) -> str:
    count = 9_900 // len(f"{condition} OR ")
    return " OR ".join([condition] * count)


HOSTILE: Final[dict[str, tuple[str, str]]] = {
    "many ways to match": ("s RLIKE 'a*a*a*a*a*a*a*a*b'", "a" * LONG),
    "nested repetitions": ("s RLIKE '^((a+)+)+$'", "a" * LONG + "b"),
    "alternatives that overlap": ("s RLIKE '^(a|aa|a.)*$'", "a" * LONG + "\n"),
    "lazy repetitions": ("s RLIKE '^(.*?a){20}$'", "a" * LONG + "b"),
    "LIKE of many parts": ("s LIKE '%a_a%a_a%a_a%a_a%b_c'", "a" * LONG),
    "LIKE of a long part": (f"s LIKE '%{'a' * 900}_b%c'", "a" * LONG),
    "digits that are no number": ("CAST(s AS INT) = 1", "9" * LONG + "x"),
    "digits that are no double": ("CAST(s AS DOUBLE) = 1", "9" * LONG + "x"),
    "digits that are no decimal": ("CAST(s AS DECIMAL(38,18)) = 1", "9" * LONG + "x"),
    "a huge number": ("CAST(s AS BIGINT) = 1", "9" * LONG),
    "blanks instead of a time": ("CAST(s AS TIMESTAMP) = ts", "2024-01-31" + " " * LONG + "x"),
    "remainders of remainders": ("n" + " % m" * 60 + " = 1", "a"),
    "quotients of quotients": ("x" + " / m" * 60 + " = 1", "a"),
    "sums of intervals": ("ts" + " + g" * 60 + " = ts", "a"),
    "distinct from distinct": (_nested("(", " IS DISTINCT FROM f)", 23, "f"), "a"),
    "members of members": (_nested("(", " IN (f, f, n = 1))", 23, "f"), "a"),
    "BETWEEN in BETWEEN": (_nested("(", " BETWEEN f AND f)", 23, "f"), "a"),
    "NULLIF in NULLIF": (_nested("NULLIF(", ", 1)", 23, "n") + " = 1", "a"),
    "CASE in CASE": (_nested("CASE ", " WHEN 1 THEN 1 WHEN 2 THEN 2 END", 23, "n") + " = 1", "a"),
    "CASE of an aggregate": (_nested("NULLIF(", ", 1)", 20, f"SUM(a.n{' + a.n' * 30})"), "a"),
    "one OR of the same": (_either("f AND x > 1"), "a"),
    "one OR of many": (" OR ".join(f"x = {number}" for number in range(900)), "a"),
    "a long list": (f"n IN ({', '.join(['m'] * 3_000)})", "a"),
    "large regular expressions": (_either("s RLIKE '.{1000}'"), "a"),
    "the same text a hundred times": (f"CONCAT({', '.join(['s'] * 99)}) = 'a'", "a" * 10_000_000),
    "a long row of texts": (_nested("CONCAT(", ", s, s, s)", 23, "s") + " = 'a'", "a" * 65_000),
    "a type of many digits": (f"CAST(n AS DECIMAL({'9' * 5_000}, 1)) = 1", "a"),
    "an interval of many digits": (f"g > INTERVAL '{'9' * 9_000}x' DAY", "a"),
}


def _evaluate(text: str, value: str) -> None:
    """Do all that a service and a job do with a condition."""
    expression = Expression.parse(text)
    check(expression, schema=SCHEMA, steps=["a"])
    node = resolve(expression, ["a"], SCHEMA)
    event: dict[str, Any] = {"s": value, "n": 7, "m": 3, "x": 2.5, "f": True, "ts": None, "g": None}
    compile_predicate(node, slot_of=lambda _aggregate: 0)(event, [1])
    frame = pl.DataFrame([event] * 2, schema=SCHEMA.to_polars())
    frame.select(found=compile_columnar(node, SCHEMA))


if __name__ == "__main__":
    for name, (text, value) in HOSTILE.items():
        with suppress(ExpressionError, EvaluationError):
            _evaluate(text, value)
        sys.stdout.write(f"{name}\n")
        sys.stdout.flush()
