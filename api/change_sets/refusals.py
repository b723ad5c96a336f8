"""What is refused of a change set, with the place of each change in it.

{409, "It exists already"} of change 3 ─► {409, errors: [{"pointer": "/changes/3", …}]}
"""

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from api.web.problems import Refusal
from contract.service.problems import Flaw

_SHOWN: Final = 100


@dataclass(frozen=True, slots=True)
class Refused:
    """Why one change of a set cannot be made; `inside` is where its flaws have their places."""

    place: int
    refusal: Refusal
    inside: str = ""

    def flaws(self) -> list[Flaw]:
        """Return what is wrong, with pointers into the body of the set."""
        at = f"/changes/{self.place}"
        if not self.refusal.flaws:
            return [Flaw(pointer=at, detail=self.refusal.detail)]
        return [
            each.model_copy(update={"pointer": f"{at}{self.inside}{_within(each.pointer)}"})
            for each in self.refusal.flaws
        ]


def require_none(found: Sequence[Refused]) -> None:
    """Let a set pass of which nothing is refused.

    Raises:
        Refusal: with everything that is wrong; its status is that of the first refused change.
    """
    if not found:
        return
    flaws = [flaw for each in found for flaw in each.flaws()]
    count = f"{len(flaws)} problem{'s' if len(flaws) != 1 else ''}"
    shown = f", of which {_SHOWN} are shown" if len(flaws) > _SHOWN else ""
    detail = f"The change set has {count}{shown}. Nothing was changed."
    raise Refusal(HTTPStatus(found[0].refusal.status_code), detail, flaws[:_SHOWN])


def _within(pointer: str) -> str:
    """Return a pointer into the body of a single request as one into a change."""
    return pointer if pointer.startswith("/") else ""
