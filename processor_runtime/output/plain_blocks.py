"""Thousands of finds about which nothing has to be decided: their rows at once, in columns.

    FoundBlock ──all of plain rules──► RowPlan of each shape ──in order──► rows · counts

What is not sure to go smoothly (a rule that is not plain, a timeout, a limit that is near, texts
that are very large) is left to `match_emitter` as a whole, with nothing counted: it decides find by
find, and its rows are the same.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from cep.compiling import is_ready
from cep.keyed.found_columns import FoundBlock
from cep.number_order import ranked
from processor_runtime.output.arrow_texts import TooLarge
from processor_runtime.output.key_texts import KeyTable, KeyTexts
from processor_runtime.output.match_rows import MatchRows
from processor_runtime.output.plain_rules import PlainRules
from processor_runtime.output.planned_finds import (
    PlainColumns,
    match_texts,
    plain_columns,
    row_plan,
)
from processor_runtime.output.row_columns import RowColumns, RowLines
from processor_runtime.output.row_plan import RowPlan, merged
from processor_runtime.rows.json_text import NoJson

FEWEST_FINDS: Final = 64
"""For fewer, columns cost more than they save."""

_COMPILED: Final = "processor_runtime.output.compiled"
_RANKS_OF_SHAPE: Final = 1 << 40


@dataclass(slots=True)
class PlainBlocks:
    """Emits blocks of finds of one group in one batch of one shard.

    `match_rows`: counts what rules bring, and numbers equal finds.
    """

    rules: PlainRules
    match_rows: MatchRows
    _keys: KeyTable | None = None

    def emit(self, block: FoundBlock) -> Iterator[RowColumns | RowLines] | None:
        """Return the rows of finds if all are matches of plain rules, else `None`.

        They are made, and counted, as they are taken; all have to be taken before anything else
        goes out.
        """
        if sum(map(len, block.parts)) < FEWEST_FINDS or not is_ready(_COMPILED):
            return None
        shapes = []
        for part in block.parts:
            plain = plain_columns(part, self.rules.rule)
            if plain is None:
                return None
            shapes.append(plain)
        everything = [each for plain in shapes for each in plain]
        if not everything:
            return iter(())
        if not self._have_room(everything):
            return None
        try:
            plans = self._plans(shapes)
        except (NoJson, TooLarge):
            return None
        return None if plans is None else self._rows(merged(plans), everything)

    def _rows(
        self, plan: RowPlan, finds: Sequence[PlainColumns]
    ) -> Iterator[RowColumns | RowLines]:
        rows = self.match_rows
        yield from plan.rows(rows.clock.epoch, rows.ids, as_lines=rows.writes_lines)
        self._count(finds)

    def _have_room(self, finds: Sequence[PlainColumns]) -> bool:
        """Whether rules may bring all of it, whatever keys it is of."""
        moments = np.concatenate([each.found.emit_order[each.numbers] for each in finds])
        most_at_once = int(np.bincount(ranked(moments)[1]).max())
        budget = self.match_rows.budget
        return all(
            budget.has_room_for(each.rule.row_limits, each.rule.id, count, most_at_once)
            for columns in finds
            for each, count, _ in columns.counts()
        )

    def _plans(self, shapes: Sequence[Sequence[PlainColumns]]) -> list[RowPlan] | None:
        finds = [plain for shape in shapes for plain in shape]
        of_shape = [place for place, shape in enumerate(shapes) for _ in shape]
        written = match_texts(finds, self.match_rows.columns)
        if written is None:
            return None
        plans = []
        parts = zip(of_shape, finds, self._key_texts(finds), written, strict=True)
        for place, plain, keys, matches in parts:
            plan = row_plan(plain, keys, matches, place * _RANKS_OF_SHAPE)
            if plan is None:
                return None
            plans.append(plan)
        return plans

    def _key_texts(self, finds: Sequence[PlainColumns]) -> list[KeyTexts]:
        keys = finds[0].found.keys
        if self._keys is None or self._keys.keys is not keys:
            self._keys = KeyTable(keys)
        return self._keys.of([each.found.key_numbers for each in finds])

    def _count(self, finds: Sequence[PlainColumns]) -> None:
        for plain in finds:
            for each, count, last_ms in plain.counts():
                each.counts.matches += count
                each.counts.last_match_ms = last_ms
            rules = [each.rule.id for each in plain.rules]
            of_key = plain.found.key_numbers[plain.numbers]
            self.match_rows.budget.count_many(rules, plain.found.keys, (plain.of_rule, of_key))
