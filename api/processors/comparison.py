"""The differences of two documents: by key, and by name in lists of named items such as steps."""

from collections.abc import Iterator, Mapping
from typing import Any

from api.web.problems import escaped
from contract.service.processors import Difference


def differences(old: Any, new: Any, pointer: str = "") -> Iterator[Difference]:
    """Yield every place at which two JSON values differ, in the order of the old one.

    Steps whose order has changed are reported under `<list>/order`.
    """
    if old == new and type(old) is type(new):
        return
    old_parts, new_parts = _parts(old), _parts(new)
    if old_parts is None or new_parts is None or _is_list(old) != _is_list(new):
        yield Difference(pointer=pointer, change="changed", old=old, new=new)
        return
    for key, value in old_parts.items():
        place = f"{pointer}/{escaped(key)}"
        if key in new_parts:
            yield from differences(value, new_parts[key], place)
        else:
            yield Difference(pointer=place, change="removed", old=value)
    for key, value in new_parts.items():
        if key not in old_parts:
            yield Difference(pointer=f"{pointer}/{escaped(key)}", change="added", new=value)
    if _is_list(old):
        kept = [key for key in old_parts if key in new_parts]
        order = [key for key in new_parts if key in old_parts]
        if kept != order:
            place = f"{pointer}/order"
            yield Difference(pointer=place, change="changed", old=kept, new=order)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _parts(value: Any) -> Mapping[str, Any] | None:
    """Return the parts of a value by key, name or position; `None` if it is one piece."""
    if isinstance(value, Mapping):
        return value
    if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
        return None
    names = [str(item.get("name", index)) for index, item in enumerate(value)]
    if len(set(names)) < len(names):
        names = [str(index) for index in range(len(value))]
    return dict(zip(names, value, strict=True))
