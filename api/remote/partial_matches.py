"""Tells what is open for one key of a rule of the service, job by job.

Client.partial_matches ──► lines for people, or one JSON object
"""

from collections.abc import Iterator

from api.client import Client, NotFound, PartialMatch, PartialMatches, PartialMatchesInJob
from api.remote.known_rules import end_unknown
from api.remote.printing import say, say_json
from cep.definition.keys import key_text
from cep.instants import iso_text


def tell_partial_matches(
    client: Client, rule: str, key: str, *, wait_seconds: float, as_json: bool
) -> None:
    """Print what is open for a key.

    Raises:
        Exit: there is no such rule.
        ServiceError: the service does not answer, or refuses; this is no key of the rule.
    """
    try:
        told = client.partial_matches(rule, key, timeout_seconds=wait_seconds)
    except NotFound:
        end_unknown(client, rule)
    if as_json:
        say_json(told)
        return
    for line, style in _lines(told):
        say(line, style)


def _lines(told: PartialMatches) -> Iterator[tuple[str, str]]:
    name = f"key {key_text(told.key)}" if told.key else "all events together"
    yield f"{told.processor_id}, {name}", "bold"
    if not told.jobs:
        yield f"  no job runs the stream {told.stream}", "yellow"
    for in_job in told.jobs:
        yield from _of_job(in_job)
    if told.jobs_left_out:
        yield f"{told.jobs_left_out} more jobs are not shown", ""


def _of_job(in_job: PartialMatchesInJob) -> Iterator[tuple[str, str]]:
    name = in_job.job.name
    if in_job.answered_at is None:
        reason = "waiting for the next batch with events"
        yield f"  {name}: has not told yet; {reason}", "yellow"
        return
    if in_job.problem:
        yield f"  {name}: {in_job.problem}", "yellow"
        return
    at = "" if in_job.watermark is None else f" at {iso_text(in_job.watermark)}"
    counted = (
        f"{in_job.open:,} partial matches open" if in_job.open != 1 else "1 partial match open"
    )
    held = f", {in_job.held_back:,} complete and held back" if in_job.held_back else ""
    yield f"  {name}: {counted}{held}{at}", ""
    for partial in in_job.partial_matches:
        yield f"    {_steps(partial)}", ""
        yield f"      {_waits(partial)}", "dim"


def _steps(partial: PartialMatch) -> str:
    taken = " → ".join(
        f"{step.name} x{step.count}" if step.count > 1 else step.name for step in partial.steps
    )
    return f"{taken} since {iso_text(partial.started)}, last {iso_text(partial.last)}"


def _waits(partial: PartialMatch) -> str:
    waits = " or ".join(
        f"{step.name} ({step.condition})" if step.condition else step.name
        for step in partial.awaited
    )
    message = f"waits for {waits}" if waits else "is a match when its window closes"
    if partial.forbidden:
        message += f", without {' or '.join(step.name for step in partial.forbidden)}"
    expires = "never expires" if partial.expires is None else f"until {iso_text(partial.expires)}"
    return f"{message}; {expires}; version {partial.version}"
