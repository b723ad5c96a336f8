"""`values:` of a source: the columns of the stream that are computed from what is read of it.

    stream, source ──schema_read──► what is read ──► expressions, checked with their types

`processor_runtime.sources.computed_columns` evaluates them in the first stage.
"""

from collections.abc import Iterator

from cep.expression import DataType, Expression, ExpressionError, Kind, Schema, check, resolve
from cep.expression.checking.inference import type_of
from cep.pattern import Problem
from cep.pattern.problems import did_you_mean
from processor_runtime.job_file.source import Source


def schema_read(source: Source, stream: Schema, source_column: str | None = None) -> Schema:
    """Return what is read of a source: columns of the stream that are not computed, and fields.

    `source_column`: the column that gets the name of the source.

    Raises:
        ExpressionError: the type of a field cannot be read.
    """
    own = ", ".join(f"`{name}` {kind}" for name, kind in source.fields.items())
    fields = Schema.from_ddl(own).columns if own else ()
    columns = stream.columns
    given = {*source.values, source_column}
    return Schema((*(each for each in columns if each[0] not in given), *fields), lists=())


def computed_misfits(
    place: str, source: Source, stream: Schema, source_column: str | None
) -> Iterator[Problem]:
    """Yield what is wrong with the computed columns of a source; `place`: of it in the job file."""
    try:
        read = schema_read(source, stream, source_column)
    except ExpressionError as error:
        yield Problem(f"{place}.fields", f"{error}.", "")
        return
    columns = dict(stream.columns)
    for name, text in source.values.items():
        path = f"{place}.values.{name}"
        if name not in columns:
            message = f"the stream has no column '{name}'."
            yield Problem(path, message, did_you_mean(name, list(columns)))
            continue
        for told in _problems(text, read, columns[name]):
            yield Problem(path, f"{told.rstrip('.')}.", "")


def _problems(text: str, read: Schema, wanted: DataType) -> Iterator[str]:
    try:
        expression = Expression.parse(text)
    except ExpressionError as error:
        yield str(error)
        return
    if found := check(expression, schema=read, steps=()):
        yield from map(str, found)
        return
    given = type_of(resolve(expression, (), read), read)
    if not _becomes(given, wanted):
        yield f"it is {given}, and the column is {wanted}. Write CAST(… AS {wanted})"


def _becomes(given: DataType, wanted: DataType) -> bool:
    """Return whether values of a type become those of a column; single ones may be too large."""
    computed = wanted.computed
    match given.kind, computed.kind:
        case Kind.NULL, _:
            return True
        case Kind.BIGINT, Kind.DOUBLE | Kind.DECIMAL:
            return True
        case Kind.DECIMAL, Kind.DOUBLE | Kind.DECIMAL:
            return True
        case _:
            return given == computed
