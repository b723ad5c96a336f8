"""The changes of a new timeline as text, for the log of the job and its terminal.

timeline before, timeline now ──► one line per version that begins, ends or is quarantined
"""

from collections.abc import Iterator

from cep.instants import iso_text
from contract.snapshot import KEY_SHARES
from processor_runtime.schedule.interval import BEGINNING_MS, END_MS, EndReason, Interval
from processor_runtime.schedule.timeline import Timeline


def timeline_changes(before: Timeline, now: Timeline) -> Iterator[str]:
    """Yield a line for everything that is different, by processor."""
    known = {interval.rule_id: interval for interval in before.intervals}
    for interval in now.intervals:
        old = known.get(interval.rule_id)
        if old is None:
            yield f"{_name(interval)}: {_role(interval)} {_span(interval)}"
        elif old.share != interval.share and not _is_over(interval):
            yield f"{_name(interval)}: {_role(interval)} {_from(_newest_ms(interval))}"
        elif _ending(old) != _ending(interval):
            yield f"{_name(interval)}: {_end(interval)}"
    current = {interval.rule_id for interval in now.intervals}
    for interval in before.intervals:
        if interval.rule_id not in current and interval.end_reason is None:
            yield f"{_name(interval)}: never began"
    for item in now.quarantined:
        if item not in before.quarantined:
            yield f"{item.processor_id} v{item.version}: quarantined, {item.reason}"


def _newest_ms(interval: Interval) -> int:
    return interval.live_keys[-1].from_ms if interval.live_keys else BEGINNING_MS


def _is_over(interval: Interval) -> bool:
    """Whether its keys were taken from it because it has ended."""
    return interval.active_until_ms <= _newest_ms(interval)


def _ending(interval: Interval) -> tuple[int, EndReason | None, int]:
    return interval.active_until_ms, interval.end_reason, interval.drains_until_ms


def _name(interval: Interval) -> str:
    return f"{interval.processor_id} v{interval.version}"


def _role(interval: Interval) -> str:
    match interval.share:
        case None:
            return "active"
        case 0:
            return "in shadow"
        case share:
            return f"active for {share * 100 / KEY_SHARES:g} % of the keys"


def _span(interval: Interval) -> str:
    begin = _from(interval.active_from_ms)
    return begin if interval.active_until_ms == END_MS else f"{begin}, {_end(interval)}"


def _from(time_ms: int) -> str:
    return "from the first event" if time_ms == BEGINNING_MS else f"from {iso_text(time_ms)}"


def _end(interval: Interval) -> str:
    if interval.active_until_ms == END_MS:
        return "without an end now"
    reason = "" if interval.end_reason is None else f"{interval.end_reason.value} "
    drains = ""
    if interval.drains:
        drains = ", started partial matches are finished"
        if interval.drains_until_ms < END_MS:
            drains += f" until {iso_text(interval.drains_until_ms)}"
    return f"{reason}at {iso_text(interval.active_until_ms)}{drains}"
