"""`percept rollout`: a version is tried beside what is published, compared, promoted or ended."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from api.client import Client, NotFound, Processor, Rollout, RolloutInJob
from api.client.rollouts import RolloutClient
from api.connected import BAD_INPUT, end, service_command
from api.remote.changing import Comment
from api.remote.known_rules import as_it_was_read, rules_named
from api.remote.printing import say, say_json
from api.remote.rule_files import one_rule
from cep.printable import counted

rollout_app = typer.Typer(
    name="rollout",
    help="Try a version of a rule beside what is published: in shadow, or for a share of the keys.",
    no_args_is_help=True,
)

Rule = Annotated[str, typer.Argument(metavar="RULE", help="Its id.")]
Share = Annotated[
    float,
    typer.Option(min=0, max=99.99, help="Percent of the keys; 0 = it only runs in shadow."),
]


@rollout_app.command("start")
@service_command
def start(
    client: Client,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The rule, YAML or JSON.")],
    *,
    share: Share = 0,
    comment: Comment = "",
) -> None:
    """Try the rule in FILE as a new version, in the place of one that is tried already."""
    document = one_rule(file)
    name = str(document.get("id", ""))
    try:
        current = client.get(name)
    except NotFound:
        if share:
            end(f"nothing is published of {name} that could have the other keys", code=BAD_INPUT)
        say(f"{_tried(client.create(document, comment=comment, shadow=True))}; it is new")
        return
    rollout = client.rollout(name)
    with as_it_was_read(name):
        changed = rollout.start(
            document, share_percent=share, if_match=current.etag, comment=comment
        )
    say(_tried(changed))


@rollout_app.command("show")
@service_command
def show(
    client: Client,
    rule: Rule,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Show what is tried, what it has found in each job, and how that compares."""
    _, handle = _known(client, rule)
    found = handle.read()
    if as_json:
        say_json(found)
        return
    for line in _lines(found):
        say(line)


@rollout_app.command("share")
@service_command
def share_keys(
    client: Client,
    rule: Rule,
    percent: Annotated[
        float, typer.Argument(min=0, max=99.99, help="Percent of the keys; 0 = in shadow.")
    ],
    *,
    comment: Comment = "",
) -> None:
    """Give the version that is tried another share of the keys."""
    current, handle = _known(client, rule)
    with as_it_was_read(rule):
        say(_tried(handle.share(percent, if_match=current.etag, comment=comment)))


@rollout_app.command("promote")
@service_command
def promote(
    client: Client,
    rule: Rule,
    *,
    comment: Comment = "",
) -> None:
    """Publish the version that is tried for all keys; it keeps its partial matches."""
    current, handle = _known(client, rule)
    with as_it_was_read(rule):
        changed = handle.promote(if_match=current.etag, comment=comment)
    say(f"{rule}: version {changed.version} is published")
    for number in changed.withdrawn:
        say(f"{rule}: version {number}, which has a schedule, is withdrawn")


@rollout_app.command("end")
@service_command
def end_rollout(
    client: Client,
    rule: Rule,
    *,
    comment: Comment = "",
) -> None:
    """Take the version back that is tried; what is published has all keys."""
    current, handle = _known(client, rule)
    with as_it_was_read(rule):
        changed = handle.end(if_match=current.etag, comment=comment)
    say(f"{rule}: nothing is on trial any more; version {changed.version} has all keys")


def _known(client: Client, rule: str) -> tuple[Processor, RolloutClient]:
    (current,) = rules_named(client, [rule])
    if current.rollout is None:
        end(f"no version of {rule} is tried; `percept rollout start FILE` begins with one")
    return current, client.rollout(rule)


def _tried(rule: Processor) -> str:
    tried = rule.rollout
    if tried is None:
        return f"{rule.id}: nothing is tried"
    how = f"has {tried.share_percent:g}% of the keys" if tried.share_percent else "runs in shadow"
    return f"{rule.id}: version {tried.version} {how}"


def _lines(rollout: Rollout) -> Iterator[str]:
    beside = ", ".join(map(str, rollout.published_versions)) or "nothing"
    share = f"{rollout.share_percent:g}% of the keys" if rollout.share_percent else "shadow"
    yield f"{rollout.processor_id}: version {rollout.version} ({share}) beside {beside}"
    if not rollout.jobs:
        yield "  no job has reported yet"
    for job in rollout.jobs:
        yield from _job_lines(job, is_alone=not rollout.published_versions)


def _job_lines(job: RolloutInJob, *, is_alone: bool) -> Iterator[str]:
    found = f"{counted(job.finds, 'match', 'matches')} in {counted(job.events, 'event')}"
    yield f"  {job.job} ({job.state}): {found}, {job.counted:,} count"
    if not is_alone:
        cut = "" if job.is_complete else ", among the first 20,000"
        yield f"    by both {job.both:,}, gained {job.gained:,}, lost {job.lost:,}{cut}"
    if job.error:
        yield f"    {job.error}"
