"""`percept proposals`: changes that others look at first are listed, shown, approved, published.

`percept apply --propose` makes them. What is approved or published is what was read just before: if
it has been edited meanwhile, the command ends and says so.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Annotated

import typer

from api.client import Client, Outdated, Proposal, ProposalLine
from api.client.proposals import ProposalFilter, ProposedChange
from api.connected import end, service_command
from api.remote.printing import AsJson, say, say_json
from api.remote.proposal_texts import lines_of, state_of
from cep.instants import iso_text
from cep.terminal_tables import print_table

proposals_app = typer.Typer(
    name="proposals",
    help="Changes that other people approve first: list, show, approve, reject, publish them.",
    no_args_is_help=True,
)

Number = Annotated[int, typer.Argument(metavar="NUMBER", min=1, help="Of the proposal.")]


class Kind(StrEnum):
    """What can be proposed without a document."""

    RESUME = "resume"
    ROLLBACK = "rollback"
    DELETE = "delete"
    CANCEL = "cancel"
    SHARE = "share"
    PROMOTE = "promote"


_DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan"}


@proposals_app.command("list")
@service_command
def list_proposals(  # noqa: PLR0913 - the options of one command
    client: Client,
    *,
    stream: Annotated[str, typer.Option(help="Only of this stream.")] = "",
    rule: Annotated[str, typer.Option(help="Only of this rule.")] = "",
    state: Annotated[
        str, typer.Option(help="open, published, rejected, withdrawn; empty = any.")
    ] = "open",
    mine: Annotated[
        bool | None, typer.Option("--mine/--others", help="Only my own; only those of others.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List proposals, newest first; those that are open, if nothing else is asked for."""
    wanted = ProposalFilter()
    if stream:
        wanted["stream"] = stream
    if rule:
        wanted["processor"] = rule
    if state:
        wanted["state"] = state
    if mine is not None:
        wanted["mine"] = mine
    found = client.proposals(**wanted)
    if as_json:
        for line in found:
            say_json(line)
        return
    columns = (
        "number",
        "rule or list",
        "change",
        "state",
        "approvals",
        "author",
        "since",
        "comment",
    )
    if not print_table(columns, (_row(line) for line in found)):
        say("no proposals")


@proposals_app.command("new")
@service_command
def new(  # noqa: PLR0913 - the options of one command
    client: Client,
    kind: Annotated[
        Kind,
        typer.Argument(help="What to do; a new rule or version is proposed by apply --propose."),
    ],
    rule: Annotated[str, typer.Argument(metavar="RULE", help="Its id.")],
    *,
    version: Annotated[
        int | None, typer.Option(min=1, help="To roll back to, or to cancel.")
    ] = None,
    share: Annotated[
        float | None, typer.Option(min=0, max=99.99, help="Percent of the keys, for share.")
    ] = None,
    comment: Annotated[str, typer.Option(help="What it is for.")] = "",
) -> None:
    """Propose to resume, roll back or delete a rule, or a change of what is scheduled or tried."""
    change = ProposedChange(kind=kind.value, processor_id=rule)
    if version is not None:
        change["version"] = version
    if share is not None:
        change["share_percent"] = share
    proposal = client.propose(comment=comment, **change)
    say(f"proposal {proposal.id}: {proposal.approvals_in_words}")


@proposals_app.command("show")
@service_command
def show(
    client: Client,
    number: Number,
    *,
    as_json: AsJson = False,
) -> None:
    """Show a proposal: how it differs from what runs, warnings, approvals, comments."""
    proposal = client.proposal(number)
    if as_json:
        say_json(proposal)
        return
    for line in lines_of(proposal):
        say(line, _DIFF_STYLES.get(line.strip()[:1], "") if line.startswith("    ") else "")
    for comment in client.proposal_comments(number):
        say(f"  {iso_text(comment.at)} {comment.author}: {comment.text}")


@proposals_app.command("approve")
@service_command
def approve(
    client: Client,
    number: Number,
) -> None:
    """Approve a proposal of somebody else, as it is now."""
    proposal = _changed(client, number, client.approve)
    say(f"proposal {number}: {proposal.approvals_in_words}")


@proposals_app.command("reject")
@service_command
def reject(
    client: Client,
    number: Number,
    *,
    reason: Annotated[str, typer.Option(help="Why; shown with the proposal.")],
) -> None:
    """Close a proposal of somebody else, and say why."""
    _changed(client, number, lambda it, *, if_match: client.reject(it, reason, if_match=if_match))
    say(f"proposal {number}: rejected")


@proposals_app.command("withdraw")
@service_command
def withdraw(
    client: Client,
    number: Number,
) -> None:
    """Close a proposal of one's own."""
    _changed(client, number, client.withdraw)
    say(f"proposal {number}: withdrawn")


@proposals_app.command("renew")
@service_command
def renew(
    client: Client,
    number: Number,
) -> None:
    """Let a stale proposal of one's own be of the rule as it is now; it loses its approvals."""
    proposal = _changed(client, number, client.renew)
    say(f"proposal {number}: {proposal.approvals_in_words}")


@proposals_app.command("comment")
@service_command
def comment(
    client: Client,
    number: Number,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to say.")],
) -> None:
    """Add a comment to a proposal."""
    added = client.comment_on_proposal(number, text)
    say(f"proposal {number}: comment {added.number}")


@proposals_app.command("publish")
@service_command
def publish(
    client: Client,
    number: Number,
    *,
    comment: Annotated[
        str, typer.Option(help="Why; kept in the log. Left out = that of the proposal.")
    ] = "",
) -> None:
    """Make the change of a proposal that enough people have approved."""
    proposal = _changed(
        client,
        number,
        lambda it, *, if_match: client.publish_proposal(it, if_match=if_match, comment=comment),
    )
    version = proposal.published_version
    message = f"version {version} is published" if version else f"done: {proposal.kind}"
    say(f"{proposal.name}: {message} by proposal {number}")


def _changed(client: Client, number: int, change: Callable[..., Proposal]) -> Proposal:
    seen = client.proposal(number)
    try:
        return change(number, if_match=seen.etag)
    except Outdated:
        end(f"proposal {number} was edited meanwhile; look at it and try again")


def _row(line: ProposalLine) -> tuple[str, ...]:
    return (
        str(line.id),
        line.name,
        line.kind,
        state_of(line),
        _approvals(line),
        line.author,
        iso_text(line.edited_at),
        line.comment,
    )


def _approvals(line: ProposalLine) -> str:
    needed = f"{line.approval_count} of {line.required_approvals}"
    return needed if line.required_approvals or line.approval_count else "none needed"
