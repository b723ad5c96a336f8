"""The state of a whole KeyedMatcher as bytes, and back into a matcher with the same or other rules.

Rules are identified by id and pattern: an unchanged rule keeps its partial matches, a removed or
changed one loses them, and a new one starts empty.

Source: FLIP-200, "partial matches are kept for the same id and version".
"""

from cep.keyed.key_state import KeyRestorer, encode_keys, layout
from cep.keyed.matcher import KeyedMatcher
from cep.nfa.codec import pack, unpack
from cep.nfa.errors import StateEncodingError


def encode_matcher(matcher: KeyedMatcher) -> bytes:
    """Return the state of all keys and rules.

    Keys and events may consist of None, bool, int, float, str, bytes, Decimal, date, datetime,
    timedelta, and lists, tuples and mappings of these.

    Raises:
        StateEncodingError: a key or an event contains another type.
    """
    keys = dict.fromkeys(key for shape in matcher.shapes for key in shape.keys)
    encoded = dict(encode_keys(matcher, keys.keys()))
    states = [[key, encoded[key].data] for key in keys if key in encoded]
    return pack([matcher.time_ms, layout(matcher), states])


def restore_matcher(matcher: KeyedMatcher, data: bytes) -> None:
    """Put encoded state into a matcher that has not processed anything yet.

    Raises:
        StateEncodingError: the bytes are corrupt or of a newer format.
    """
    try:
        matcher.time_ms, written, states = unpack(data)
        restorer = KeyRestorer(matcher, written)
        for key, state in states:
            restorer.restore(key, state)
    except (ValueError, TypeError) as error:
        raise StateEncodingError(f"the encoded state is not well formed: {error}") from error
