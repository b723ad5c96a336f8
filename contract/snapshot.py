"""The snapshot: every processor published on one stream at one epoch, as the service serves it.

    rule service ── this document ──► discoverer ──► job

It lists everything that runs: it is always complete, never a difference. Paused processors are in
it, marked, so that a job can tell paused from deleted. Per processor it has the newest version that
is effective at once and every later one that is scheduled; the highest version whose
`effective_from_ms` has passed in event time runs. docs/snapshot.md explains each field.
"""

from collections.abc import Callable
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, model_serializer

from cep.list_content import ListType
from contract import canonical

FORMAT: Final = 1
KEY_SHARES: Final = 10_000
"""Into so many equal parts keys are divided; the share of a rollout is a number of them."""


class _SnapshotPart(BaseModel):
    # A newer service may add keys; a job that does not know them still reads the rest.
    model_config = ConfigDict(frozen=True, extra="ignore")


class StreamDefinition(_SnapshotPart):
    """The definition of a stream: columns, event time and order of its events."""

    name: str
    version: int = Field(description="Version of this definition.")
    ddl: str = Field(alias="schema", description="Columns and types, as Spark DDL.")
    event_time_column: str = Field(description="TIMESTAMP, TIMESTAMP_NTZ or BIGINT milliseconds.")
    allowed_delay_ms: int = Field(description="How late an event may come.")
    order_by: list[str] = Field(description="Order of events of equal time, by these columns.")


class SnapshotVersion(_SnapshotPart):
    """One version of a processor.

    `definition` holds `pattern` and, where given, `key_by`, `select`, `function`, `alert`,
    `on_update`, `limits` and `severity`, as written by its author.
    """

    version: int
    effective_from_ms: int | None = Field(description="First event time it is for; null = at once.")
    effective_until_ms: int | None = Field(description="First event time it is not for.")
    definition: dict[str, Any]


class SnapshotProcessor(_SnapshotPart):
    """One processor: its published versions, lowest first."""

    id: str
    paused: bool
    versions: list[SnapshotVersion] = Field(min_length=1)


class SnapshotRollout(_SnapshotPart):
    """One version that runs beside what is published of its processor, if anything is.

    It has all events and all keys. What it finds counts for the keys in its share; for the others
    what is published counts, and its own finds are of kind `shadow`, and the other way round.
    """

    id: str
    version: SnapshotVersion
    share: int = Field(
        ge=0, lt=KEY_SHARES, description="Of 10,000 parts of all keys; 0 = it only runs in shadow."
    )


class SnapshotListVersion(_SnapshotPart):
    """One version of a list; `digest` names its content, see `cep.list_content`."""

    version: int
    effective_from_ms: int | None = Field(description="First event time it is for; null = at once.")
    digest: str = Field(pattern="^[0-9a-f]{64}$")
    count: int = Field(description="How many values it has.")


class SnapshotList(_SnapshotPart):
    """A list of the stream, for `IN LIST('name')`: its versions, lowest first, as of a rule."""

    name: str
    data_type: ListType = Field(alias="type")
    versions: list[SnapshotListVersion] = Field(min_length=1)


class SnapshotSnooze(_SnapshotPart):
    """What a processor finds is counted and goes to kind `suppressed`, until an event time."""

    id: str
    key: str | None = Field(description="Of this key, as lists of matches have it; null = all.")
    until_ms: int = Field(description="First event time that it is not for.")


class Snapshot(_SnapshotPart):
    """All processors of one stream at one epoch, by id."""

    format: Literal[1]
    epoch: int
    stream: StreamDefinition
    processors: list[SnapshotProcessor]
    # Apart, so that a job that knows of none never runs one as if it were published.
    rollouts: list[SnapshotRollout] = Field(
        default=[], description="By id, at most one each; left out if there is none."
    )
    lists: list[SnapshotList] = Field(default=[], description="By name; left out if there is none.")

    snoozes: list[SnapshotSnooze] = Field(
        default=[], description="By id and key; left out if there is none."
    )

    @property
    def versions(self) -> list[tuple[str, SnapshotVersion]]:
        """Every version with the id of its processor, those that are tried beside others last."""
        return [
            *((processor.id, each) for processor in self.processors for each in processor.versions),
            *((rollout.id, rollout.version) for rollout in self.rollouts),
        ]

    @model_serializer(mode="wrap")
    def _without_nothing(self, write: Callable[["Snapshot"], dict[str, Any]]) -> dict[str, Any]:
        written = write(self)
        for name in ("rollouts", "lists", "snoozes"):
            if not written[name]:
                del written[name]
        return written


def snapshot_json(snapshot: Snapshot) -> bytes:
    """Return the canonical JSON of a snapshot: what the rule service serves, byte for byte.

    Keys in order, no spaces, UTF-8 not escaped. Keys of a newer service that this version does not
    know are lost. `read_snapshot` reads it back.
    """
    return canonical.canonical_json(snapshot.model_dump(by_alias=True)).encode()


def read_snapshot(data: bytes | str) -> Snapshot:
    """Return the snapshot in a JSON text.

    Raises:
        pydantic.ValidationError: it is not one, or of a newer format.
    """
    return Snapshot.model_validate_json(data)


def content_hash(snapshot: Snapshot) -> str:
    """Return the SHA-256 of a snapshot without its epochs and version numbers, in hexadecimal.

    Equal for equal rules from any source, so it shows whether two sources have the same rules;
    epochs counted in two places cannot be compared.
    """
    stream = snapshot.stream.model_dump(by_alias=True, exclude={"version"})
    processors = [
        [
            processor.id,
            processor.paused,
            [version.model_dump(exclude={"version"}) for version in processor.versions],
        ]
        for processor in snapshot.processors
    ]
    rollouts = [
        [rollout.id, rollout.version.model_dump(exclude={"version"}), rollout.share]
        for rollout in snapshot.rollouts
    ]
    lists = [
        [each.name, each.data_type, [(v.effective_from_ms, v.digest) for v in each.versions]]
        for each in snapshot.lists
    ]
    hashed = [stream, processors, *([rollouts] if rollouts or lists else [])]
    return canonical.content_hash([*hashed, lists] if lists else hashed)
