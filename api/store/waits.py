"""Waits that the store keeps: they end by the wall clock, which may be set back meanwhile."""

from typing import Any, Final

from sqlalchemy import BigInteger, ColumnElement, literal, or_
from sqlalchemy.orm import InstrumentedAttribute

CLOCKS_APART_MS: Final = 60_000
"""How much the clocks of machines with one store may differ."""


def is_over(
    ends_ms: InstrumentedAttribute[Any], now_ms: int, longest_ms: int | ColumnElement[int]
) -> ColumnElement[bool]:
    """Return whether a wait has ended.

    One that would go on for longer than any wait was begun before the clock was set back; it has
    ended, too, so that nothing stands still for as long as that.

    Args:
        ends_ms: when it ends.
        now_ms: the clock.
        longest_ms: how long such a wait is at most.
    """
    # PostgreSQL adds two numbers of 32 bits in as many, whatever the first one is.
    latest_ms = literal(now_ms + CLOCKS_APART_MS, BigInteger) + longest_ms
    return or_(ends_ms <= now_ms, ends_ms > latest_ms)
