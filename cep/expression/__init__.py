"""SQL expressions over one event and over the events a partial match has accepted.

The pipeline: text -> `Expression.parse` -> `check` (types) -> `resolve` (which names are steps) ->
`split` (what one event decides, and the rest) -> `compile_columnar` and `compile_predicate`, which
agree on every value; `compile_aggregate` folds the accepted events.

What values mean is defined in `values` and `temporal` (comparing), `arithmetic`, `casting`, and
`text_pattern`.
"""

from cep.expression.checking.check import check, key_problem
from cep.expression.checking.resolve import resolve
from cep.expression.errors import EvaluationError, ExpressionError, ExpressionTooLarge, Problem
from cep.expression.evaluation.aggregate import CompiledAggregate, compile_aggregate
from cep.expression.evaluation.columnar import compile_columnar
from cep.expression.evaluation.isolation import evaluating, first_failure, working_parts
from cep.expression.evaluation.predicate import Predicate, compile_predicate, compile_scalar
from cep.expression.evaluation.scalar import Evaluator
from cep.expression.expression import Expression
from cep.expression.fields import FieldReader, mapping_reader, row_reader
from cep.expression.schema import Schema
from cep.expression.split import Split, split
from cep.expression.sql import short_sql, to_sql
from cep.expression.tree import (
    Aggregate,
    AggregateFunction,
    Field,
    Node,
    aggregates_of,
    columns_of,
    conjuncts,
)
from cep.expression.types import BOOLEAN, DataType, Kind

__all__ = [
    "BOOLEAN",
    "Aggregate",
    "AggregateFunction",
    "CompiledAggregate",
    "DataType",
    "EvaluationError",
    "Evaluator",
    "Expression",
    "ExpressionError",
    "ExpressionTooLarge",
    "Field",
    "FieldReader",
    "Kind",
    "Node",
    "Predicate",
    "Problem",
    "Schema",
    "Split",
    "aggregates_of",
    "check",
    "columns_of",
    "compile_aggregate",
    "compile_columnar",
    "compile_predicate",
    "compile_scalar",
    "conjuncts",
    "evaluating",
    "first_failure",
    "key_problem",
    "mapping_reader",
    "resolve",
    "row_reader",
    "short_sql",
    "split",
    "to_sql",
    "working_parts",
]
