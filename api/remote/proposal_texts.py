"""A proposal as lines of a terminal: `percept proposals show`, and words for the others."""

from collections.abc import Iterator

from api.client import Proposal, ProposalLine, ProposedValues
from api.gitops.comparison import text_diff
from cep.definition.text import in_usual_order


def state_of(line: ProposalLine) -> str:
    """Return where a proposal stands."""
    return "stale" if line.is_stale else line.state


def lines_of(proposal: Proposal) -> Iterator[str]:
    """Yield all about a proposal, but its comments."""
    about = f" version {proposal.version}" if proposal.version else ""
    share = "" if proposal.share_percent is None else f" at {proposal.share_percent:g}%"
    what = f"{proposal.kind}{about}{share} of {proposal.name}"
    yield f"proposal {proposal.id} by {proposal.author}: {what} ({state_of(proposal)})"
    if proposal.comment:
        yield f"  {proposal.comment}"
    yield f"  {proposal.approvals_in_words}"
    if proposal.reason:
        yield f"  rejected by {proposal.closed_by}: {proposal.reason}"
    if proposal.is_stale:
        yield "  the rule or list has been changed since; its author can renew it"
    if proposal.example_count:
        yield f"  examples: {proposal.example_count}, all met"
    for flaw in proposal.warnings:
        yield f"  warning: {flaw}"
    if proposal.values is not None:
        yield from _values(proposal.values, proposal.base_version)
    if proposal.content is not None:
        base = "nothing" if proposal.base_version is None else f"version {proposal.base_version}"
        yield f"  compared with {base}:"
        before = [] if proposal.base_content is None else [in_usual_order(proposal.base_content)]
        for line in text_diff(before, [in_usual_order(proposal.content)]):
            yield f"    {line}"


def _values(values: ProposedValues, base_version: int | None) -> Iterator[str]:
    base = "nothing" if base_version is None else f"version {base_version}"
    yield f"  {values.added:,} added, {values.removed:,} removed, compared with {base}:"
    yield from (f"    - {value!r}" for value in values.removed_values)
    yield from (f"    + {value!r}" for value in values.added_values)
