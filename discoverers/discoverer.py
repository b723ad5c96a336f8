"""The interfaces between a job, which runs processors, and the sources they come from.

    PatternProcessorDiscovererFactory ──► PatternProcessorDiscoverer ──► PatternProcessorManager

Source: FLIP-200, interfaces of the same names.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from pydantic import BaseModel, ConfigDict

from contract.snapshot import Snapshot
from discoverers.clock import SYSTEM_CLOCK, Clock
from discoverers.health import DiscovererHealth


class PatternProcessorManager(Protocol):
    """Takes what a discoverer has found; the job's side.

    Source: FLIP-200, PatternProcessorManager.
    """

    def on_pattern_processors_updated(self, snapshot: Snapshot) -> None:
        """Take the full set of the latest processors; whatever is not in it is gone."""


class PatternProcessorDiscoverer(ABC):
    """Watches a source and tells a manager whenever the processors in it have changed.

    Source: FLIP-200, PatternProcessorDiscoverer.
    """

    @abstractmethod
    def discover_pattern_processor_updates(self, manager: PatternProcessorManager) -> None:
        """Tell the manager the full set of processors, now and after every change, until closed.

        Runs in a thread of its own. While the source cannot be read the manager is told nothing, so
        that the last good set stays.
        """

    @property
    @abstractmethod
    def health(self) -> DiscovererHealth:
        """How the source fares; readable from any thread without waiting."""

    @abstractmethod
    def close(self) -> None:
        """Make `discover_pattern_processor_updates` return soon; callable from any thread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscovererSurroundings:
    """What a job gives the discoverer it starts.

    `stream` is the name of the job's stream; `initial` the snapshot that the job ran last, from its
    checkpoint, which numbers go on from; `environment` the environment variables.
    """

    stream: str
    environment: Mapping[str, str]
    initial: Snapshot | None = None
    clock: Clock = SYSTEM_CLOCK


class PatternProcessorDiscovererFactory(BaseModel, ABC):
    """The options of one kind of discoverer, as they stand in a job file, and how to make it.

    A kind of one's own subclasses this with its options as fields; its `type` in the job file is
    then `module:Class`. docs/discoverers.md has an example.

    Source: FLIP-200, PatternProcessorDiscovererFactory.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    @abstractmethod
    def create_discoverer(self, surroundings: DiscovererSurroundings) -> PatternProcessorDiscoverer:
        """Return a discoverer that has not begun.

        Raises:
            ValueError: the options do not fit the surroundings, such as an unset variable.
        """
