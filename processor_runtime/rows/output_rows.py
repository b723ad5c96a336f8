"""The output rows of a job: matches, timeouts, side outputs, shadows, groups, late events, errors.

    Detection ──process function──► OutputRow ──► frame ──► outputs of the job file, by kind

`match_id` is a hash of what was found, so that it is the same whenever the same is found again.
"""

import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final, Literal, NamedTuple, get_args

import polars as pl
from pydantic_core import from_json

from cep.nfa.errors import error_message
from processor_runtime.rows.json_text import json_text

RowKind = Literal[
    "match", "timeout", "side", "shadow", "suppressed", "grouped", "group", "late", "error"
]
ROW_KINDS: Final[tuple[RowKind, ...]] = get_args(RowKind)

SCHEMA: Final = pl.Schema(
    {
        "kind": pl.String(),
        "tag": pl.String(),
        "processor_id": pl.String(),
        "version": pl.Int32(),
        "epoch": pl.Int64(),
        "key": pl.String(),
        "match_id": pl.String(),
        "start_ms": pl.Int64(),
        "end_ms": pl.Int64(),
        "output": pl.String(),
        "events": pl.String(),
        "error": pl.String(),
    }
)


class OutputRow(NamedTuple):
    """One row of output; `key`, `output`, `events` and `error` are JSON, or `None`.

    `tag` names a side output, or the group of a match. `start_ms` and `end_ms` are event times,
    milliseconds since 1970.
    """

    kind: RowKind
    tag: str | None = None
    processor_id: str | None = None
    version: int | None = None
    epoch: int | None = None
    key: str | None = None
    match_id: str | None = None
    start_ms: int | None = None
    end_ms: int | None = None
    output: str | None = None
    events: str | None = None
    error: str | None = None

    def columns(self) -> Mapping[str, Any]:
        """Return the columns of the output; none if it has no columns, or cannot be read again."""
        try:
            output: Any = None if self.output is None else from_json(self.output)
        except ValueError:  # code may give what is nested more deeply than is read
            output = None
        return output if isinstance(output, Mapping) else {}


def rows_frame(rows: Sequence[OutputRow]) -> pl.DataFrame:
    """Return rows as a frame of `SCHEMA`."""
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def error_json(reason: str, error: BaseException | None = None, **more: Any) -> str:
    """Return an error as JSON: its reason, its message, and where it arose."""
    content: dict[str, Any] = {"reason": reason, **more}
    if error is not None:
        content |= {"message": error_message(error), "traceback": traceback_text(error)}
    return json_text(content)


def traceback_text(error: BaseException) -> str:
    """Return where an error arose: the end of its traceback, at most 4,000 characters.

    Of a condition that raised it is the traceback of what it raised.
    """
    cause = getattr(error, "cause", None) or error
    text = "".join(traceback.format_exception(cause, limit=-20))[-4_000:]
    return text.encode(errors="replace").decode()


Identity = tuple[str | int, ...]
"""What makes a find what it is beside its events: processor, version, kind, key and times."""


DIGEST_BYTES: Final = 16
"""As many has an id, which is written with hexadecimal digits."""


@dataclass(slots=True)
class MatchIds:
    """Gives out the ids of what is found; equal finds of one batch are numbered.

    Two finds can have equal content, where equal events came twice. If they are found at the same
    event time, too, they are found in the same batch and shard.
    """

    _seen: dict[bytes, int]

    @classmethod
    def fresh(cls) -> "MatchIds":
        """Return a new count, for one batch of one shard."""
        return cls({})

    def match_id(self, identity: Identity, events_json: str) -> str:
        """Return the id of a find, 32 hexadecimal digits.

        Args:
            identity: what makes it what it is beside its events.
            events_json: its events by step, as JSON.
        """
        digest = blake2b(f"{identity!r}{events_json}".encode(), digest_size=DIGEST_BYTES)
        content = digest.digest()
        number = self._seen.get(content, 0)
        self._seen[content] = number + 1
        if not number:
            return content.hex()
        digest.update(number.to_bytes(4, "big"))
        return digest.hexdigest()

    def numbered(
        self, contents: Sequence[bytes], text: Callable[[int], bytes]
    ) -> Iterator[tuple[int, bytes]]:
        """Yield the ids of those of many finds that are not the digest of their text.

        Args:
            contents: digests of texts, which are identities and the JSON of events.
            text: returns the text of a find, by its place.
        """
        seen = self._seen
        new = dict.fromkeys(contents, 1)
        if len(new) == len(contents) and seen.keys().isdisjoint(new):
            seen.update(new)
            return
        for place, content in enumerate(contents):
            number = seen.get(content, 0)
            seen[content] = number + 1
            if number:
                numbered = text(place) + number.to_bytes(4, "big")
                yield place, blake2b(numbered, digest_size=DIGEST_BYTES).digest()
