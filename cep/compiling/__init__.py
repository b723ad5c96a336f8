"""Functions as compiled code (numba), which users without it do not need.

    function ──compiled──► kept on disk by its sources ──is_ready──► used, else an interpreter

Kernels take and return the arrays named here.
"""

from cep.compiling.arrays import MOST_BITS, Floats, Ints, in_one_piece, table
from cep.compiling.functions import compiled, in_caller, in_place, inlined, is_available
from cep.compiling.readiness import is_ready, now_ready

__all__ = [
    "MOST_BITS",
    "Floats",
    "Ints",
    "compiled",
    "in_caller",
    "in_one_piece",
    "in_place",
    "inlined",
    "is_available",
    "is_ready",
    "now_ready",
    "table",
]
