"""Waiting for what another thread or process does, on a machine that may be very busy.

Nothing is measured here: what should happen at once is given something that takes far longer than
`PATIENCE_SECONDS` as its only alternative, and what takes longer than that hangs.
"""

import threading
from collections.abc import Callable
from typing import Any, Final

PATIENCE_SECONDS: Final = 60.0
FAR_LONGER_SECONDS: Final = 5 * PATIENCE_SECONDS


def eventually(condition: Callable[[], Any]) -> None:
    """Wait until a condition holds."""
    pause = threading.Event()
    for _ in range(round(PATIENCE_SECONDS / 0.01)):
        if condition():
            return
        pause.wait(0.01)
    raise AssertionError("it did not come true in time")
