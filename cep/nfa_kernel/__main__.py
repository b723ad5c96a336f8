"""Compile this package for this machine, once: `python -m cep.nfa_kernel`."""

import os

import numpy as np

from cep import compiling
from cep.compiling.byte_copying import Bytes
from cep.condition_code.arrays import Columns
from cep.condition_code.operands import Operands
from cep.condition_code.tables import code_tables
from cep.expression import Schema
from cep.nfa_kernel import arrays as at
from cep.nfa_kernel.arrays import KeyArrays, KeyEvents, ResidualBranches, Tables
from cep.nfa_kernel.chains import event_chains
from cep.nfa_kernel.entries.compacting import Compacted, compacted
from cep.nfa_kernel.entries.reading import PART_WIDTH, parts_of, spans_of, states_of
from cep.nfa_kernel.entries.summaries import Windows, summaries_of
from cep.nfa_kernel.entries.writing import PIECE_WIDTH, entries_of, list_of, payloads_of
from cep.nfa_kernel.event_filter import of_kinds
from cep.nfa_kernel.walk import walk


def compile_all() -> None:
    """Compile whatever other modules call, by calling it with nothing to do."""
    none = np.zeros(1, np.int64)
    no_rows = np.zeros((0, 5), np.int64)
    pairs = np.zeros((1, 2), np.int64)
    no_flags = np.zeros((0, 0), np.bool_)
    tests = code_tables(Operands(Schema(())), [])
    uncertain = ResidualBranches(no_rows, none, none, no_rows, no_rows, tests)
    tables = Tables(
        *(none, no_rows, pairs, none, none, pairs, pairs),
        start_state=0,
        has_previous_windows=False,
        window_ms=0,
        skip=(at.NO_SKIP, 0, False),
        most_held=1,
        most_events=1,
        rule_count=1,
        step_count=1,
        residual=uncertain,
    )
    columns = Columns(no_rows, no_flags, np.zeros((0, 0)), no_flags)
    # As they come from elsewhere, and as compiled code makes them.
    empty, own = np.frombuffer(b"\x90", np.uint8), np.empty(0, np.uint8)
    before = states_of(empty, np.zeros((0, 2), np.int64), 0, 0)
    events = KeyEvents(none, none[:0], none[:0], none[:0], 0)
    of_kinds(events, none, 0)
    after = walk(tables, events, columns, before.keys, 0, 0, (0, 0))
    event_chains(after.keys.cells, none[:0], 1)
    _compile_entries(after.keys, compacted(after.keys, 1), empty, own)
    compiling.now_ready("cep.nfa_kernel")


def _compile_entries(keys: KeyArrays, kept: Compacted, empty: Bytes, own: Bytes) -> None:
    none = np.zeros(1, np.int64)
    no_spans = np.zeros((0, 2), np.int64)
    parts_of(empty[:0], no_spans, none, np.zeros((1, 1), np.int64))
    events = np.zeros((len(spans_of(empty)), 3), np.int64)
    payloads_of(keys, kept, empty, empty, events)
    list_of(empty, no_spans)
    entries_of(np.zeros((0, PIECE_WIDTH), np.int64), 0, empty, own)
    windows = Windows(none[:0], none, none[:0], none[:0], none)
    for data in (empty, own):
        summaries_of(data, np.zeros((0, PART_WIDTH), np.int64), 0, windows, none[:0])


if __name__ == "__main__":
    os.nice(10)
    compile_all()
