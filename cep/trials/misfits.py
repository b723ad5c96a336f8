"""Why a rule and events cannot be tried, in a form that crosses the border of the process."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Misfit:
    """One thing that is wrong with a request; `place` is the way to it from its beginning."""

    place: Sequence[str | int]
    detail: str


class Unfit(Exception):
    """What was sent cannot be tried; `what` of it is wrong, and `misfits` where."""

    def __init__(self, what: str, misfits: Sequence[Misfit]) -> None:
        super().__init__(f"the {what} does not fit")
        self.what = what
        self.misfits = misfits
