"""What a shard keeps of one selector group between batches, besides events and keys.

state ──read_header──► GroupHeader ──one batch──► write_header ──► state
"""

from dataclasses import asdict, dataclass, field

from cep.nfa.codec import pack, unpack
from processor_runtime.rows.shard_status import StoppedRule
from processor_runtime.schedule.batch_clock import NO_WATERMARK_MS
from processor_runtime.state.bucket_index import BucketIndex, read_index, write_index
from processor_runtime.state.keyed_state import KeyedState
from processor_runtime.state.waiting_events import (
    WaitingBlock,
    blocks_as_values,
    blocks_from_values,
)

_NAME = "header"

OpenSteps = dict[str, dict[str, int]]
"""How many partial matches are open, by rule and the name of the step of their last event.

The name is "" where there are no steps.
"""


@dataclass(slots=True)
class GroupHeader:
    """The state of a group that is read and written in every batch.

    All events up to `processed_ms` have been matched and all windows up to it closed. `layouts` are
    content hashes of the layouts keys are written under, by number. `windows` and `window_layouts`
    are of what windows in conditions keep: its buckets, and by number what they read of events.
    """

    processed_ms: int = NO_WATERMARK_MS
    waiting: list[WaitingBlock] = field(default_factory=list)
    buckets: BucketIndex = field(default_factory=BucketIndex.empty)
    layouts: dict[int, str] = field(default_factory=dict)
    open_steps: OpenSteps = field(default_factory=dict)
    stopped: list[StoppedRule] = field(default_factory=list)
    windows: BucketIndex = field(default_factory=BucketIndex.empty)
    window_layouts: dict[int, list[str]] = field(default_factory=dict)

    @property
    def partial_matches(self) -> dict[str, int]:
        """How many are open, by rule."""
        return {rule: sum(steps.values()) for rule, steps in self.open_steps.items()}


def read_header(state: KeyedState) -> GroupHeader:
    """Return the header of a group; a fresh one if the state has none.

    Raises:
        StateEncodingError: it is corrupt.
    """
    data = state.get(_NAME)
    if data is None:
        return GroupHeader()
    processed_ms, waiting, buckets, layouts, open_steps, stopped, windows = unpack(data)
    index, window_layouts = (None, {}) if windows is None else windows
    return GroupHeader(
        processed_ms,
        blocks_from_values(waiting),
        read_index(buckets),
        layouts,
        open_steps,
        [StoppedRule(**rule) for rule in stopped],
        BucketIndex.empty() if index is None else read_index(index),
        window_layouts,
    )


def write_header(state: KeyedState, header: GroupHeader) -> None:
    """Keep a header."""
    content = [
        header.processed_ms,
        blocks_as_values(header.waiting),
        write_index(header.buckets),
        header.layouts,
        header.open_steps,
        [asdict(rule) for rule in header.stopped],
        [write_index(header.windows), header.window_layouts] if header.window_layouts else None,
    ]
    state.put(_NAME, pack(content))
