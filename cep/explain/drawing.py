"""A clause → nested data from which the dashboard draws it, so that the browser needs no parser.

Every part is a mapping with a `kind`: `variable`, `sequence`, `alternation`, `permutation`,
`exclusion`, `repetition`, `partition_start`, `partition_end`.
"""

from typing import Any

from cep.pattern.durations import duration_text
from cep.row_pattern.clause import (
    Alternation,
    Clause,
    Concatenation,
    Exclusion,
    PartitionEnd,
    PartitionStart,
    Permutation,
    Repetition,
    RowPattern,
    Variable,
)
from cep.row_pattern.writing import quantifier_text, scalar_text, written_clause

Drawing = dict[str, Any]


def row_drawing(clause: Clause) -> Drawing:
    """Return what is drawn of a clause.

    `pattern` is the tree of its pattern, `within` a duration in words ("" = none), `skip` where the
    search goes on, `output` what a match outputs, `measures` the columns it computes, `subsets` its
    union variables, `text` the clause in its normalised form.
    """
    conditions = {d.variable.folded: scalar_text(d.condition) for d in clause.definitions}
    variable = clause.skip.variable
    return {
        "kind": "row_pattern",
        "pattern": _part(clause.pattern, conditions),
        "within": "" if clause.within_ms is None else duration_text(clause.within_ms),
        "skip": {
            "to": clause.skip.to.value,
            "variable": "" if variable is None else variable.folded,
        },
        "output": clause.rows_per_match.value,
        "measures": [
            {"name": measure.name.text, "expression": scalar_text(measure.expression)}
            for measure in clause.measures
        ],
        "subsets": [
            {"name": subset.name.folded, "members": [member.folded for member in subset.members]}
            for subset in clause.subsets
        ],
        "text": written_clause(clause),
    }


def _part(  # noqa: PLR0911 - one line per kind of pattern
    pattern: RowPattern, conditions: dict[str, str]
) -> Drawing:
    match pattern:
        case Variable(name=name):
            condition = conditions.get(name.folded, "")
            return {"kind": "variable", "name": name.folded, "condition": condition}
        case Concatenation(parts=parts):
            return {"kind": "sequence", "parts": [_part(part, conditions) for part in parts]}
        case Alternation(alternatives=alternatives):
            return {"kind": "alternation", "parts": [_part(a, conditions) for a in alternatives]}
        case Permutation(parts=parts):
            return {"kind": "permutation", "parts": [_part(part, conditions) for part in parts]}
        case Exclusion(inner=inner):
            return {"kind": "exclusion", "inner": _part(inner, conditions)}
        case Repetition(inner=inner, minimum=minimum, maximum=maximum):
            return {
                "kind": "repetition",
                "inner": _part(inner, conditions),
                "minimum": minimum,
                "maximum": maximum,
                "is_reluctant": pattern.is_reluctant,
                "quantifier": quantifier_text(pattern),
            }
        case PartitionStart():
            return {"kind": "partition_start"}
        case PartitionEnd():
            return {"kind": "partition_end"}
