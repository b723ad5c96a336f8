"""Scalar meaning of the mathematical functions on DOUBLE, and those on the bits of integers.

Where there is no real result it is NaN, and infinite where it is too large, as in Java; logarithms
of what is not positive are NULL. Source: Spark SQL reference, "Mathematical functions".
"""

import math
from collections.abc import Callable

from cep.expression.functions.arithmetic import add, modulo
from cep.expression.values import Mismatch, Value, bigint

EARTH_RADIUS = 6_371_008.8
"""Metres: the mean radius of the International Union of Geodesy and Geophysics."""

MAX_LATITUDE = 90
"""Degrees: the poles."""

Real = Callable[..., float]


def real(function: Real) -> Real:
    """Return a function of `math` that raises nothing."""

    def total(*numbers: float) -> float:
        try:
            return function(*numbers)
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    return total


def logarithm(function: Real) -> Callable[[float], float | None]:
    """Return a logarithm that is NULL for what is not positive."""
    return lambda number: None if number <= 0 else function(number)


def log(base_or_number: float, number: float | None = None) -> float | None:
    """Return the natural logarithm of a number, or that of the second to the first as base."""
    if number is None:
        return None if base_or_number <= 0 else math.log(base_or_number)
    if base_or_number <= 0 or number <= 0:
        return None
    divisor = math.log(base_or_number)
    if divisor:
        return math.log(number) / divisor
    dividend = math.log(number)
    return math.copysign(math.inf, dividend) if dividend else math.nan


def power(base: float, exponent: float) -> float:
    """Return a power; infinite where it is too large, or of 0 to a negative one."""
    try:
        return math.pow(base, exponent)
    except ValueError:  # 0 to a negative one, or a fraction of a negative number
        odd = exponent % 2 == 1
        return math.copysign(math.inf, base if odd else 1) if base == 0 else math.nan
    except OverflowError:
        return -math.inf if base < 0 and exponent % 2 == 1 else math.inf


def sinh(number: float) -> float:
    """Return the hyperbolic sine."""
    try:
        return math.sinh(number)
    except OverflowError:
        return math.copysign(math.inf, number)


def sign(number: float) -> float:
    """Return -1, 0 or 1; NaN and zeros are as they are."""
    return math.copysign(1.0, number) if number > 0 or number < 0 else number


def positive_modulo(left: Value, right: Value) -> Value:
    """Return the remainder, which is not negative if the divisor is not; NULL by zero."""
    rest = modulo(left, right)
    return rest if rest is None or not rest < 0 else modulo(add(rest, right), right)


def geo_distance(
    latitude: float, longitude: float, to_latitude: float, to_longitude: float
) -> float | None:
    """Return the metres between two points along a great circle of a sphere, from degrees.

    NULL where a latitude is beyond the poles, or something is not finite. Source: the haversine
    formula.
    """
    degrees = (latitude, longitude, to_latitude, to_longitude)
    if not all(map(math.isfinite, degrees)) or max(abs(latitude), abs(to_latitude)) > MAX_LATITUDE:
        return None
    one, x, other, y = map(math.radians, degrees)
    up, along = math.sin((other - one) / 2), math.sin((y - x) / 2)
    half = up * up + math.cos(one) * math.cos(other) * (along * along)
    return 2 * EARTH_RADIUS * math.asin(math.sqrt(min(1.0, half)))


# Bits


def _integers(*values: Value) -> None:
    if not all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        raise Mismatch


def bit_and(left: Value, right: Value) -> int:
    """Return the bits that both have."""
    _integers(left, right)
    return int(left & right)


def bit_or(left: Value, right: Value) -> int:
    """Return the bits that either has."""
    _integers(left, right)
    return int(left | right)


def bit_count(value: int) -> int:
    """Return how many of the 64 bits are set."""
    return (value & (2**64 - 1)).bit_count()


def shift_left(value: int, bits: int) -> int:
    """Return the integer with its bits moved, of which those beyond the 64th are lost."""
    shifted = value << (bits & 63) & (2**64 - 1)
    return shifted - 2**64 if shifted >= 2**63 else shifted


def shift_right(value: int, bits: int) -> int:
    """Return the integer with its bits moved; the sign stays."""
    return value >> (bits & 63)


def whole_quotient(left: Value, right: Value) -> int | None:
    """Return the quotient of two integers, truncated towards zero; NULL by zero."""
    _integers(left, right)
    if right == 0:
        return None
    return bigint(abs(left) // abs(right) * (1 if (left < 0) is (right < 0) else -1))
