"""What may hold matches of a rule back, and an explanation does not regard: it is of the pattern.

question ──unregarded──► texts: what `alert` of the version says, snoozes that reach the span
"""

import json
from typing import Final

from sqlalchemy.orm import Session

from api.backtests.tables import Backtest
from api.snooze_store import repository as snoozes
from cep.definition.keys import key_text
from cep.instants import iso_text

_ALERT: Final = {
    "suppress": "`alert.suppress` of the rule: a match may not go out as one of its key just has",
    "group": "`alert.group` of the rule: a match may not go out as another one stands for it",
    "budget": "`alert.budget` of the rule: a match may not go out as the budget is spent",
}
_MOST_SNOOZES: Final = 3


def unregarded(session: Session, question: Backtest) -> list[str]:
    """Return what may have held matches back besides the pattern."""
    alert = json.loads(question.document).get("alert") or {}
    told = [text for name, text in _ALERT.items() if alert.get(name) is not None]
    values = json.loads(json.loads(question.question or "{}")["key"])
    of_key = snoozes.reaching(
        session, question.processor_id, key_text(values), question.from_ms or 0, _MOST_SNOOZES
    )
    return told + [
        f"a snooze of {'all keys' if each.key_text is None else 'the key'} from "
        f"{iso_text(each.created_at_ms)} (by the clock), until {iso_text(each.until_ms)} at the "
        "latest: matches until then may not go out"
        for each in of_key
    ]
