"""The finds of the plain rules of one shape, and the plan of their rows.

FoundColumns ──plain_columns──► PlainColumns ──row_plan──► RowPlan
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cep.compiling import Ints
from cep.keyed.found_columns import FoundColumns
from cep.nfa.runs import by_step
from cep.processor import SelectExpressions
from processor_runtime.output.arrow_texts import texts
from processor_runtime.output.events.chained_columns import MatchTexts, written_name
from processor_runtime.output.events.event_table import event_table
from processor_runtime.output.key_texts import KeyTexts
from processor_runtime.output.match_tables import Matches, RuleVersions
from processor_runtime.output.plain_rules import PlainRule
from processor_runtime.output.row_plan import RowPlan
from processor_runtime.rows.json_text import plain_json_text


@dataclass(frozen=True, slots=True)
class PlainColumns:
    """Finds of rules whose steps have the same names, in order; one for each rule that has it.

    `of_rule`: of each find the place of its rule. `numbers`: of each find its place in `found`.
    `ranks`: the order of finds of one moment; others of the same shape are in between. `found`:
    what was found, by any number of rules each.
    """

    rules: Sequence[PlainRule]
    step_names: tuple[str, ...]
    of_rule: Ints
    numbers: Ints
    ranks: Ints
    found: FoundColumns

    def __len__(self) -> int:
        """Return the number of finds."""
        return len(self.numbers)

    def counts(self) -> Iterator[tuple[PlainRule, int, int]]:
        """Yield of each rule how many finds it has, and the time of the last."""
        for place, rule in enumerate(self.rules):
            finds = np.flatnonzero(self.of_rule == place)
            yield rule, len(finds), int(self.found.times_ms[self.numbers[finds[-1]]])


def plain_columns(
    found: FoundColumns, plain_rule: Callable[[str], PlainRule | None]
) -> list[PlainColumns] | None:
    """Return what rules have found that are not stopped; `None` if not all of it is plain."""
    if found.is_timeout.any():
        return None
    shape = found.shape
    sets = found.rules & ~shape.machine.stopped
    anything = int(np.bitwise_or.reduce(sets))
    # Find by find, and those of a find in the order of members, as detections are.
    numbers, bits = np.nonzero((sets[:, None] >> np.arange(len(shape.members))) & 1)
    columns = []
    members = list(shape.members_of(anything))
    for names in dict.fromkeys(member.step_names for member in members):
        alike = [member for member in members if member.step_names == names]
        rules = [plain_rule(member.rule) for member in alike]
        plain = [rule for rule in rules if rule is not None]
        if len(plain) < len(rules) or any(member.clause is not None for member in alike):
            return None
        of_rule = np.full(len(shape.members), -1, np.int64)
        of_rule[[shape.members.index(member) for member in alike]] = np.arange(len(alike))
        ranks = np.flatnonzero(of_rule[bits] >= 0)
        columns.append(
            PlainColumns(plain, names, of_rule[bits[ranks]], numbers[ranks], ranks, found)
        )
    return columns


def match_texts(finds: Sequence[PlainColumns], columns: Sequence[str]) -> list[MatchTexts] | None:
    """Return what writes the matches of each of some finds; `None` if they have too many events.

    `finds`: of one call.

    Raises:
        NoJson: their events cannot be put in columns.
    """
    chained = [each.found.chains.columns(each.found.cells) for each in finds]
    if any(len(of.begin) <= len(each.found) for of, each in zip(chained, finds, strict=True)):
        return None
    names = (written_name(name) for each in finds for name in each.step_names)
    table, places = event_table(chained, columns, names)
    parts = zip(chained, places, finds, strict=True)
    return [MatchTexts(of, where, each.step_names, table) for of, where, each in parts]


def row_plan(
    plain: PlainColumns, keys: KeyTexts, written: MatchTexts, first_rank: int
) -> RowPlan | None:
    """Return the rows of finds; `None` if something in them needs a closer look.

    `first_rank`: where their ranks begin.

    Raises:
        NoJson: there is something in them that JSON has no form for.
        TooLarge: they are.
    """
    found = plain.found
    selected = _selected(plain, written)
    if selected is None:
        return None
    outputs, of_select = selected
    plan = RowPlan(
        _finders(plain.rules),
        _matches(found, keys, written),
        outputs,
        plain.of_rule,
        plain.numbers,
        of_select[plain.of_rule] * len(found) + plain.numbers,
        first_rank + plain.ranks,
    )
    most_bytes = np.array([rule.rule.row_limits.row_bytes for rule in plain.rules], np.int64)
    return None if (plan.byte_sizes() > most_bytes[plain.of_rule]).any() else plan


def _finders(rules: Sequence[PlainRule]) -> RuleVersions:
    loaded = [each.rule for each in rules]
    return RuleVersions(
        texts([rule.processor_id for rule in loaded]),
        pa.array([rule.version for rule in loaded], pa.int32()),
    )


def _matches(found: FoundColumns, keys: KeyTexts, written: MatchTexts) -> Matches:
    places = pa.array(keys.places)
    return Matches(
        found.emit_order,
        keys.json_texts.take(places),
        written.start_ms(),
        found.times_ms,
        written.events(),
    )


def _selected(plain: PlainColumns, written: MatchTexts) -> tuple[pa.StringArray, Ints] | None:
    """Return what is selected of all matches, select by select, and by rule which it has.

    `None` if something cannot be selected.
    """
    selects: dict[SelectExpressions | None, list[int]] = {}
    for place, rule in enumerate(plain.rules):
        selects.setdefault(rule.select, []).append(place)
    tables = []
    of_select = np.empty(len(plain.rules), np.int64)
    for number, (select, rules) in enumerate(selects.items()):
        of_select[rules] = number
        if select is None:
            tables.append(pa.nulls(len(plain.found), pa.string()))
            continue
        is_wanted = np.zeros(len(plain.found), np.bool_)
        is_wanted[plain.numbers[np.isin(plain.of_rule, rules)]] = True
        table = selected_texts(written, select, np.flatnonzero(is_wanted))
        if table is None:
            return None
        tables.append(table)
    return pa.concat_arrays(tables), of_select


def selected_texts(
    matches: MatchTexts, select: SelectExpressions, wanted: Ints
) -> pa.StringArray | None:
    """Return what is selected of each match; `None` if that fails for one.

    Columns of one event are taken as they are written there; other expressions are evaluated match
    by match.

    `wanted`: places of the matches that it is for, ascending; others may have NULL.

    Raises:
        NoJson: there is something in it that JSON has no form for.
        TooLarge: it is.
    """
    if select.fields is not None and all(each.column in matches.columns for each in select.fields):
        return matches.selected(select.fields)
    events = matches.table.listed
    begin, steps, places = (
        each.tolist() for each in (matches.chained.begin, matches.chained.steps, matches.places)
    )
    found: list[str | None] = [None] * (len(begin) - 1)
    for number in wanted.tolist():
        part = slice(begin[number], begin[number + 1])
        of_steps = by_step(steps[part], places[part], matches.step_names)
        try:
            found[number] = plain_json_text(select.row(events.by_step(of_steps)))
        except Exception:  # noqa: BLE001 - it is met again where it is reported
            return None
    return texts(found)
