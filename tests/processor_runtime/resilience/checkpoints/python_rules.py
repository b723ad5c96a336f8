"""Python code of rules, as an author would write it; signed, it travels in their documents.

Its text is run by `make.py`, so that the code knows neither a module nor a path to be found under.
"""

from collections.abc import Iterator
from typing import Any

from percept import (
    Pattern,
    PatternProcessFunction,
    ProcessContext,
    TimedOutPartialMatchHandler,
    select,
)


def rises(event: Any, context: Any) -> bool:
    """Say whether an amount is greater than all that the match has accepted so far."""
    return all(event["amount"] > before["amount"] for before in context.events("rise"))


RISING = Pattern.begin("rise").where("action = 'rise'").where(rises).times(3).within("30 minutes")
LARGEST = select(lambda match: max(event["amount"] for event in match["rise"]))

FILLING = (
    Pattern.begin("fill")
    .where("action = 'fill'")
    .one_or_more()
    .greedy()
    .followed_by("flush")
    .where("action = 'flush'")
    .within("15 minutes")
)


class Filled(PatternProcessFunction, TimedOutPartialMatchHandler):
    """Gives out how much was flushed; what never was goes to the side output `left`."""

    def process_match(self, match: Any, context: ProcessContext) -> Iterator[str]:
        """Yield the sum."""
        del context
        yield str(sum(event["amount"] for event in match["fill"]))

    def process_timed_out_match(self, match: Any, context: ProcessContext) -> None:
        """Send how much is left."""
        context.output("left", len(match["fill"]))
