"""The data of a plan: `planning` creates it, `reporting` shows it, `execution` carries it out."""

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from api.client import Processor, ProcessorLine, Stream, ValueListLine
from api.gitops.checking import WantedProcessor, WantedStream, WantedVersion
from cep.definition.list_documents import ListDocument
from cep.definition.rule_files import FileProblem


class Action(StrEnum):
    """What is done with one stream or processor, in the words of the plan."""

    REGISTER = "register stream"
    REDEFINE = "redefine stream"
    CREATE = "create"
    CREATE_PAUSED = "create, paused"
    PAUSE = "pause"
    VERSION = "new version"
    CANCEL = "cancel version"
    LABELS = "labels only"
    RESUME = "resume"
    DELETE = "delete"
    VALUES = "new values"
    DESCRIBE = "description only"


FREE = frozenset({Action.CREATE_PAUSED, Action.PAUSE, Action.LABELS, Action.DESCRIBE})
"""What needs no approvals, whatever its stream asks for."""


@dataclass(frozen=True, slots=True)
class PlannedRequest:
    """One request to the service: `version` is to be published, `number` to be cancelled."""

    action: Action
    version: WantedVersion | None = None
    number: int | None = None


@dataclass(frozen=True, slots=True)
class StreamChange:
    """A stream to register or redefine."""

    what: ClassVar[str] = "stream"

    wanted: WantedStream
    current: Stream | None
    diff: tuple[str, ...]

    @property
    def name(self) -> str:
        """The stream."""
        return self.wanted.stream

    @property
    def stream(self) -> str:
        """The stream."""
        return self.wanted.stream

    @property
    def actions(self) -> tuple[Action, ...]:
        """What is done with it."""
        return (Action.REGISTER if self.current is None else Action.REDEFINE,)


@dataclass(frozen=True, slots=True)
class ProcessorChange:
    """A processor to create or change; `steps` in the order in which they are taken."""

    what: ClassVar[str] = "processor"

    wanted: WantedProcessor
    current: Processor | None
    steps: tuple[PlannedRequest, ...]
    diff: tuple[str, ...] = ()
    warnings: tuple[FileProblem, ...] = ()

    @property
    def name(self) -> str:
        """The processor."""
        return self.wanted.id

    @property
    def stream(self) -> str:
        """The stream it watches."""
        return self.wanted.stream

    @property
    def actions(self) -> tuple[Action, ...]:
        """What is done with it."""
        return tuple(step.action for step in self.steps)


@dataclass(frozen=True, slots=True)
class Deletion:
    """A processor that no file mentions."""

    what: ClassVar[str] = "processor"

    current: ProcessorLine
    actions: tuple[Action, ...] = (Action.DELETE,)
    diff: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The processor."""
        return self.current.id

    @property
    def stream(self) -> str:
        """The stream it watches."""
        return self.current.stream


@dataclass(frozen=True, slots=True)
class ListChange:
    """A list to create or change; only what is said of its values is held, not the values."""

    what: ClassVar[str] = "list"

    wanted: ListDocument
    current: ValueListLine | None
    actions: tuple[Action, ...]
    diff: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The list, behind its stream."""
        return f"{self.stream}/{self.wanted.name}"

    @property
    def stream(self) -> str:
        """The stream it is of."""
        return self.wanted.stream


@dataclass(frozen=True, slots=True)
class ListDeletion:
    """A list that no file mentions."""

    what: ClassVar[str] = "list"

    current: ValueListLine
    diff: tuple[str, ...]
    actions: tuple[Action, ...] = (Action.DELETE,)

    @property
    def name(self) -> str:
        """The list, behind its stream."""
        return f"{self.stream}/{self.current.name}"

    @property
    def stream(self) -> str:
        """The stream it is of."""
        return self.current.stream


Change = StreamChange | ListChange | ProcessorChange | Deletion | ListDeletion


@dataclass(frozen=True, slots=True)
class Plan:
    """Every change, in the order in which they are made; `unchanged` counts the rest."""

    changes: tuple[Change, ...]
    unchanged: int
