"""A copy of the buckets of a shard in files of this machine, from which a worker reads them faster.

    names of buckets ──there is a copy──► file of this machine
                     └─there is none────► state store of the task ──► copied for later batches

A bucket from Spark's Java side takes some 35 µs, and most stay as they are from one batch to the
next, but not in one process: any worker may get the shard. Each batch that changes a bucket gives
the state a new random token, before anything else, and the files say for which token they are
right; with another one they count for nothing. So after a batch that failed or ran twice, a crash,
or batches on another machine a copy is either exact or not used. All that is written goes to the
state as ever.
"""

import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from secrets import token_bytes, token_hex
from typing import Final

import numpy as np

from cep.nfa.codec import pack, unpack
from cep.nfa.errors import StateEncodingError
from processor_runtime.state.keyed_state import KeyedState
from processor_runtime.state.value_file import Span, ValueFile

_log = logging.getLogger("percept.job")
_NAME: Final = "copy"
_TOKEN_BYTES: Final = 16
_MANY: Final = 256
"""From so many values on, read or written at once, a copy is worth its files."""
_MOST_BYTES: Final = 256 << 20
_UNUSED_BYTES: Final = 16 << 20
"""So much, and once more what is in use, a file may hold of values that nobody wants any more."""
_MOVED_TOGETHER: Final = 4_096


@contextmanager
def copied(
    state: KeyedState, index_path: Path | None, is_copied: Callable[[str], bool]
) -> Iterator[KeyedState]:
    """Give a state of which a part is read from a copy, for one batch.

    Args:
        state: the state.
        index_path: the file that says what there is a copy of, the same one in each batch; others
            are beside it. Without one there is no copy here, and all others are told.
        is_copied: whether there may be a copy of a value, by its name.
    """
    copy = LocalCopy(state, index_path, is_copied)
    try:
        yield copy
        copy.save()
    finally:
        copy.close()


@dataclass(slots=True)
class LocalCopy:
    """A state during one batch, and a copy of a part of it; see `KeyedState` and `copied`."""

    state: KeyedState
    index_path: Path | None
    is_copied: Callable[[str], bool]
    _spans: dict[str, Span] | None = None
    _file: ValueFile | None = None
    _token: bytes | None = None
    _is_new: bool = False
    _is_saved: bool = True
    _is_off: bool = False

    def get(self, name: str) -> bytes | None:
        """See `KeyedState`."""
        return self.get_many([name])[0]

    def put(self, name: str, value: bytes) -> None:
        """See `KeyedState`."""
        self.put_many({name: value})

    def delete(self, name: str) -> None:
        """See `KeyedState`."""
        self.put_many({name: None})

    def get_many(self, names: Sequence[str]) -> list[bytes | None]:
        """See `KeyedState`."""
        if not any(map(self.is_copied, names)):
            return self.state.get_many(names)
        values: dict[str, bytes | None] = dict(self._read(names))
        missing = [name for name in names if name not in values]
        found = dict(zip(missing, self.state.get_many(missing), strict=True))
        self._copy(found)
        values |= found
        return [values[name] for name in names]

    def put_many(self, changes: Mapping[str, bytes | None]) -> None:
        """See `KeyedState`."""
        names = list(filter(self.is_copied, changes))
        if names:
            self._drop(names)
        self.state.put_many(changes)
        self._copy(changes)

    def save(self) -> None:
        """Let the files say what there is a copy of now."""
        if self._is_saved or self._file is None or self.index_path is None:
            return
        if self._token is None:
            self._set_token()
        try:
            self._file = self._without_unused(self._file, self.index_path)
            self._write_index(self._file.path.name, self.index_path)
        except OSError as error:
            self._give_up(error)

    def close(self) -> None:
        """Give files back to the system."""
        if self._file is not None:
            self._file.close()

    def _known(self) -> dict[str, Span]:
        """Return where values are of which there is a copy."""
        if self._spans is None:
            self._spans = {}
            self._token = self.state.get(_NAME)
            if self._token is not None and self.index_path is not None:
                self._open(self.index_path, self._token)
        return self._spans

    def _open(self, index_path: Path, token: bytes) -> None:
        try:
            its_token, file_name, names, spans = unpack(index_path.read_bytes())
            path = index_path.with_name(file_name)
            if its_token != token:
                path.unlink(missing_ok=True)  # right for no state that is to come
                return
            if path.exists():
                self._file = ValueFile(path)
                places = np.frombuffer(spans, "<i8").reshape(-1, 2).tolist()
                self._spans = dict(zip(names, map(Span._make, places), strict=True))
        except FileNotFoundError:
            pass
        except (OSError, StateEncodingError, ValueError, TypeError) as error:
            self._give_up(error)

    def _read(self, names: Sequence[str]) -> dict[str, bytes]:
        spans = self._known()
        there = [name for name in names if name in spans]
        if self._file is None or not there:
            return {}
        try:
            values = self._file.read([spans[name] for name in there])
        except OSError as error:
            self._give_up(error)
            return {}
        return dict(zip(there, values, strict=True))

    def _drop(self, names: Sequence[str]) -> None:
        """Have no copy of values that will change, nor let any other copy of the state be right."""
        spans = self._known()
        if not self._is_new and self._token is not None:
            self._set_token()
        for name in names:
            spans.pop(name, None)

    def _set_token(self) -> None:
        self._token = token_bytes(_TOKEN_BYTES)
        self.state.put(_NAME, self._token)
        self._is_new, self._is_saved = True, False

    def _copy(self, values: Mapping[str, bytes | None]) -> None:
        """Copy values as the state has them, if they are many."""
        new = {
            name: value
            for name, value in values.items()
            if value is not None and self.is_copied(name)
        }
        if self.index_path is None or self._is_off or len(new) < _MANY:
            return
        spans = self._known()
        try:
            self._file = self._file or _new_file(self.index_path)
            if self._file.size_bytes < _MOST_BYTES:
                spans |= zip(new, self._file.add(list(new.values())), strict=True)
                self._is_saved = False
        except OSError as error:
            self._give_up(error)

    def _without_unused(self, before: ValueFile, index_path: Path) -> ValueFile:
        """Return a file of the values that are wanted; another one if there are many beside."""
        spans = self._known()
        used = sum(span.size for span in spans.values())
        if before.size_bytes <= 2 * used + _UNUSED_BYTES:
            return before
        names = list(spans)
        self._file = after = _new_file(index_path)
        try:
            for first in range(0, len(names), _MOVED_TOGETHER):
                some = names[first : first + _MOVED_TOGETHER]
                values = before.read([spans[name] for name in some])
                spans |= zip(some, after.add(values), strict=True)
        finally:
            before.delete()
        return after

    def _write_index(self, file_name: str, index_path: Path) -> None:
        spans = self._known()
        places = np.fromiter(chain.from_iterable(spans.values()), "<i8", 2 * len(spans)).tobytes()
        new_path = index_path.with_suffix(f".{os.getpid()}")
        new_path.write_bytes(pack([self._token, file_name, list(spans), places]))
        new_path.replace(index_path)
        self._is_saved = True

    def _give_up(self, error: Exception) -> None:
        """Go on without a copy; the next batch may begin another one."""
        _log.warning("no copy of buckets is kept on this machine in this batch: %s", error)
        self._spans, self._is_off = {}, True
        file, self._file = self._file, None
        if file is not None:
            file.close()
        with suppress(OSError):
            if self.index_path is not None:
                self.index_path.unlink(missing_ok=True)
            if file is not None:
                file.delete()


def _new_file(index_path: Path) -> ValueFile:
    index_path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return ValueFile(index_path.with_name(f"{index_path.stem}-{token_hex(8)}"))
