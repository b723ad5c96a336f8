"""Compiled: bytes copied a register at a time, as most texts and values are only some dozens.

    some bytes of an array ──copied──► at a place of another

A loop over single bytes, of which LLVM makes one over vectors with another before and after it,
takes two to three times as long for up to 40 bytes.

Source: numba documentation, "Low-level extension API", `numba.extending.intrinsic`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from cep.compiling import in_caller

Bytes = NDArray[np.uint8]


def _mover(count: int) -> Callable[..., None]:
    """Return what copies so many bytes from a place of an array to a place of another."""

    def move(
        _typing: Any, source: Any, first: Any, data: Any, place: Any
    ) -> tuple[Any, Callable[[Any, Any, Any, list[Any]], Any]]:
        def write_code(context: Any, builder: Any, signature: Any, args: list[Any]) -> Any:
            as_one = ir.VectorType(ir.IntType(8), count).as_pointer()
            begin, end = (
                builder.bitcast(
                    builder.gep(
                        context.make_array(signature.args[at])(context, builder, args[at]).data,
                        [args[at + 1]],
                    ),
                    as_one,
                )
                for at in (0, 2)
            )
            builder.store(builder.load(begin, align=1), end, align=1)
            return context.get_dummy_value()

        return types.void(source, first, data, place), write_code

    moved: Callable[..., None] = intrinsic(move)
    return moved


_WHOLE, _HALF, _QUARTER, _EIGHTH = 16, 8, 4, 2
"""Bytes of a register, and of what fits into one."""
_move_whole, _move_half, _move_quarter, _move_eighth = map(
    _mover, (_WHOLE, _HALF, _QUARTER, _EIGHTH)
)


@in_caller
def copied(source: Bytes, begin: int, end: int, data: Bytes, place: int) -> int:
    """Copy some bytes to another array; return where they end.

    Where they do not fill registers, some are copied twice.
    """
    size = end - begin
    if size >= _WHOLE:
        last = size - _WHOLE
        for offset in range(0, last, _WHOLE):
            _move_whole(source, begin + offset, data, place + offset)
        _move_whole(source, begin + last, data, place + last)
    elif size >= _HALF:
        _move_half(source, begin, data, place)
        _move_half(source, end - _HALF, data, place + size - _HALF)
    elif size >= _QUARTER:
        _move_quarter(source, begin, data, place)
        _move_quarter(source, end - _QUARTER, data, place + size - _QUARTER)
    elif size >= _EIGHTH:
        _move_eighth(source, begin, data, place)
        _move_eighth(source, end - _EIGHTH, data, place + size - _EIGHTH)
    elif size == 1:
        # A place that may be below 0 would count from the end.
        data[np.uint64(place)] = source[np.uint64(begin)]
    return place + size
