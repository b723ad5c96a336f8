"""Functions mean what they mean in Spark 4: the same expressions over the same rows."""

import math
import re
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cep.expression import Expression, compile_scalar, resolve
from tests.expression.function_examples import DDL, EXPRESSIONS, ROWS, SCHEMA

SETTINGS = {
    "spark.sql.ansi.enabled": "false",  # NULL where something cannot be computed, as here
    "spark.sql.codegen.wholeStage": "false",  # each row takes less than compiling would
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.legacy.sizeOfNull": "false",  # as under ANSI
    "spark.sql.parser.escapedStringLiterals": "true",  # a backslash is a character
}


def in_spark(text: str) -> str:
    """Return an expression as Spark has it: other quotes around quotes, URL_DECODE raises."""
    quoted = re.sub(
        r"'(?:[^']|'')*'",
        lambda found: (
            '"' + found[0][1:-1].replace("''", "'") + '"' if "''" in found[0][1:] else found[0]
        ),
        text,
    )
    return quoted.replace("URL_DECODE", "TRY_URL_DECODE")


def comparable(value: Any) -> Any:
    """Return a value without what the two write in different ways: the types of numbers."""
    match value:
        case bool() | None | str():
            return value
        case int() | float() | Decimal():
            number = float(value)
            return "NaN" if math.isnan(number) else float(f"{number:.11e}")
        case datetime():
            return value.isoformat()
        case date():
            return value.isoformat()
        case dict():
            return {name: comparable(each) for name, each in value.items()}
        case _:
            return [comparable(each) for each in value]


@pytest.fixture
def lenient(spark: SparkSession) -> Any:
    for name, value in SETTINGS.items():
        spark.conf.set(name, value)
    yield spark
    for name in SETTINGS:
        spark.conf.unset(name)


@pytest.mark.long
def test_functions_mean_what_they_mean_in_spark(lenient: SparkSession) -> None:
    frame = lenient.createDataFrame([tuple(row.values()) for row in ROWS], DDL)
    columns = frame.selectExpr(
        *(f"{in_spark(text)} AS `{n}`" for n, text in enumerate(EXPRESSIONS))
    )
    rows = columns.toArrow().to_pylist()
    wrong = []
    for number, text in enumerate(EXPRESSIONS):
        ours = compile_scalar(resolve(Expression.parse(text), [], SCHEMA))
        for row, of_spark in zip(ROWS, rows, strict=True):
            found, expected = comparable(ours(row, ())), comparable(of_spark[str(number)])
            if found != expected:
                wrong.append((text, found, expected))
    assert wrong == [], "\n".join(map(str, wrong))
