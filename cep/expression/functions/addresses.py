"""IP addresses and the blocks that they lie in.

All are numbers of 128 bits: an IPv4 address is its IPv4-mapped IPv6 address, so `::ffff:10.0.0.1`
lies in `10.0.0.0/8`, and every address in `::/0`. Texts are those that `inet_pton` reads: without
blanks, leading zeros, ports and zones.

Source: RFC 4632 (blocks), RFC 4291, 2.5.5.2 (mapped addresses), as in Elasticsearch's CIDR_MATCH.
"""

import socket
from bisect import bisect_right
from functools import lru_cache

_MAPPED = 0xFFFF << 32


def in_blocks(address: str, *blocks: str) -> bool | None:
    """Return whether an address lies in one of the blocks; `None` if it is no address."""
    number = _number(address)
    if number is None:
        return None
    firsts, lasts = _ranges(blocks)
    place = bisect_right(firsts, number)
    return place > 0 and number <= lasts[place - 1]


def block(text: str) -> tuple[int, int]:
    """Return the first and the last address of a block such as `10.0.0.0/8`.

    Bits behind the prefix do not matter.

    Raises:
        ValueError: it is no block.
    """
    address, slash, prefix = text.partition("/")
    if not slash:
        hint = (
            f"; one address is '{text}/{128 if ':' in text else 32}'"
            if _number(text) is not None
            else ""
        )
        raise ValueError(f"'{text[:50]}' is no block of IP addresses: /prefix is missing{hint}")
    number = _number(address)
    if number is None:
        raise ValueError(f"'{text[:50]}' is no block of IP addresses: '{address[:50]}' is none")
    bits = 128 if ":" in address else 32
    if not (prefix.isascii() and prefix.isdigit() and int(prefix[:4]) <= bits):
        raise ValueError(
            f"'{text[:50]}' is no block of IP addresses: the prefix is a number from 0 to {bits}"
        )
    host_bits = bits - int(prefix)
    first = number >> host_bits << host_bits
    return first, first + (1 << host_bits) - 1


@lru_cache(maxsize=1024)
def _ranges(blocks: tuple[str, ...]) -> tuple[list[int], list[int]]:
    """Return the beginnings and ends of the ranges of some blocks, ascending and apart."""
    firsts: list[int] = []
    lasts: list[int] = []
    for first, last in sorted(map(block, blocks)):
        if lasts and first <= lasts[-1]:
            lasts[-1] = max(last, lasts[-1])
        else:
            firsts.append(first)
            lasts.append(last)
    return firsts, lasts


def _number(address: str) -> int | None:
    try:
        if ":" in address:
            return int.from_bytes(socket.inet_pton(socket.AF_INET6, address))
        return _MAPPED | int.from_bytes(socket.inet_pton(socket.AF_INET, address))
    except (OSError, ValueError):  # no address; a character that no address has
        return None
