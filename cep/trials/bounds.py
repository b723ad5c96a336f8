"""How much one trial may take, find and tell."""

from typing import Final

from cep.nfa.errors import LimitExceeded
from cep.nfa.limits import Limits

LIMITS: Final = Limits(partial_matches=2_000, events=10_000)
"""What one key may hold."""

MOST_LISTED: Final = 200
"""How many matches, and how many near misses, are reported."""

MOST_EVENTS: Final = 100
"""How many events are made up for a rule."""

_MOST_MATCHES: Final = 20_000


def check_matches(found: int) -> None:
    """Refuse a trial that finds too much.

    Raises:
        LimitExceeded: it has found more matches than one trial may.
    """
    if found > _MOST_MATCHES:
        remedy = "narrow the conditions, or try it on fewer events"
        raise LimitExceeded("matches in one trial", found, _MOST_MATCHES, remedy)
