"""Messages of Protobuf in a file: a set of descriptors, as `protoc` and `buf build` write it.

    alert.proto ──► protoc --include_imports ──► schema_file ──► the file of rows, and its imports

Rows are of the first message of the file that no other in the set imports. Files that come with
Protobuf (`google/protobuf/…`) are known everywhere; no registry keeps them.
"""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from google.protobuf import descriptor_pool
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError

from processor_runtime.kafka.settings import KafkaOptionError

_HOW: Final = "protoc --include_imports --descriptor_set_out=FILE"
_KNOWN_EVERYWHERE: Final = ("google/protobuf/", "google/type/", "confluent/")
"""Where files are that every client of a registry brings with it."""


@dataclass(frozen=True, slots=True)
class DescriptorSet:
    """A file of messages, and what it imports.

    `rows`: the name of the file whose first message rows are.
    """

    rows: str
    files: Mapping[str, FileDescriptorProto]

    @classmethod
    def of(cls, written: str) -> "DescriptorSet":
        """Return the set in a file.

        `written`: what is in the file, as Base64.

        Raises:
            KafkaOptionError: it is none, or lacks what rows need.
        """
        files = {file.name: file for file in _read(written).file}
        imported = {name for file in files.values() for name in file.dependency}
        first = [name for name in files if name not in imported]
        if len(first) != 1:
            names = ", ".join(sorted(first)) or "another"
            raise KafkaOptionError(
                f"schema_file: no file imports {names}, so which of them has the message of rows "
                "is not clear. Compile one, with what it imports"
            )
        found = cls(first[0], files)
        found._check()
        return found

    def imports_of(self, name: str) -> tuple[str, ...]:
        """Return the names of imported files that a registry keeps."""
        return tuple(
            each for each in self.files[name].dependency if not each.startswith(_KNOWN_EVERYWHERE)
        )

    def text_of(self, name: str) -> str:
        """Return a file as a registry takes it: serialized, as Base64."""
        file = FileDescriptorProto()
        file.CopyFrom(self.files[name])
        file.ClearField("source_code_info")  # comments and lines
        return base64.b64encode(file.SerializeToString(deterministic=True)).decode()

    def _check(self) -> None:
        pool = DescriptorPool()
        for name in self._in_order():
            try:
                pool.Add(self.files[name] if name in self.files else _known(name))
            except TypeError as error:
                raise KafkaOptionError(
                    f"schema_file: {name} cannot be used: {str(error).partition(chr(10))[0]}"
                ) from None
        if not self.files[self.rows].message_type:
            raise KafkaOptionError(f"schema_file: {self.rows} has no message, which rows are")

    def _in_order(self) -> list[str]:
        """Return the names of all files, each after those that it imports."""
        order, seen = [], set()
        waiting = [(self.rows, False)]
        while waiting:
            name, is_last = waiting.pop()
            if is_last:
                order.append(name)
            elif name not in seen:
                seen.add(name)
                file = self.files[name] if name in self.files else _known(name)
                waiting.append((name, True))
                waiting.extend((each, False) for each in file.dependency)
        return order


def _read(written: str) -> FileDescriptorSet:
    try:
        found = FileDescriptorSet.FromString(base64.b64decode(written, validate=True))
    except (binascii.Error, DecodeError):
        found = FileDescriptorSet()
    if not found.file or not all(each.name for each in found.file):
        raise KafkaOptionError(
            f"schema_file: no set of descriptors of Protobuf. Compile the .proto with {_HOW}"
        )
    return found


def _known(name: str) -> FileDescriptorProto:
    """Return a file that comes with Protobuf, and need not be in a set."""
    found = FileDescriptorProto()
    try:
        descriptor_pool.Default().FindFileByName(name).CopyToProto(found)
    except KeyError:
        raise KafkaOptionError(
            f"schema_file: {name} is imported, and is not in it. Compile with {_HOW}"
        ) from None
    return found
