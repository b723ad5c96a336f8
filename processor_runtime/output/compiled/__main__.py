"""Compile this package for this machine, once: `python -m processor_runtime.output.compiled`."""

import os

import numpy as np

from cep import compiling
from processor_runtime.output.compiled.blake2b import blake2b_many
from processor_runtime.output.compiled.joining import join_octets, joined_sizes
from processor_runtime.output.compiled.json_rows import JsonColumns, has_escapes, objects_of
from processor_runtime.output.compiled.match_lines import lines_of


def compile_all() -> None:
    """Compile whatever other modules call, by calling it with nothing to do."""
    none, no_rows = np.zeros(1, np.int64), np.zeros((0, 2), np.int64)
    # As they come from elsewhere.
    empty = np.frombuffer(b"[]", np.uint8)
    has_escapes(empty)
    joined_sizes(none, none[:0], none)
    blake2b_many(join_octets(empty, none, none[:0], 0), none)
    is_null, begin = np.zeros((0, 0), np.bool_), np.zeros((0, 1), np.int64)
    objects_of(JsonColumns(none, none, is_null, no_rows, np.empty(0, np.uint8), begin, empty, none))
    lines_of(empty, none, no_rows, no_rows, empty)
    compiling.now_ready("processor_runtime.output.compiled")


if __name__ == "__main__":
    os.nice(10)
    compile_all()
