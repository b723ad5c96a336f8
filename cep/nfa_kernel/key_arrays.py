"""The state of keys from what is written of them to arrays, and back, without objects in between.

    payloads ──load_keys──► KeyArrays ──walk──► KeyArrays ──store_keys──► payloads

Source: `cep.nfa.codec.runs_payload`, whose payloads these are, number by number.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

import numpy as np

from cep.compiling import Ints, table
from cep.nfa.codec import runs_payload
from cep.nfa.errors import StateEncodingError
from cep.nfa.runs import KeyRuns
from cep.nfa.written_runs import (
    PAYLOAD_ARE_TUPLES,
    PAYLOAD_CELLS,
    PAYLOAD_EVENTS,
    PAYLOAD_RUNS,
    PAYLOAD_SEQUENCE,
    PAYLOAD_WAITING,
    WrittenRuns,
)
from cep.nfa_kernel import arrays as at
from cep.nfa_kernel.arrays import KeyArrays
from cep.nfa_kernel.compacting import compacted

_NOTHING: Final[list[Any]] = [0, True, [], [], [], []]
_MALFORMED: Final = "the encoded state is not well formed"


@dataclass(frozen=True, slots=True)
class LoadedKeys:
    """Keys as arrays, and the events that they hold, each as the list of its values.

    In `arrays` the events of cells are numbered after those of the call, in this order.
    """

    arrays: KeyArrays
    events: list[list[Any]]


def load_keys(keys: Sequence[KeyRuns | None], event_count: int) -> LoadedKeys | None:
    """Return the state of keys as arrays; `None` if it holds events that are not tuples.

    Args:
        keys: their states; `None` is a key that holds nothing.
        event_count: how many events there are in the call.

    Raises:
        StateEncodingError: a payload is not well formed.
    """
    payloads = [_NOTHING if key is None else _payload(key) for key in keys]
    if not all(payload[PAYLOAD_ARE_TUPLES] for payload in payloads):
        return None
    events = list(chain.from_iterable(payload[PAYLOAD_EVENTS] for payload in payloads))
    cells, cell_begin = _joined(payloads, PAYLOAD_CELLS, at.CELL_WIDTH)
    runs, run_begin = _joined(payloads, PAYLOAD_RUNS, at.RUN_WIDTH)
    event_begin = _begins([len(payload[PAYLOAD_EVENTS]) for payload in payloads])
    _check(cells[:, at.CELL_EVENT], cells, cell_begin, event_begin)
    _check(runs[:, at.RUN_CELL], runs, run_begin, cell_begin)
    first_cells = np.repeat(cell_begin[:-1], np.diff(cell_begin))
    previous = cells[:, at.CELL_PREVIOUS]
    if (previous >= np.arange(len(cells)) - first_cells).any():
        raise StateEncodingError(f"{_MALFORMED}: events are out of order")
    cells[:, at.CELL_PREVIOUS] = np.where(previous < 0, at.NO_CELL, previous + first_cells)
    cells[:, at.CELL_EVENT] += event_count + np.repeat(event_begin[:-1], np.diff(cell_begin))
    runs[:, at.RUN_CELL] += np.repeat(cell_begin[:-1], np.diff(run_begin))
    queue_begin, queues, held_back = _waiting(payloads, cell_begin)
    arrays = KeyArrays(
        sequences=np.array([payload[PAYLOAD_SEQUENCE] for payload in payloads], np.int64),
        event_counts=np.array([0 if key is None else key.events_bound for key in keys], np.int64),
        run_begin=run_begin,
        runs=runs,
        queue_begin=queue_begin,
        queues=queues,
        held_back=held_back,
        cells=cells,
    )
    return LoadedKeys(arrays, events)


def store_keys(
    keys: KeyArrays,
    events_of: Callable[[Ints], Sequence[list[Any]]],
    event_count: int,
    aggregate_count: int,
) -> Iterator[WrittenRuns]:
    """Yield the state of each key.

    Args:
        keys: the keys after a walk.
        events_of: from numbers of events, each once, to the lists of their values.
        event_count: how many events there may be, those of the call and those that keys held.
        aggregate_count: how many aggregate states a cell has room for (see `Machine`).
    """
    kept = compacted(keys, event_count)
    events = events_of(kept.events)
    cells = kept.cells.ravel().tolist()
    of_runs = keys.runs.copy()
    of_runs[:, at.RUN_CELL] = kept.run_cells
    runs = of_runs.ravel().tolist()
    of_held = keys.held_back.copy()
    of_held[:, 1] = kept.held_cells
    held_back = of_held.ravel().tolist()
    queues = keys.queues.tolist()
    bounds = np.column_stack(
        [kept.event_begin, kept.cell_begin * at.CELL_WIDTH, keys.run_begin * at.RUN_WIDTH]
    )
    ends = np.column_stack([bounds[:-1], bounds[1:], keys.queue_begin[:-1], keys.queue_begin[1:]])
    for sequence, event_bound, (event, cell, run, event_end, cell_end, run_end, queue, last) in zip(
        keys.sequences.tolist(), keys.event_counts.tolist(), ends.tolist(), strict=True
    ):
        waiting = [
            [rules, held_back[2 * begin : 2 * end]] for rules, begin, end in queues[queue:last]
        ]
        held = events[event:event_end], cells[cell:cell_end], runs[run:run_end]
        state = WrittenRuns([sequence, True, *held, waiting], aggregate_count)
        state.events_bound = event_bound
        yield state


def _payload(key: KeyRuns) -> list[Any]:
    if isinstance(key, WrittenRuns) and key.payload is not None:
        return key.payload
    return runs_payload(key)


def _joined(payloads: Sequence[list[Any]], part: int, width: int) -> tuple[Ints, Ints]:
    """Return the numbers of all keys in one array, and where those of each key begin."""
    lists = [payload[part] for payload in payloads]
    begin = _begins([len(numbers) for numbers in lists])
    flat = np.fromiter(chain.from_iterable(lists), np.int64, int(begin[-1]))
    if (begin % width).any():
        raise StateEncodingError(f"{_MALFORMED}: numbers are missing")
    return flat.reshape(-1, width), begin // width


def _begins(counts: Sequence[int]) -> Ints:
    return np.cumsum([0, *counts], dtype=np.int64)


def _check(numbers: Ints, rows: Ints, row_begin: Ints, begin: Ints) -> None:
    """See that what rows refer to is there: compiled code would read beside the arrays."""
    most = np.repeat(np.diff(begin), np.diff(row_begin))
    if len(rows) and ((numbers < 0) | (numbers >= most)).any():
        raise StateEncodingError(f"{_MALFORMED}: an event is missing")


def _waiting(payloads: Sequence[list[Any]], cell_begin: Ints) -> tuple[Ints, Ints, Ints]:
    """Return where the queues of each key begin, the queues, and the matches held back."""
    queues: list[tuple[int, int, int]] = []
    held_back: list[tuple[int, int]] = []
    begin = [0]
    for payload, first, end in zip(payloads, cell_begin, cell_begin[1:], strict=False):
        for rules, numbers in payload[PAYLOAD_WAITING]:
            before = len(held_back)
            starts, cells = numbers[::2], numbers[1::2]
            if not all(0 <= cell < end - first for cell in cells):
                raise StateEncodingError(
                    "the encoded state is not well formed: an event is missing"
                )
            held_back += [(start, cell + first) for start, cell in zip(starts, cells, strict=True)]
            queues.append((rules, before, len(held_back)))
        begin.append(len(queues))
    return np.array(begin, np.int64), table(queues, 3), table(held_back, 2)
