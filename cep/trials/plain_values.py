"""Values of events and outputs as JSON has them, for the answer to a trial."""

import math
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any


def exact(value: Any) -> Any:
    """Return a value in JSON types that a column of its type reads as the same, digit by digit."""
    match value:
        case Decimal():
            return str(value)
        case Mapping():
            return {name: exact(inner) for name, inner in value.items()}
        case list() | tuple():
            return [exact(inner) for inner in value]
        case _:
            return plain(value)


def plain(value: Any) -> Any:
    """Return a value in JSON types."""
    match value:
        case Decimal() | float():
            return float(value) if math.isfinite(value) else str(value)
        case datetime() | date():
            return value.isoformat()
        case Mapping():
            return {name: plain(inner) for name, inner in value.items()}
        case list() | tuple():
            return [plain(inner) for inner in value]
        case None | bool() | int() | str():
            return value
        case _:
            return str(value)
