"""Whether Arrow is there, which a backtest outside of Spark does without.

has_arrow ──► rows in columns, compressed state · rows one by one, state as it is
"""

from functools import cache
from importlib import import_module


@cache
def has_arrow() -> bool:
    """Return whether Arrow can be imported."""
    try:
        import_module("pyarrow")
    except ModuleNotFoundError:
        return False
    return True
