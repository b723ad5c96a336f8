"""From a value as JSON or CSV has it to the type of its column: times are text or milliseconds.

A text is taken only if it surely is the value: `1.5` is no INT, `1,5` no DECIMAL, `yes` no BOOLEAN.
"""

import re
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from cep.expression import DataType, Kind
from cep.expression.functions.casting import SOURCES, caster
from cep.expression.values import Group

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,18}")
_FORMS: Final = {
    **dict.fromkeys(
        (Kind.TINYINT, Kind.SMALLINT, Kind.INT, Kind.BIGINT), re.compile(r"[+-]?[0-9]+")
    ),
    Kind.DECIMAL: re.compile(r"-?([0-9]+\.?[0-9]*|\.[0-9]+)(E-?[0-9]+)?"),
    Kind.BOOLEAN: re.compile("true|false", re.IGNORECASE),
}


def typed(value: Any, data_type: DataType) -> Any:
    """Return a value converted to the type of a column.

    Text is read as a number, a time and so on; a whole number, also as text, as a time in
    milliseconds since 1970. Anything else stays as it is.

    Raises:
        ValueError: it does not fit.
    """
    is_time = data_type.kind in {Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ}
    if is_time and isinstance(value, str) and _WHOLE.fullmatch(value.strip()):
        value = int(value)
    if is_time and isinstance(value, int) and not isinstance(value, bool):
        try:
            moment = _EPOCH + timedelta(milliseconds=value)
        except OverflowError:
            raise ValueError(f"{value} is no time in milliseconds") from None
        return moment if data_type.kind is Kind.TIMESTAMP else moment.replace(tzinfo=None)
    is_read = data_type.kind is not Kind.STRING and Group.TEXT in SOURCES.get(
        data_type.kind, frozenset()
    )
    if isinstance(value, str) and is_read:
        form = _FORMS.get(data_type.kind)
        found = caster(data_type)(value) if form is None or form.fullmatch(value) else None
        if found is None:
            raise ValueError(f"'{value[:80]}' is no {data_type}")
        return found
    return value
