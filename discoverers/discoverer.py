"""The interfaces between a job, which runs processors, and the sources they come from.

    PatternProcessorDiscovererFactory ──► PatternProcessorDiscoverer ──► PatternProcessorManager

Source: FLIP-200, interfaces of the same names.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pydantic import BaseModel, ConfigDict

from contract.snapshot import Snapshot, SnapshotProcessor
from discoverers.clock import SYSTEM_CLOCK, Clock
from discoverers.health import DiscovererHealth


class PatternProcessorManager(Protocol):
    """Receives the processors that a discoverer has found; the job's side.

    Source: FLIP-200, PatternProcessorManager.
    """

    @property
    def current_processors(self) -> Sequence[SnapshotProcessor]:
        """The processors of the newest set, in order of id; empty before the first."""

    def on_pattern_processors_updated(self, snapshot: Snapshot) -> None:
        """Receive the full set of the latest processors; all others are removed."""


class PatternProcessorDiscoverer(ABC):
    """Watches a source and notifies a manager whenever its processors have changed.

    Source: FLIP-200, PatternProcessorDiscoverer.
    """

    @abstractmethod
    def discover_pattern_processor_updates(self, manager: PatternProcessorManager) -> None:
        """Pass the full set of processors to the manager, now and after every change, until closed.

        Runs in a separate thread. While the source cannot be read the manager is not called, so
        that the last good set stays.
        """

    def list_content(self, digest: str) -> bytes:
        """Return the content of a list that a snapshot names; callable from any thread.

        It is there by the time the manager is given the snapshot.

        Raises:
            LookupError: no snapshot of late names it.
        """
        raise LookupError(f"{type(self).__name__} has no list with the content {digest}")

    @property
    @abstractmethod
    def health(self) -> DiscovererHealth:
        """The status of the source; readable from any thread without waiting."""

    @abstractmethod
    def close(self) -> None:
        """Make `discover_pattern_processor_updates` return soon; callable from any thread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscovererSurroundings:
    """What a job passes to its discoverer.

    `stream` is the name of the job's stream; `initial` the last snapshot of the job, from its
    checkpoint, from which numbers continue; `environment` the environment variables.
    """

    stream: str
    environment: Mapping[str, str]
    initial: Snapshot | None = None
    clock: Clock = SYSTEM_CLOCK


class PatternProcessorDiscovererFactory(BaseModel, ABC):
    """The options of one kind of discoverer in a job file, and how to create it.

    A custom kind subclasses this with its options as fields; its `type` in the job file is then
    `module:Class`. docs/discoverers.md has an example.

    Source: FLIP-200, PatternProcessorDiscovererFactory.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    @abstractmethod
    def create_discoverer(self, surroundings: DiscovererSurroundings) -> PatternProcessorDiscoverer:
        """Return a discoverer that is not started yet.

        Raises:
            ValueError: the options do not fit the surroundings, such as an unset variable.
        """
