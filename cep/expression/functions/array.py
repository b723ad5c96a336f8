"""Scalar meaning of the functions on arrays; no array is NULL, its elements may be.

Source: Spark SQL reference, "Array functions" and "Lambda functions".
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from cep.expression.tree import HigherOrderFunction
from cep.expression.values import (
    MAX_COMPUTED_TEXT,
    Group,
    Mismatch,
    Value,
    equal,
    group_of,
    less,
)


def _require_array(*values: Value) -> None:
    if any(group_of(value) is not Group.ARRAY for value in values):
        raise Mismatch


def _position(value: Value) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise Mismatch
    return value


def array(*elements: Value) -> list[Value]:
    """Return the array of these elements, any of which may be NULL."""
    return list(elements)


def size(elements: Value) -> int:
    """Return how many elements there are, NULL among them."""
    _require_array(elements)
    return len(elements)


def get(elements: Value, index: Value) -> Value:
    """Return the element at an index from 0, NULL if there is none."""
    _require_array(elements)
    return elements[index] if 0 <= _position(index) < len(elements) else None


def element_at(elements: Value, position: Value) -> Value:
    """Return the element at a position from 1, from the end if negative; NULL if there is none."""
    _require_array(elements)
    place = _position(position)
    index = place - 1 if place > 0 else len(elements) + place
    return elements[index] if place and 0 <= index < len(elements) else None


def contains(elements: Value, item: Value) -> bool | None:
    """Return whether an element equals the item; unknown if none does but one is NULL."""
    _require_array(elements)
    return _exists(elements, (None if each is None else equal(each, item) for each in elements))


def position(elements: Value, item: Value) -> int:
    """Return the position from 1 of the first element that equals the item; 0 if none does."""
    _require_array(elements)
    places = enumerate(elements, start=1)
    return next((n for n, each in places if each is not None and equal(each, item)), 0)


def overlap(left: Value, right: Value) -> bool | None:
    """Return whether an element of one equals one of the other.

    Unknown if none does, neither is empty and one has NULL in it.
    """
    _require_array(left, right)
    known = [element for element in right if element is not None]
    if any(equal(one, other) for one in left if one is not None for other in known):
        return True
    return None if left and right and (None in left or None in right) else False


def distinct(elements: Value) -> list[Value]:
    """Return the elements without those that equal an earlier one."""
    _require_array(elements)
    found: list[Value] = []
    for element in elements:
        same = (other is element or _are_equal(element, other) for other in found)
        if not any(same):
            found.append(element)
    return found


def _are_equal(one: Value, other: Value) -> bool:
    return one is not None and other is not None and equal(one, other) is True


def least_of(*values: Value) -> Value:
    """Return the smallest value that is not NULL; NULL if there is none."""
    return _extreme(values, less)


def greatest_of(*values: Value) -> Value:
    """Return the largest value that is not NULL; NULL if there is none."""
    return _extreme(values, _is_greater)


def least(elements: Value) -> Value:
    """Return the smallest element that is not NULL; NULL if there is none."""
    _require_array(elements)
    return _extreme(elements, less)


def greatest(elements: Value) -> Value:
    """Return the largest element that is not NULL; NULL if there is none."""
    _require_array(elements)
    return _extreme(elements, _is_greater)


def _is_greater(one: Value, other: Value) -> bool | None:
    return less(other, one)


def _extreme(elements: Iterable[Value], is_before: Callable[[Value, Value], bool | None]) -> Value:
    found: Value = None
    for element in elements:
        if element is not None and (found is None or is_before(element, found)):
            found = element
    return found


def join(elements: Value, delimiter: Value, instead: Value = None) -> str | None:
    """Return the texts as one, with `instead` for NULL, which else is left out."""
    _require_array(elements)
    texts = [instead if element is None else element for element in elements]
    return joined(delimiter, [text for text in texts if text is not None])


def joined(delimiter: Value, texts: Iterable[Value]) -> str | None:
    """Return texts with a delimiter between them, NULL beyond `MAX_COMPUTED_TEXT` characters."""
    found = [delimiter, *texts]
    if not all(isinstance(text, str) for text in found):
        raise Mismatch
    _, *parts = found
    length = sum(map(len, parts)) + len(delimiter) * (len(parts) - 1)
    return delimiter.join(parts) if length <= MAX_COMPUTED_TEXT else None


# What a function makes of the results of its lambda


def _exists(_elements: list[Value], results: Iterable[Value]) -> bool | None:
    found: bool | None = False
    for result in results:
        if result:
            return True
        found = None if result is None else found
    return found


def _forall(_elements: list[Value], results: Iterable[Value]) -> bool | None:
    found: bool | None = True
    for result in results:
        if result is False:
            return False
        found = None if result is None else found
    return found


def _filter(elements: list[Value], results: Iterable[Value]) -> list[Value]:
    return [each for each, result in zip(elements, results, strict=True) if result]


def _transform(_elements: list[Value], results: Iterable[Value]) -> list[Value]:
    return list(results)


APPLY: Final[Mapping[HigherOrderFunction, Callable[[list[Any], Iterable[Any]], Value]]] = {
    HigherOrderFunction.EXISTS: _exists,
    HigherOrderFunction.FORALL: _forall,
    HigherOrderFunction.FILTER: _filter,
    HigherOrderFunction.TRANSFORM: _transform,
}
"""Takes the elements of an array and the results of the lambda for them, in order."""
