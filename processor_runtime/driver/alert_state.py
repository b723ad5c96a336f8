"""What is known of budgets and groups from one batch to the next, as it is kept in the checkpoint.

    alerted ──► <checkpoint>/budgets/<batch id> ──► the batch after it, also in a replay
            └─► <checkpoint>/groups/<batch id>

The files of a batch are written before Spark takes the batch for done, so that one that is run
again begins with what the batch before it left. A batch whose rules have budgets or groups has a
file in any case: if it is missing, the checkpoint is not whole.
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final

from pydantic_core import from_json, to_json

from cep.nfa.codec import pack, unpack
from processor_runtime.alerting.alert_decisions import AlertRules, AlertState
from processor_runtime.alerting.budgets import Spent, Window
from processor_runtime.alerting.groups import Group
from processor_runtime.driver.checked_files import Files
from processor_runtime.driver.kept_by_batch import KeptByBatch

_PLAIN: Final = [each.name for each in fields(Group)][:-1]
"""All but the keys, which are many."""


class AlertStates:
    """The state after each batch; a job without budgets and groups has no such files."""

    def __init__(self, files: Files) -> None:
        self._spent: KeptByBatch[Mapping[Window, Spent]]
        self._spent = KeptByBatch(files, "budgets", write_spent, read_spent)
        self._groups: KeptByBatch[Mapping[str, Group]]
        self._groups = KeptByBatch(files, "groups", write_groups, read_groups)
        self._newest: tuple[int, AlertState] | None = None

    def before(self, batch_id: int) -> AlertState:
        """Return what there was when a batch began."""
        if self._newest is not None and self._newest[0] == batch_id - 1:
            return self._newest[1]
        groups, spent = self._groups.of(batch_id - 1), self._spent.of(batch_id - 1)
        return AlertState(groups or {}, spent or {})

    def keep(self, batch_id: int, state: AlertState, rules: AlertRules) -> None:
        """Keep what there is after a batch with these rules; even if that is nothing."""
        self._groups.keep(batch_id, state.groups, is_asked=bool(rules.groupings))
        self._spent.keep(batch_id, state.spent, is_asked=bool(rules.budgets))
        self._newest = (batch_id, state)


def write_spent(spent: Mapping[Window, Spent]) -> bytes:
    """Return what is spent as JSON."""
    windows = [[*window, each.out, each.throttled] for window, each in sorted(spent.items())]
    return to_json(windows)


def read_spent(data: bytes) -> dict[Window, Spent]:
    """Return what `write_spent` wrote."""
    return {Window(*window[:3]): Spent(*window[3:]) for window in from_json(data)}


def write_groups(groups: Mapping[str, Group]) -> bytes:
    """Return open groups as bytes; there may be many, with many keys."""
    written = []
    for _, group in sorted(groups.items()):
        plain = [getattr(group, name) for name in _PLAIN]
        written.append([*map(_plain, plain), bytes.fromhex("".join(group.keys))])
    return pack(written)


def read_groups(data: bytes) -> dict[str, Group]:
    """Return what `write_groups` wrote.

    Raises:
        StateEncodingError: the bytes are corrupt.
    """
    groups = map(_group, unpack(data))
    return {group.id: group for group in groups}


def _group(written: list[Any]) -> Group:
    *plain, keys = written
    values = dict(zip(_PLAIN, map(_as_tuple, plain), strict=True))
    return Group(**values, keys=_hashes(keys))


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _hashes(keys: bytes) -> tuple[str, ...]:
    return tuple(keys.hex(":", 8).split(":")) if keys else ()
