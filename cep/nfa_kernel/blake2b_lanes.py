"""Compiled: BLAKE2b of four texts at once, as vectors of the processor.

    states of four texts, a block of each ──compress_lanes──► their states after it

One after the other they take three and a half times as long: each step of the hash needs what the
one before has made. LLVM makes no vectors of a loop over texts, so they are written for it here.

Sources: RFC 7693, "The BLAKE2 Cryptographic Hash and Message Authentication Code"; numba
documentation, "Low-level extension API", `numba.extending.intrinsic`.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from cep.compiling import Ints, in_place
from cep.nfa_kernel.blake2b import BEGIN, BLOCK_WORDS, PERMUTED, STATE_WORDS, Words

LANES: Final = 4
WORD_BYTES: Final = 8

_WORD: Final = ir.IntType(64)
_LANES: Final = ir.VectorType(_WORD, LANES)
_BYTES: Final = ir.VectorType(ir.IntType(8), LANES * WORD_BYTES)
_ALL_BUT_ONE_BIT: Final = 63
"""Rotated to the right by so many bits, a word is rotated to the left by one."""

Values = list[Any]
"""Vectors, of which LLVM knows no more than where they come from."""


@in_place
def compress_lanes(state: Words, words: Words, first: Ints, counted: Words, last: Words) -> None:
    """Mix a block of each text into its state.

    Args:
        state: 8 words of each text, as `[word, text]`; `blake2b.begin` sets them.
        words: where the texts are, as `[text, word]`, each word with the lowest byte first.
        first: of each text, the first word of its block.
        counted: of each, how many bytes there were with the block.
        last: of each, `LAST` or `NOT_LAST`.
    """
    _compress(state, words, first, counted, last)


def _typed_compress(
    _typing: Any, state: Any, words: Any, first: Any, counted: Any, last: Any
) -> tuple[Any, Callable[[Any, Any, Any, Values], Any]]:
    """Return the type of `_compress` and what writes its code."""

    def write_code(context: Any, builder: Any, signature: Any, args: Values) -> Any:
        states, texts, begins, counts, lasts = (
            context.make_array(kind)(context, builder, array)
            for kind, array in zip(signature.args, args, strict=True)
        )
        text_words = builder.extract_value(texts.shape, 1)
        blocks = []
        for lane in range(LANES):
            begin = builder.load(builder.gep(begins.data, [_WORD(lane)]))
            begin = builder.add(begin, builder.mul(text_words, _WORD(lane)))
            blocks.append(builder.gep(texts.data, [begin]))
        _write_compress(builder, states.data, _across(builder, blocks), counts.data, lasts.data)
        return context.get_dummy_value()

    return types.void(state, words, first, counted, last), write_code


_compress: Final[Callable[..., None]] = intrinsic(_typed_compress)


def _write_compress(builder: Any, state: Any, block: Values, counted: Any, last: Any) -> None:
    """Write what `blake2b.compress` does, each word of it that of four texts."""
    before = [_loaded(builder, state, word * LANES) for word in range(STATE_WORDS)]
    begin = [ir.Constant(_LANES, [word] * LANES) for word in BEGIN.tolist()]
    begin[4] = builder.xor(begin[4], _loaded(builder, counted, 0))
    begin[6] = builder.xor(begin[6], _loaded(builder, last, 0))
    mixed = [*before, *begin]
    for turn in PERMUTED.tolist():
        for step, (one, other) in enumerate(zip(turn[::2], turn[1::2], strict=True)):
            column, diagonal = step % 4, step // 4
            places = [4 * row + (column + row * diagonal) % 4 for row in range(4)]
            taken = [mixed[place] for place in places]
            for place, value in zip(
                places, _mixed(builder, taken, block[one], block[other]), strict=True
            ):
                mixed[place] = value
    for word in range(STATE_WORDS):
        after = builder.xor(mixed[word], mixed[word + STATE_WORDS])
        place = _place(builder, state, word * LANES)
        builder.store(builder.xor(before[word], after), place, align=WORD_BYTES)


def _across(builder: Any, blocks: Values) -> Values:
    """Return the words of four blocks, of which we know where they begin, each word that of all."""
    across: Values = []
    for begin in range(0, BLOCK_WORDS, LANES):
        a, b, c, d = (_loaded(builder, block, begin) for block in blocks)
        even, odd = [0, 4, 2, 6], [1, 5, 3, 7]
        pairs = [
            (_chosen(builder, a, b, places), _chosen(builder, c, d, places))
            for places in (even, odd)
        ]
        across += [
            _chosen(builder, *pair, places)
            for places in ([0, 1, 4, 5], [2, 3, 6, 7])
            for pair in pairs
        ]
    return across


def _mixed(builder: Any, words: Values, one: Any, other: Any) -> Values:
    """Return what the standard calls G."""
    a, b, c, d = words
    for word, of_d, of_b in ((one, 32, 24), (other, 16, _ALL_BUT_ONE_BIT)):
        a = builder.add(builder.add(a, b), word)
        d = _rotated(builder, builder.xor(d, a), of_d)
        c = builder.add(c, d)
        b = _rotated(builder, builder.xor(b, c), of_b)
    return [a, b, c, d]


def _rotated(builder: Any, words: Any, bits: int) -> Any:
    """Return words rotated to the right: in one instruction where whole bytes move."""
    if bits == _ALL_BUT_ONE_BIT:
        shift = ir.Constant(_LANES, [bits] * LANES)
        return builder.or_(builder.add(words, words), builder.lshr(words, shift))
    places = [
        first + (byte + bits // 8) % WORD_BYTES
        for first in range(0, LANES * WORD_BYTES, WORD_BYTES)
        for byte in range(WORD_BYTES)
    ]
    in_bytes = builder.bitcast(words, _BYTES)
    return builder.bitcast(_chosen(builder, in_bytes, in_bytes, places), _LANES)


def _chosen(builder: Any, one: Any, other: Any, places: Sequence[int]) -> Any:
    """Return the elements of two vectors at some places, where those of `other` follow `one`."""
    mask = ir.Constant(ir.VectorType(ir.IntType(32), len(places)), [*places])
    return builder.shuffle_vector(one, other, mask)


def _loaded(builder: Any, words: Any, first: int) -> Any:
    return builder.load(_place(builder, words, first), align=WORD_BYTES)


def _place(builder: Any, words: Any, first: int) -> Any:
    """Return where a vector lies that begins with some word."""
    return builder.bitcast(builder.gep(words, [_WORD(first)]), _LANES.as_pointer())
