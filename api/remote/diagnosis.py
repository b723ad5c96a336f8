"""Tells why a rule of the service finds nothing: each link from events to matches, and the funnel.

Client.diagnosis, Client.funnel ──► lines for people, or one JSON object
"""

from collections.abc import Iterator
from typing import Final

from api.client import Client, Diagnosis, DiagnosisLine, Funnel, FunnelStep, NotFound
from api.remote.known_rules import end_unknown
from api.remote.printing import say, say_json
from cep.instants import iso_text
from cep.printable import counted
from cep.terminal_tables import print_table

_MARKS = {"ok": ("ok", "green"), "attention": ("LOOK", "yellow"), "unknown": ("?", "dim")}


def tell_why(client: Client, rule: str, *, as_json: bool) -> None:
    """Print why a rule finds nothing.

    Raises:
        Exit: there is no such rule.
        ServiceError: the service does not answer, or refuses.
    """
    try:
        found, funnel = client.diagnosis(rule), client.funnel(rule)
    except NotFound:
        end_unknown(client, rule)
    if as_json:
        told = {
            "diagnosis": found.model_dump(mode="json"),
            "funnel": funnel.model_dump(mode="json"),
        }
        say_json(told)
        return
    for line, style in _lines(found):
        say(line, style)
    _print_funnel(funnel)


def _lines(found: Diagnosis) -> Iterator[tuple[str, str]]:
    reason = found.reason or "no problem found"
    count = counted(found.matches, "match", "matches") if found.matches else "no match"
    yield f"{found.processor_id}: {count}; {reason}", "bold"
    for line in found.lines:
        yield from _link(line)
    if found.jobs_left_out:
        yield f"{found.jobs_left_out} more jobs are not shown", ""


def _link(line: DiagnosisLine) -> Iterator[tuple[str, str]]:
    mark, style = _MARKS.get(line.state, _MARKS["unknown"])
    job = "" if line.job is None else f"{line.job}: "
    at = "" if line.at is None else f", {iso_text(line.at)}"
    yield f"  {mark:<5} {job}{line.title}{at}", style
    if line.state != "ok":
        yield from ((f"        {text}", "") for text in (line.detail, line.remedy) if text)


_FUNNEL_HEADINGS: Final = (
    "STEP", "REACHED", "EVENTS", "OUT OF TIME", "BROKEN", "SKIPPED", "DROPPED", "STOPPED",
    "NEWEST EVENT",
)  # fmt: skip


def _print_funnel(funnel: Funnel) -> None:
    for in_job in funnel.jobs:
        for version in in_job.versions:
            is_over = version.state == "superseded" and not any(
                step.dropped or step.stopped for step in version.steps
            )
            if is_over or not version.is_counted:
                continue
            title = f"version {version.version} in {in_job.job.name} since {iso_text(in_job.since)}"
            say(f"\n{title}")
            print_table(
                _FUNNEL_HEADINGS,
                (_cells(step) for step in version.steps),
            )


def _cells(step: FunnelStep) -> tuple[str, ...]:
    if step.is_forbidden:
        return (step.name, *["-"] * (len(_FUNNEL_HEADINGS) - 2), "forbidden")
    ends = (step.timed_out, step.broken, step.pruned, step.dropped, step.stopped)
    counts = (step.reached, step.events, *ends)
    newest = "never" if step.last_event is None else iso_text(step.last_event)
    return (step.name, *(f"{count:,}" for count in counts), newest)
