"""Extremes and percentiles of windows over many rows are what sorting each frame gives."""

from collections.abc import Sequence
from fractions import Fraction
from math import ceil
from random import Random
from typing import Any

import numpy as np
import pytest

from cep.expression import Expression
from cep.expression.tree import windows_of
from cep.windows.rows import WindowRows, window_values

ROWS = 700
"""More than two powers of two, so that spans of all sizes begin anywhere."""


def values_of(call: str, frame: str, found: Sequence[int], times_ms: Sequence[int]) -> list[Any]:
    (window,) = windows_of(Expression.parse(f"{call} OVER ({frame}) > 0").root)
    rows = WindowRows(
        np.array(times_ms), np.zeros(ROWS, np.int64), dict.fromkeys(window.operands, found)
    )
    return window_values(window, rows)


@pytest.mark.parametrize("width_ms", [1, 40, 1_000_000])
@pytest.mark.parametrize("excluded", ["", " EXCLUDE CURRENT ROW"])
def test_extremes_and_percentiles_are_those_of_each_frame_sorted(
    width_ms: int, excluded: str
) -> None:
    random = Random(width_ms)  # noqa: S311 - no secret
    found = [random.randrange(-50, 50) for _ in range(ROWS)]
    times_ms = sorted(random.randrange(ROWS) for _ in range(ROWS))
    frame = f"LAST INTERVAL '{width_ms}' MILLISECOND{excluded}"
    frames = [
        sorted(
            found[other]
            for other in range(row + (not excluded))
            if times_ms[other] > times_ms[row] - width_ms
        )
        for row in range(ROWS)
    ]

    def of(call: str) -> list[Any]:
        return values_of(call, frame, found, times_ms)

    assert of("MIN(x)") == [each[0] if each else None for each in frames]
    assert of("MAX(x)") == [each[-1] if each else None for each in frames]
    for share in ("0", "0.25", "0.9", "1"):
        places = (max(0, ceil(Fraction(share) * len(each)) - 1) for each in frames)
        expected = [each[at] if each else None for each, at in zip(frames, places, strict=True)]
        assert of(f"PERCENTILE_DISC({share}) WITHIN GROUP (ORDER BY x)") == expected
