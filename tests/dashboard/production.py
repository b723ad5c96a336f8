"""As much as a stream in production has, so that pages are laid out for what they must hold.

publish_thick ─► rules with long names, an owner, five tags and a dozen versions
fill          ─► what a job counts of them after years, and thousands of their matches
"""

from typing import Any, Final

from sqlalchemy import insert, update

from api.matches import repository as matches
from api.matches.tables import Match, MatchLog, MatchTriage
from cep.instants import instant_ms, iso_text
from contract.reports import Counters
from tests.api.documents import processor_document
from tests.dashboard.reporting_job import ReportingJob
from tests.dashboard.serving import ServedDashboard

AUTHOR: Final = "Annegret Wohlgemuth-Seidenspinner - fraud operations"
THICK_IDS: Final = (
    "account-takeover-after-password-reset",
    "card-testing-many-small-amounts-then-a-large-one",
    "impossible-travel-between-two-continents",
    "mule-account-fan-in-and-cash-out-within-a-day",
)
LONG_AGO_MS: Final = instant_ms("2017-03-28T10:35:57Z")
_TEXT: Final = "Twenty connections of one address broken off within a minute, and more words. "
_LABELS: Final[dict[str, Any]] = {
    "owner": "payments-fraud-detection-emea",
    "tags": ["account-takeover", "card-not-present", "pci-dss", "regulatory-reports", "tier-1"],
    "severity": "critical",
    "description": 4 * _TEXT,
}
_VERSIONS: Final = 12
_STATUSES: Final = ["open"] * 4_929 + ["false_positive"] * 346 + ["resolved"] * 1_234
_HOUR_MS: Final = 3_600_000
_STATES: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"throttled_until_ms": LONG_AGO_MS},
    {"state": "draining"},
    {"state": "paused"},
)


def publish_thick(dashboard: ServedDashboard) -> None:
    """Publish rules as they are in production; the newest version of each is scheduled."""
    own = dashboard.client.headers["Authorization"]
    made = dashboard.post("/v1/tokens", {"name": AUTHOR, "role": "admin"})
    dashboard.client.headers["Authorization"] = f"Bearer {made['token']}"
    later = {"effective_from": iso_text(dashboard.clock() + _HOUR_MS)}
    for processor_id in THICK_IDS:
        for version in range(1, _VERSIONS + 1):
            fields = _LABELS | {"select": {"version": str(version)}, "key_by": ["user", "action"]}
            fields |= later if version == _VERSIONS else {}
            dashboard.publish(processor_document(id=processor_id, **fields))
    dashboard.client.headers["Authorization"] = own


def fill(dashboard: ServedDashboard, job: ReportingJob) -> None:
    """Let the job, which holds these rules, count much of them; the next beat tells it."""
    for processor_id, state in zip(THICK_IDS, _STATES, strict=True):
        job.change(
            processor_id,
            _VERSIONS - 1,
            active_from_ms=LONG_AGO_MS,
            last_match_ms=LONG_AGO_MS,
            partial_matches=1_234_567,
            state_bytes=123_456_789,
            counters=Counters(matches=12_345_678, timeouts=2_345_678, errors=23_456),
            **state,
        )
    _add_matches(dashboard, job)


def _add_matches(dashboard: ServedDashboard, job: ReportingJob) -> None:
    """Add matches of the first of the rules: more than a job of a test could post in time."""
    of = {"stream": job.stream, "job": job.name, "processor_id": THICK_IDS[0], "kind": "match"}
    key = {"key": '["Annegret Wohlgemuth-Seidenspinner", "password-reset-by-phone"]'}
    times = {"start_ms": LONG_AGO_MS, "end_ms": LONG_AGO_MS}
    match = of | key | times | {"version": _VERSIONS - 1}
    found = match | {
        "epoch": 1,
        "key_text": "Annegret Wohlgemuth-Seidenspinner, password-reset-by-phone",
        "received_at_ms": LONG_AGO_MS,
        "output": '{"version": 11}',
        "events": "{}",
        "event_count": 4,
    }
    decided = match | {"assignee": AUTHOR, "decided_by": AUTHOR, "note_count": 12}
    decided |= {"changed_at_ms": LONG_AGO_MS, "decided_at_ms": LONG_AGO_MS}
    with dashboard.database.writing() as session:
        matches.begin_log(session, job.stream)
        first = matches.newest_number(session, job.stream) + 1
        numbered = [
            (number, {"match_id": f"thick-{number:012}"}, status)
            for number, status in enumerate(_STATUSES, first)
        ]
        session.execute(
            insert(Match), [found | which | {"number": number} for number, which, _ in numbered]
        )
        session.execute(
            insert(MatchTriage),
            [
                decided | which | {"status": status, "change": number, "revision": number}
                for number, which, status in numbered
                if status != "open"
            ],
        )
        newest = numbered[-1][0]
        session.execute(update(MatchLog).values(newest=newest, newest_change=newest))
