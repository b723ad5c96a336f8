"""Which finds are snoozed: those of a processor, or of one key of it, up to an event time.

Detection ──SnoozedFinds──► goes on to suppression and budget · of kind `suppressed`
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field

from pydantic_core import from_json

from cep.definition.keys import key_text
from cep.keyed.shapes import Detection
from processor_runtime.rows.json_text import plain_json_text
from processor_runtime.schedule.snoozing import Snooze


@dataclass(slots=True)
class SnoozedFinds:
    """Tells the finds of one batch that do not go out, whatever their rules say."""

    snoozes: Iterable[Snooze]
    _by_key: dict[str, dict[str | None, list[Snooze]]] = field(init=False)
    _key: Hashable = None
    _text: str = ""

    def __post_init__(self) -> None:
        self._by_key = defaultdict(lambda: defaultdict(list))
        for snooze in self.snoozes:
            self._by_key[snooze.processor_id][snooze.key].append(snooze)

    def may_be_snoozed(self, processor_id: str) -> bool:
        """Whether some of what a processor finds may be snoozed."""
        return processor_id in self._by_key

    def is_snoozed(self, processor_id: str, found: Detection) -> bool:
        """Whether a match does not go out; timed-out partial matches always do."""
        if processor_id not in self._by_key or found.is_timeout:
            return False
        by_key = self._by_key[processor_id]

        def is_of(key: str | None) -> bool:
            snoozes = by_key.get(key, ())
            return any(each.from_ms <= found.time_ms < each.until_ms for each in snoozes)

        return is_of(None) or is_of(self._text_of(found.key))

    def _text_of(self, key: Hashable) -> str:
        if key != self._key or self._key is None:
            self._key, self._text = key, key_text(from_json(plain_json_text(key)))
        return self._text
