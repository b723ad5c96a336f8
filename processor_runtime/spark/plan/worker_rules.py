"""Where a Python worker finds the time of its batch, and the rules that were pinned for it.

    driver: local properties, a file per timeline ──Spark──► worker: BatchClock, RuleSet (cached)

Source: DESIGN, "one micro-batch sees exactly one epoch, in every task".
"""

import gc
import os
import sys
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import astuple, dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Final, Protocol, cast
from weakref import WeakValueDictionary

from pydantic_core import from_json, to_json
from pyspark import SparkFiles, TaskContext

from cep.expression import DataType
from cep.expression.lists import ListContent
from cep.list_content import ListType, ListValue, list_values
from contract.asked_keys import AskedKey
from processor_runtime.driver.batch_record import list_file
from processor_runtime.rules.loading import RuleDefaults
from processor_runtime.rules.rule_set import RuleSet, compile_rules
from processor_runtime.schedule.batch_clock import BatchClock
from processor_runtime.schedule.timeline_document import read_timeline
from processor_runtime.watch.code_watch import WATCH
from processor_runtime.watch.worker_limits import WorkerLimits

PROPERTY: Final = "percept.batch"
"""Local property of the driver thread that runs a batch; tasks of the batch see it."""
_KEPT_RULE_SETS = 3
_FILES_OF_WORKERS: Final = "PYTHON_FAULTHANDLER_DIR"


@dataclass(frozen=True, slots=True)
class PinnedBatch:
    """What all tasks of one micro-batch must agree on.

    `timeline` is the name of the file with the timeline. `asked` are keys that somebody asks about,
    which changes nothing of what is matched.
    """

    clock: BatchClock
    timeline: str
    asked: tuple[AskedKey, ...] = ()

    def to_property(self) -> str:
        """Return it as the text of the local property."""
        return to_json([self.asked, *astuple(self.clock), self.timeline]).decode()

    @classmethod
    def of_property(cls, text: str) -> "PinnedBatch":
        """Return what `to_property` wrote."""
        asked, *clock, timeline = from_json(text)
        return cls(
            BatchClock(*clock), timeline, tuple(AskedKey.model_validate(each) for each in asked)
        )


class RuleSource(Protocol):
    """Gives the worker its batch: the time, and the rules ready to run."""

    def current(self, watermark_ms: int | None = None) -> tuple[BatchClock, RuleSet]:
        """Return the time and the rules of the batch this task belongs to.

        `watermark_ms`: the watermark as Spark tells it, where it does.
        """

    def asked(self) -> Sequence[AskedKey]:
        """Return the keys that somebody asks about."""


@dataclass(frozen=True, slots=True)
class PinnedRules:
    """The rules of a job, which change from batch to batch; travels to the workers."""

    defaults: RuleDefaults
    limits: WorkerLimits = field(default_factory=WorkerLimits)

    def current(self, watermark_ms: int | None = None) -> tuple[BatchClock, RuleSet]:
        """Return the time and the rules of the batch this task belongs to.

        Raises:
            RuntimeError: the task is part of no batch that was pinned.
        """
        del watermark_ms  # the driver has pinned it
        _watch(self.limits)
        _freeze(len(sys.modules))
        pinned = _pinned()
        return pinned.clock, _rule_set(pinned.timeline, self.defaults)

    def asked(self) -> tuple[AskedKey, ...]:
        """Return the keys that somebody asks about.

        Raises:
            RuntimeError: the task is part of no batch that was pinned.
        """
        return _pinned().asked


def _pinned() -> PinnedBatch:
    context = TaskContext.get()
    text = None if context is None else context.getLocalProperty(PROPERTY)
    if text is None:
        raise RuntimeError("this task belongs to no pinned batch; run the job by its query")
    return PinnedBatch.of_property(text)


@cache
def _watch(limits: WorkerLimits) -> None:
    """Watch over this process, once: Spark tells the driver what is in its file when it dies."""
    directory = os.environ.get(_FILES_OF_WORKERS)
    path = None if directory is None else Path(directory, str(os.getpid()))
    WATCH.start(path, limits)


@cache
def _freeze(modules: int) -> None:
    """Exclude existing objects from the collection of cycles once all modules are loaded.

    PySpark has Python collect after each task: a tenth of what a worker computes, of 240,000
    objects that stay.

    `modules`: how many are loaded. Some are loaded where they are first needed.
    """
    del modules
    gc.freeze()


def shipped_name(file: str) -> str:
    """Return under which name workers find a file of the checkpoint."""
    return f"percept-{Path(file).name}"


_contents: WeakValueDictionary[tuple[str, DataType], ListContent] = WeakValueDictionary()
"""What rule sets ask: one that they share is read once."""


def _content(digest: str, data_type: DataType) -> ListContent:
    content = _contents.get((digest, data_type))
    if content is None:
        path = Path(SparkFiles.get(shipped_name(list_file(digest))))
        content = ListContent(digest, data_type, partial(_members, path, data_type))
        _contents[digest, data_type] = content
    return content


def _members(path: Path, data_type: DataType) -> list[ListValue]:
    return list_values(cast(ListType, str(data_type)), path.read_bytes())


_rule_sets: OrderedDict[tuple[str, RuleDefaults], RuleSet] = OrderedDict()


def _rule_set(name: str, defaults: RuleDefaults) -> RuleSet:
    """Compile a timeline once per process; the newest few are kept."""
    rules = _rule_sets.get((name, defaults))
    if rules is None:
        timeline, stream = read_timeline(Path(SparkFiles.get(name)).read_bytes())
        earlier = reversed(_rule_sets.values())
        rules = compile_rules(timeline, stream, defaults, earlier, _content)
        _rule_sets[name, defaults] = rules
        while len(_rule_sets) > _KEPT_RULE_SETS:
            _rule_sets.popitem(last=False)
    return rules
