"""`percept triage`: what people make of matches, one or many, from the terminal or a program."""

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

import typer

from api.client import Client, Conflict, MatchLine, MatchTriage, NotFound
from api.client.matches import MatchFilter
from api.connected import BAD_INPUT, end, service_command
from api.remote.changing import Comment, DryRun
from api.remote.match_commands import given_filter, stream_of
from api.remote.printing import AsJson, say, say_json
from api.remote.readers import until_interrupted
from cep.definition.keys import key_text
from contract.service.triage import MOST_AT_ONCE


class Status(StrEnum):
    """What a match is found to be."""

    OPEN = "open"
    ACKNOWLEDGED = "acknowledged"
    FALSE_POSITIVE = "false-positive"
    RESOLVED = "resolved"


@dataclass(frozen=True, slots=True)
class _Change:
    """What is to be changed; `None` = it stays."""

    status: str | None
    assignee: str | None
    note: str | None

    def is_new_to(self, match: MatchLine | MatchTriage) -> bool:
        """Whether a match would be another one after it."""
        now = match if isinstance(match, MatchTriage) else match.triage
        return (
            self.note is not None
            or self.status not in {None, now.status}
            or self.assignee not in {None, now.assignee}
        )

    def told(self, match: MatchLine | MatchTriage, *, is_made: bool) -> dict[str, Any]:
        """Return a match before and after, for programs."""
        now = match if isinstance(match, MatchTriage) else match.triage
        before = {"status": now.status, "assignee": now.assignee}
        after = {
            "status": now.status if self.status is None else self.status,
            "assignee": now.assignee if self.assignee is None else self.assignee,
        }
        return {
            "match_id": match.match_id,
            "processor_id": match.processor_id,
            "key": match.key,
            "before": before,
            "after": after,
            "note": self.note,
            "is_changed": self.is_new_to(match),
            "is_made": is_made,
        }


@service_command
def triage(  # noqa: PLR0913 - the options of one command
    client: Client,
    matches: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MATCH…",
            help="Ids of matches; - = standard input, one on each line or percept matches --json.",
        ),
    ] = None,
    *,
    status: Annotated[
        Status | None, typer.Option(help="What they are found to be. [as it is]")
    ] = None,
    assignee: Annotated[
        str | None, typer.Option(help="Who looks into them; '' = nobody. [as it is]")
    ] = None,
    note: Annotated[str | None, typer.Option(help="A note to be added to each.")] = None,
    stream: Annotated[
        str | None, typer.Option(help="Of this stream; needed if there is no --rule and several.")
    ] = None,
    rule: Annotated[str | None, typer.Option(help="All of this rule.")] = None,
    version: Annotated[int | None, typer.Option(min=1, help="All of this version.")] = None,
    job: Annotated[str | None, typer.Option(help="All that this job has found.")] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            help="All that are match, timeout, shadow, suppressed or grouped. [the first two]"
        ),
    ] = None,
    key: Annotated[
        str | None, typer.Option(help="All of this key; several values with ', ' in between.")
    ] = None,
    key_prefix: Annotated[str | None, typer.Option(help="All of keys that begin so.")] = None,
    since: Annotated[
        str | None,
        typer.Option(help="All that ended then or later: ISO 8601, ms, or 2h = two hours ago."),
    ] = None,
    until: Annotated[str | None, typer.Option(help="All that ended before: as --since.")] = None,
    text: Annotated[str | None, typer.Option(help="All with this text in the output.")] = None,
    now_status: Annotated[
        Status | None, typer.Option("--now", help="All that are in this status now.")
    ] = None,
    assigned_to: Annotated[str | None, typer.Option(help="All that are assigned to NAME.")] = None,
    unassigned: Annotated[
        bool, typer.Option("--unassigned", help="All that are assigned to nobody.")
    ] = False,
    comment: Comment = "",
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Say of matches what they are, and who looks into them: of those named, or of all that fit.

    Named matches are read first, and changed all or none, unless somebody else has changed one
    meanwhile. Of those that fit, matches that come later are left as they are.
    """
    if status is None and assignee is None and note is None:
        end("nothing to change; give --status, --assignee or --note", code=BAD_INPUT)
    change = _Change(None if status is None else _word(status), assignee, note)
    wanted = given_filter(rule, key, kind, since, until)
    more: MatchFilter = {}
    for name, value in (
        ("version", version),
        ("job", job),
        ("key_prefix", key_prefix),
        ("text", text),
        ("status", None if now_status is None else _word(now_status)),
        ("assignee", assigned_to),
        ("unassigned", unassigned or None),
    ):
        if value is not None:
            more[name] = value  # type: ignore[literal-required] # names of the filter
    is_filtered = bool(wanted.keys() | more.keys())
    if bool(matches) == is_filtered:
        end("name matches, or say which by --rule, --key, --since, --now, …", code=BAD_INPUT)
    with until_interrupted():
        of_stream = stream_of(client, stream, rule)
        given = _Given(client, of_stream, change, comment, dry_run=dry_run, as_json=as_json)
        if matches:
            given.named(_ids(matches))
        else:
            given.fitting({**wanted, **more})


@dataclass(frozen=True, slots=True)
class _Given:
    """A change that is made of matches of a stream, or only told."""

    client: Client
    stream: str
    change: _Change
    comment: str
    dry_run: bool
    as_json: bool

    def named(self, ids: list[str]) -> None:
        """Change matches by their ids, all or none."""
        found = [self._read(each) for each in ids]
        if not self.dry_run:
            try:
                self.client.triage_matches(
                    self.stream,
                    found,
                    status=self.change.status,
                    assignee=self.change.assignee,
                    note=self.change.note,
                    comment=self.comment,
                )
            except Conflict as error:
                end(f"nothing was changed: {error.detail}")
        changed = self._tell(found)
        self._sum_up(changed, len(found) - changed)

    def fitting(self, wanted: MatchFilter) -> None:
        """Change all recent matches that meet a filter."""
        found = self.client.matches(self.stream, **wanted)
        if self.dry_run or self.as_json:
            listed = list(found)
            newest = listed[0].number if listed else None
        else:
            listed = []
            first = next(found, None)
            newest = None if first is None else first.number
        if newest is None:
            self._sum_up(0, 0)
            return
        changed = sum(map(self.change.is_new_to, listed))
        unchanged = len(listed) - changed
        if not self.dry_run:
            done = self.client.triage_found(
                self.stream,
                wanted,
                status=self.change.status,
                assignee=self.change.assignee,
                note=self.change.note,
                comment=self.comment,
                up_to=newest,
            )
            changed, unchanged = done.changed, done.unchanged
        self._tell(listed)
        self._sum_up(changed, unchanged)

    def _read(self, match_id: str) -> MatchTriage:
        try:
            return self.client.triage(self.stream, match_id)
        except NotFound:
            end(f"stream {self.stream} has no match {match_id}; nothing was changed")

    def _tell(self, found: Iterable[MatchLine | MatchTriage]) -> int:
        """Print each match, for people only those that change; return how many these are."""
        count = 0
        for match in found:
            told = self.change.told(match, is_made=not self.dry_run)
            count += told["is_changed"]
            if self.as_json:
                say_json(told)
            elif told["is_changed"]:
                say(f"{match.match_id}  {match.processor_id}  {key_text(match.key)}  {_line(told)}")
        return count

    def _sum_up(self, changed: int, unchanged: int) -> None:
        if self.as_json:
            return
        verb = "would be changed" if self.dry_run else "changed"
        so = f", {unchanged:,} {'is' if unchanged == 1 else 'are'} so already" if unchanged else ""
        say(f"{changed:,} {verb}{so}")


def _line(told: dict[str, Any]) -> str:
    before, after = told["before"], told["after"]
    parts = [
        f"{before[name] or 'nobody'} → {after[name] or 'nobody'}"
        for name in ("status", "assignee")
        if before[name] != after[name]
    ]
    return "; ".join([*parts, *(["a note"] if told["note"] is not None else [])])


def _ids(given: list[str]) -> list[str]:
    """Return ids, each once.

    Raises:
        Exit: there are none, or too many.
    """
    found = [each for word in given for each in (_read_ids() if word == "-" else [word])]
    distinct = list(dict.fromkeys(found))
    if not distinct:
        end("standard input names no match", code=BAD_INPUT)
    if len(distinct) > MOST_AT_ONCE:
        message = f"{len(distinct):,} matches; {MOST_AT_ONCE} are changed at once, or give a filter"
        end(message, code=BAD_INPUT)
    return distinct


def _read_ids() -> Iterator[str]:
    for number, line in enumerate(sys.stdin, start=1):
        text = line.strip()
        if not text.startswith("{"):
            if text:
                yield text
            continue
        try:
            yield str(json.loads(text)["match_id"])
        except (ValueError, KeyError, TypeError):
            end(f"standard input, line {number}: no JSON object with match_id", code=BAD_INPUT)


def _word(status: Status) -> str:
    return status.value.replace("-", "_")
