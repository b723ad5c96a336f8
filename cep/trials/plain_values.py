"""Values of events and outputs as JSON has them, for the answer to a trial."""

import math
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any


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
