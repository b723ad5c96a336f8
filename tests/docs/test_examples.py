"""examples/: each rule finds what a few lines of plain Python find in the same events."""

import gzip
import json
import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest

from examples.ssh_auth import password_guessed
from percept import Match, Pattern, find_matches
from tests.docs.fences import ROOT, rows

FOLDER = ROOT / "examples/ssh_auth"
END_OF_LOG = "2017-04-21T00:00:00+00:00"

Event = dict[str, Any]
Ids = list[int]


@pytest.fixture(scope="module")
def events() -> list[Event]:
    with gzip.open(FOLDER / "events.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def time_of(event: Event) -> datetime:
    return datetime.fromisoformat(event["ts"])


def pattern_of(rule: str) -> Pattern:
    return Pattern.from_yaml((FOLDER / rule).read_text(encoding="utf-8"))


def matches_of(rule: str, events: list[Event]) -> list[Match]:
    """Return the matches of a rule with the keys its row in the README names."""
    (row,) = (row for row in _table() if f"({rule})" in row["rule"])
    result = find_matches(
        pattern_of(rule),
        events,
        key_by=re.findall(r"`(\w+)`", row["key"]),
        final_watermark_ms=int(datetime.fromisoformat(END_OF_LOG).timestamp() * 1000),
        require_order=True,
    )
    return result.matches


def _table() -> list[dict[str, str]]:
    return rows("examples/ssh_auth/README.md", "rule", "key", "looks for", "found")


def ids(match: Match) -> Ids:
    return sorted(event["event_id"] for taken in match.steps.values() for event in taken)


def by_key(events: list[Event], key: Callable[[Event], Hashable]) -> Iterator[list[Event]]:
    groups: dict[Hashable, list[Event]] = defaultdict(list)
    for event in events:
        groups[key(event)].append(event)
    yield from groups.values()


def guessed_passwords(events: list[Event]) -> Iterator[Ids]:
    """Each success with the failures of the five minutes before, each reported once."""
    for one_address in by_key(events, lambda event: event["src_ip"]):
        failed: list[Event] = []
        for event in one_address:
            failed = [f for f in failed if time_of(event) - time_of(f) < timedelta(minutes=5)]
            if event["event_type"] == "auth_failed":
                failed.append(event)
            elif event["event_type"] == "auth_accepted" and len(failed) >= 3:
                yield [each["event_id"] for each in [*failed, event]]
                failed = []


def enumerated_users(events: list[Event]) -> Iterator[Ids]:
    """From each probe not yet reported: the next nine that ask for another name than the last."""
    invalid = [event for event in events if event["event_type"] == "invalid_user"]
    for one_address in by_key(invalid, lambda event: event["src_ip"]):
        reported = 0
        for start in range(len(one_address)):
            chain = [one_address[start]]
            for event in one_address[start + 1 :]:
                if len(chain) < 10 and event["user"] != chain[-1]["user"]:
                    chain.append(event)
            is_fast = time_of(chain[-1]) - time_of(chain[0]) < timedelta(minutes=1)
            if chain[0]["event_id"] > reported and len(chain) == 10 and is_fast:
                reported = chain[-1]["event_id"]
                yield [event["event_id"] for event in chain]


def used_new_accounts(events: list[Event]) -> Iterator[Ids]:
    """For each new account its first password and the first sign-in from outside after that."""
    for created in (event for event in events if event["event_type"] == "user_created"):
        later = [
            event
            for event in events[created["event_id"] :]
            if event["user"] == created["user"]
            and time_of(event) - time_of(created) < timedelta(hours=1)
        ]
        password = next((e for e in later if e["event_type"] == "password_changed"), None)
        sign_in = next(
            (
                event
                for event in later
                if password is not None
                and event["event_id"] > password["event_id"]
                and event["event_type"] == "auth_accepted"
                and event["auth_method"] == "password"
                and event["src_ip"] != "127.0.0.1"
            ),
            None,
        )
        if password is not None and sign_in is not None:
            yield [created["event_id"], password["event_id"], sign_in["event_id"]]


def sessions_left_open(events: list[Event]) -> Iterator[Ids]:
    """Each session without an end in the hour after its beginning."""
    sessions = [event for event in events if event["service"] == "sshd"]
    for one_connection in by_key(sessions, lambda event: (event["host"], event["pid"])):
        for opened in (
            event for event in one_connection if event["event_type"] == "session_opened"
        ):
            ends = (
                event
                for event in one_connection
                if event["event_type"] == "session_closed"
                and event["event_id"] > opened["event_id"]
                and time_of(event) - time_of(opened) < timedelta(hours=1)
            )
            if next(ends, None) is None:
                yield [opened["event_id"]]


BY_HAND: dict[str, Callable[[list[Event]], Iterator[Ids]]] = {
    "password_guessed.yaml": guessed_passwords,
    "user_enumeration.yaml": enumerated_users,
    "new_account_used.yaml": used_new_accounts,
    "session_left_open.yaml": sessions_left_open,
}


def test_each_rule_finds_what_plain_python_finds(events: list[Event]) -> None:
    for rule, by_hand in BY_HAND.items():
        assert sorted(map(ids, matches_of(rule, events))) == sorted(by_hand(events)), rule


def test_the_readme_counts_the_matches_of_every_rule(events: list[Event]) -> None:
    shown = {re.sub(r".*\((.*)\)", r"\1", row["rule"]): int(row["found"]) for row in _table()}

    assert shown == {
        path.name: len(matches_of(path.name, events)) for path in FOLDER.glob("*.yaml")
    }


def test_the_python_rule_is_the_one_of_the_document() -> None:
    assert pattern_of("password_guessed.yaml") == password_guessed.PASSWORD_GUESSED


def test_the_process_function_tells_of_the_successful_and_of_the_failed_attacks(
    capsys: pytest.CaptureFixture[str], events: list[Event]
) -> None:
    password_guessed.main()

    *alerts, summary = capsys.readouterr().out.splitlines()
    assert alerts == [
        f"{match.steps['accepted'][0]['ts']} {match.key[0]} signed in as "
        f"{match.steps['accepted'][0]['user']} after {len(match.steps['failed'])} failures since "
        f"{match.steps['failed'][0]['ts']}"
        for match in matches_of("password_guessed.yaml", events)
        if isinstance(match.key, tuple)
    ]
    assert summary == f"{_repelled(events)} addresses failed three times or more and did not get in"


def _repelled(events: list[Event]) -> int:
    """Count the addresses with three failures in five minutes that no success came to use."""
    succeeded = {number for found in guessed_passwords(events) for number in found}
    failures = [
        event
        for event in events
        if event["event_type"] == "auth_failed" and event["event_id"] not in succeeded
    ]
    return sum(
        any(
            time_of(third) - time_of(first) < timedelta(minutes=5)
            for first, third in zip(one_address, one_address[2:], strict=False)
        )
        for one_address in by_key(failures, lambda event: event["src_ip"])
    )
