"""`percept matches`: what the jobs of a stream have found, listed or followed."""

import time
from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Final

import typer

from api.client import Client, MatchLine, NotFound, ServiceError
from api.client.matches import MatchFilter
from api.connected import BAD_INPUT, end, service_command, tell_error
from api.remote.known_rules import deleted_rule, end_unknown
from api.remote.printing import AsJson
from api.remote.readers import until_interrupted
from cep.definition.keys import key_text
from cep.instants import instant_ms, iso_text
from cep.pattern.durations import duration_ms, duration_text
from cep.printable import counted, printable, printable_json
from cep.terminal_tables import print_table

_LISTED: Final = 50
_LISTED_BEFORE_FOLLOWING: Final = 10
_LONGEST_OUTPUT: Final = 300


@service_command
def matches(  # noqa: PLR0913 - the options of one command
    client: Client,
    *,
    stream: Annotated[
        str | None, typer.Option(help="Of this stream; needed if there is no --rule and several.")
    ] = None,
    rule: Annotated[str | None, typer.Option(help="Only of this rule.")] = None,
    key: Annotated[
        str | None, typer.Option(help="Only of this key; several values with ', ' in between.")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            help="Only those that ended then or later: ISO 8601, ms, or 2h = two hours ago."
        ),
    ] = None,
    until: Annotated[
        str | None, typer.Option(help="Only those that ended before: as --since.")
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            help="Only match, timeout, shadow, suppressed or grouped. [matches and timeouts]"
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(min=0, help="How many at most; with --follow, of those before. [50; 10]"),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on with matches as they come.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List recent matches, newest first, or follow them as they come.

    With --follow the last ones come first, oldest of them in front. A connection that is lost is
    opened again, and no match is missed; Ctrl-C ends it.

    Exit code 0 = done, or nobody reads any more, 1 = there is no such rule or stream, the service
    did not answer or refused, 2 = an option is wrong, 130 = ended by Ctrl-C.
    """
    wanted = given_filter(rule, key, kind, since, until)
    with until_interrupted():
        of_stream = stream_of(client, stream, rule)
        if follow:
            count = _LISTED_BEFORE_FOLLOWING if limit is None else limit
            for match in _followed(client, of_stream, wanted, count):
                _print_line(match, as_json=as_json)
        else:
            found = client.matches(of_stream, **wanted)
            _print_list(found, _LISTED if limit is None else limit, as_json=as_json)


def _print_list(found: Iterator[MatchLine], limit: int, *, as_json: bool) -> None:
    listed = islice(found, limit)
    if as_json:
        for match in listed:
            _print_line(match, as_json=True)
        return
    columns = ("TIME", "RULE", "VERSION", "KIND", "KEY", "STATUS", "STANDS FOR", "OUTPUT")
    if not print_table(columns, map(_cells, listed)):
        typer.echo("no matches", err=True)
    elif next(found, None) is not None:
        typer.echo("there are more: --limit, --since", err=True)


def given_filter(
    rule: str | None, key: str | None, kind: str | None, since: str | None, until: str | None
) -> MatchFilter:
    """Return which matches options ask for.

    Raises:
        Exit: a time is none.
    """
    wanted: MatchFilter = {}
    for name, value in (("processor", rule), ("key", key), ("kind", kind)):
        if value is not None:
            wanted[name] = value  # type: ignore[literal-required] # names of the filter
    for bound, text in (("since", since), ("until", until)):
        if text is not None:
            wanted[bound] = _time_ms(text, bound)  # type: ignore[literal-required] # likewise
    return wanted


def stream_of(client: Client, stream: str | None, rule: str | None) -> str:
    """Return the stream that is meant; the rule is known there or was.

    Raises:
        Exit: there is no such rule, or nothing says which stream.
    """
    if rule is not None:
        try:
            own = client.get(rule).stream
        except NotFound:
            line = deleted_rule(client, rule)
            if line is None:
                end_unknown(client, rule)
            own = line.stream
        if stream not in {None, own}:
            end(f"rule {rule} is of stream {own}, not of {stream}")
        return own
    if stream is not None:
        return stream
    names = [each.name for each in client.streams()]
    if len(names) == 1:
        return names[0]
    if names:
        end(f"say of which stream, with --stream or --rule: {', '.join(names)}", code=BAD_INPUT)
    return end("the service has no stream")


def _followed(client: Client, stream: str, wanted: MatchFilter, count: int) -> Iterator[MatchLine]:
    """Yield the last matches in the order in which they came, then those that come."""
    newest = next(client.matches(stream), None)
    after = 0 if newest is None else newest.number
    before = islice(client.matches(stream, **wanted), count)
    yield from reversed([match for match in before if match.number <= after])
    is_lost = False

    def on_trouble(trouble: ServiceError) -> None:
        nonlocal is_lost
        if not is_lost:
            tell_error(f"{trouble.detail}; trying again")
        is_lost = True

    for match in client.follow_matches(stream, after=after, on_trouble=on_trouble, **wanted):
        is_lost = False
        yield match


def _print_line(match: MatchLine, *, as_json: bool) -> None:
    if as_json:
        print(printable_json(match.model_dump(mode="json")), flush=True)  # noqa: T201 - at once
        return
    time_text, rule, version, kind, key, _, group, output = _cells(match)
    stands_for = f"stands for {group}  " if group else ""
    line = f"{time_text}  {rule} v{version}  {kind}  {key}  {stands_for}{output}".rstrip()
    print(printable(line).replace("\n", "\\n"), flush=True)  # noqa: T201 - at once


def _cells(match: MatchLine) -> tuple[str, ...]:
    output = "" if match.output is None else printable_json(match.output)
    if len(output) > _LONGEST_OUTPUT:
        output = f"{output[: _LONGEST_OUTPUT - 1]}…"
    return (
        iso_text(match.end),
        match.processor_id,
        str(match.version),
        match.kind,
        key_text(match.key),
        match.triage.status,
        _stands_for(match),
        output,
    )


def _stands_for(match: MatchLine) -> str:
    told = match.stands_for
    if told is None:
        return ""
    return (
        f"{counted(told.matches, 'match', 'matches')} in {duration_text(told.until - told.since)}"
    )


def _time_ms(text: str, option: str) -> int:
    """Return an event time: of ISO 8601, in milliseconds, or so long ago."""
    try:
        return int(text) if text.lstrip("-").isdigit() else instant_ms(text)
    except ValueError:
        pass
    try:
        return int(time.time() * 1_000) - duration_ms(text)
    except ValueError:
        message = (
            f"{text!r} is no time; write 2026-11-23T10:00:00Z, milliseconds, or 2h for hours ago"
        )
        end(f"--{option}: {message}", code=BAD_INPUT)
