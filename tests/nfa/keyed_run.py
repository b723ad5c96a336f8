"""A matcher of many rules and keys, fed event by event: each test of an event made by itself."""

from collections.abc import Mapping, Sequence
from typing import Any

from cep.expression import FieldReader, compile_predicate, mapping_reader
from cep.expression.evaluation.scalar import no_slots
from percept import Detection, KeyedMatcher, Pattern


class KeyedRun:
    """Time goes on with each event, which has it as `ts`; options are those of the matcher."""

    def __init__(
        self,
        rules: Mapping[str, Pattern],
        *,
        field_reader: FieldReader = mapping_reader,
        **options: Any,
    ) -> None:
        options |= {"field_reader": field_reader}
        self.matcher = KeyedMatcher(rules, in_deadline_order=True, **options)
        nodes = self.matcher.tests.nodes
        self._tests = [compile_predicate(node, field_reader, no_slots) for node in nodes]

    def fed(
        self, event: Any, key: Any, time_ms: int, chosen: Sequence[Any] = ()
    ) -> list[Detection]:
        """Return what time and the event bring; `chosen` are rules that may begin and go on."""
        found = self.matcher.advance_to(time_ms)
        holding = [number for number, test in enumerate(self._tests) if test(event, ())]
        kind = self.matcher.kind(holding, *chosen)
        return [*found, *self.matcher.process(key, kind, event, time_ms)]
